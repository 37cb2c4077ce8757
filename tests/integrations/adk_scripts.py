"""Agents of ADK without a model at hand: the real Runner, App, LlmAgent and session services around a script."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.apps import App as AdkApp
from google.adk.events.event import Event
from google.adk.models import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from pydantic import PrivateAttr

Step = str | types.Content | Exception | Callable[[LlmRequest], Any]
"""What the model does at one call: says a text, gives a content, raises, or what a function of the request returns."""

SYSTEM = "You are a helpful agent."
_USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1, total_token_count=2)


class ScriptedModel(BaseLlm):
    """A model that follows a script and remembers what it was asked; after the last step it repeats it."""

    model: str = "scripted"
    _steps: list[Step] = PrivateAttr()
    _asked: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(self, *steps: Step) -> None:
        super().__init__(model="scripted")
        self._steps = list(steps) or ["Done."]

    @property
    def asked(self) -> list[LlmRequest]:
        """Every request, as it was when it came."""
        return self._asked

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._asked.append(llm_request.model_copy(update={"contents": list(llm_request.contents)}))
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        answer = step(llm_request) if callable(step) and not isinstance(step, Exception) else step
        if hasattr(answer, "__await__"):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        if stream and isinstance(answer, str):
            for word in answer.split(" "):
                yield LlmResponse(content=spoken(word), partial=True)
        content = spoken(answer) if isinstance(answer, str) else answer
        yield LlmResponse(content=content, usage_metadata=_USAGE)


def spoken(text: str, role: str = "model") -> types.Content:
    """A content that says something."""
    return types.Content(role=role, parts=[types.Part(text=text)])


def call(name: str, /, **arguments: Any) -> types.Content:
    """A content that asks for a tool."""
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=arguments)])


def runner_for(
    model: BaseLlm,
    *,
    plugins: Sequence[BasePlugin] = (),
    sessions: BaseSessionService | None = None,
    tools: Sequence[Any] = (),
    name: str = "house",
    **options: Any,
) -> Runner:
    """A runner around one agent; sessions are made as they are asked for."""
    agent = LlmAgent(name="helper", model=model, instruction=SYSTEM, tools=list(tools))
    app = AdkApp(name=name, root_agent=agent, plugins=list(plugins), **options)
    return Runner(app=app, session_service=sessions or InMemorySessionService(), auto_create_session=True)


async def ask(
    runner: Runner, text: str | types.Content, *, session: str = "s1", user: str = "u1", stream: bool = False
) -> list[Event]:
    """One turn, to its end; every event of it."""
    message = spoken(text, "user") if isinstance(text, str) else text
    config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
    turn = runner.run_async(user_id=user, session_id=session, new_message=message, run_config=config)
    async with aclosing(turn) as events:
        return [event async for event in events]


def system_of(request: LlmRequest) -> str:
    """The system instruction of a request, which is a string here."""
    instruction = request.config.system_instruction
    assert instruction is None or isinstance(instruction, str)
    return instruction or ""


def texts_of(events: Sequence[Event]) -> list[str]:
    """What the events say, without those that say nothing."""
    return [text for event in events if (text := text_of(event.content))]


def text_of(content: types.Content | None) -> str:
    """What a content says."""
    return "".join(part.text or "" for part in (content.parts or [] if content else []))
