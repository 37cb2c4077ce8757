"""Agents of pydantic-ai, run as they are with a scripted model: stored once, told what is known."""

import importlib
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, ImageUrl, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from lamina.app import App, open
from lamina.context.adapter import ContextAdapter
from lamina.errors import ConfigurationError
from lamina.integrations import pydantic_ai
from lamina.integrations.pydantic_ai import LaminaHistory, messages_of
from lamina.memory.types import Identifiers
from lamina.session.service import SessionService
from lamina.session.types import Attachment, Role, ToolCall, ToolResult

pytestmark = pytest.mark.anyio


class Scripted:
    """A model that gives these answers, one a request, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[list[ModelMessage]] = []
        self.told: list[str] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(messages)
        self.told.append(info.instructions or "")
        answer = self.answers.pop(0) if self.answers else "Fine."
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])

    @property
    def model(self) -> FunctionModel:
        """For an agent."""
        return FunctionModel(self)


@dataclass
class Deps:
    """What a run is given."""

    user: str


def of_user(run: RunContext[Deps]) -> Identifiers:
    """Whose memories: those of the user in the dependencies."""
    return Identifiers(user_id=run.deps.user)


async def roles(app: App, key: str) -> list[str]:
    """The roles of what is stored of a session."""
    return [one.role.value for one in await app.sessions.messages(key)]


async def test_a_run_is_told_what_is_known_and_is_stored_once(app: App) -> None:
    await app.knowledge.save("deploy-rule", "Never deploy on a Friday", category="rule", origin="user")
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="ann")
    script = Scripted(ToolCallPart("day", {"of": "week"}, "c1"), "Not today", "You are welcome")
    agent = Agent(
        script.model,
        deps_type=Deps,
        instructions="You are kind.",
        capabilities=[LaminaHistory(app, identifiers=of_user)],
    )

    @agent.tool_plain
    def day(of: str) -> str:
        """The day of the week."""
        return "Friday"

    first = await agent.run("how do I deploy?", deps=Deps("ann"), conversation_id="c")
    assert script.told[0].startswith("You are kind.")
    assert "Session: c " in script.told[0]
    assert "deploy-rule: Never deploy on a Friday" in script.told[0]
    assert "Likes to deploy from the terminal" in script.told[0]
    assert await roles(app, "c") == ["user", "assistant", "tool", "assistant"]
    sent = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())  # as after a restart
    restarted = Agent(script.model, deps_type=Deps, capabilities=[LaminaHistory(app, identifiers=of_user)])
    await restarted.run("thanks", deps=Deps("ann"), message_history=sent)
    stored = await app.sessions.messages("c")
    assert [one.role.value for one in stored] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [one.content for one in stored] == ["how do I deploy?", "", "", "Not today", "thanks", "You are welcome"]
    assert stored[1].parts == (ToolCall(id="c1", name="day", arguments='{"of":"week"}'),)
    assert stored[2].parts == (ToolResult(call_id="c1", name="day", content="Friday"),)
    assert (await app.sessions.get("c")).user_id == "ann"


async def test_the_processor_and_the_instructions_work_alone(app: App) -> None:
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="ann")
    history = LaminaHistory(app, session_key=lambda run: "mine", identifiers=lambda run: Identifiers(user_id="ann"))
    script = Scripted("Hello")
    agent = Agent(
        script.model, instructions=history.instructions, capabilities=[ProcessHistory(history.process_history)]
    )
    result = await agent.run("how do I deploy?")
    assert "Likes to deploy from the terminal" in script.told[0]
    assert await roles(app, "mine") == ["user"]  # a processor sees an answer with the next request
    await agent.run("and now?", message_history=result.all_messages())
    assert await roles(app, "mine") == ["user", "assistant", "user"]


async def test_the_same_words_said_again_are_another_message(app: App) -> None:
    agent = Agent(Scripted("Hi", "Hi").model, capabilities=[LaminaHistory(app)])
    result = await agent.run("hello", conversation_id="c")
    await agent.run("hello", message_history=result.all_messages())
    assert await roles(app, "c") == ["user", "assistant", "user", "assistant"]
    twice = [ModelRequest(parts=[UserPromptPart("hi", timestamp=result.timestamp)])] * 2
    one, other = messages_of(twice)
    assert one is not None
    assert other is not None
    assert one.id != other.id
    assert messages_of(twice) == [one, other]


TALK = (
    "I prefer dark mode in every editor that I use at work, please remember that for the next time.",
    "We decided to move the release of the web shop to the end of the month because the tests fail.",
    "Well, the weather is what it is today, and I do not have much to say about it, nor does anybody else.",
)


async def test_what_notes_stand_for_is_not_sent_and_the_history_stays_whole(sqlite_store_url: str) -> None:
    early = {"enabled": True, "message_token_threshold": 40, "retained_tail_tokens": 0}
    script = Scripted()
    async with open(sqlite_store_url, observational_memory=early) as app:
        agent = Agent(
            script.model, system_prompt="You are kind.", capabilities=[LaminaHistory(app, leave_out_noted=True)]
        )
        history: list[ModelMessage] = []
        for text in TALK:
            history = (await agent.run(text, conversation_id="c", message_history=history)).all_messages()
        await app.observation.drain()
        noted = (await app.sessions.get("c")).archived_count
        assert noted >= 2
        result = await agent.run("which mode do I like?", message_history=history)
        assert "## Conversation Memory" in script.told[-1]
        assert "I prefer dark mode" in script.told[-1]
        sent = script.asked[-1]
        assert len(sent) == 7 - noted // 2 * 2  # a question stays with its answer
        assert [type(part) for part in sent[0].parts] == [SystemPromptPart, UserPromptPart]
        assert len(result.all_messages()) == 8


async def test_without_notes_in_the_instructions_everything_is_sent(app: App) -> None:
    script = Scripted()
    agent = Agent(script.model, capabilities=[LaminaHistory(app, leave_out_noted=True)])
    history: list[ModelMessage] = []
    for text in TALK:
        history = (await agent.run(text, conversation_id="c", message_history=history)).all_messages()
    await app.sessions.compact_messages("c", up_to=4, summary="Archived.")
    await agent.run("which mode do I like?", message_history=history)
    assert len(script.asked[-1]) == 7


async def test_neither_a_store_nor_a_context_that_fails_costs_a_run(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise OSError("no disk")

    script = Scripted("Hi", "Hi again")
    agent = Agent(script.model, instructions="You are kind.", capabilities=[LaminaHistory(app)])
    with monkeypatch.context() as patched:
        patched.setattr(ContextAdapter, "augment", broken)
        patched.setattr(SessionService, "append_many", broken)
        result = await agent.run("hello", conversation_id="c")
    assert (result.output, script.told) == ("Hi", ["You are kind."])
    await agent.run("again", message_history=result.all_messages())
    assert await roles(app, "c") == ["user", "assistant", "user", "assistant"]  # caught up


def test_files_are_named_and_thoughts_are_not_stored() -> None:
    picture = BinaryContent(b"1234", media_type="image/png", identifier="map")
    request = ModelRequest(parts=[UserPromptPart(["look", picture, ImageUrl("https://a.example/b.png?key=secret")])])
    answer = ModelResponse(parts=[ThinkingPart("hm"), TextPart("A map\x00")])
    failed = ModelRequest(parts=[ToolReturnPart("look", {"why": "dark"}, "c1", outcome="failed")])
    silent = ModelResponse(parts=[ThinkingPart("hm")])
    asked, told, result, nothing = messages_of([request, answer, failed, silent])
    assert asked is not None
    assert (asked.role, asked.content) == (Role.USER, "look")
    assert asked.parts == (
        Attachment(media_type="image/png", name="map", size_bytes=4),
        Attachment(media_type="image/*", name="https://a.example/b.png"),
    )
    assert told is not None
    assert (told.role, told.content) == (Role.ASSISTANT, "A map\ufffd")
    assert result is not None
    assert result.role is Role.TOOL
    assert isinstance(result.parts[0], ToolResult)
    assert result.parts[0].is_error
    assert nothing is None


async def test_a_run_opens_a_store_of_its_own(sqlite_store_url: str) -> None:
    history = LaminaHistory(sqlite_store_url)
    await Agent(Scripted("Hi").model, capabilities=[history]).run("hello", conversation_id="c")
    await history.close()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[pydantic-ai\]'"):
        importlib.reload(pydantic_ai)
