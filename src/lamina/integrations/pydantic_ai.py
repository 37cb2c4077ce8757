"""Lamina for pydantic-ai: the extra `pydantic-ai`.

agent = Agent("openai:gpt-5", capabilities=[LaminaHistory(app)])

Its `process_history` and `instructions` also work alone, as `ProcessHistory(history.process_history)` and
`Agent(instructions=history.instructions)`.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lamina.app import App
from lamina.errors import ConfigurationError
from lamina.integrations.turn_memory import TurnMemory
from lamina.kernel.text import mended
from lamina.memory.types import Identifiers
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        AudioUrl,
        BaseToolCallPart,
        BaseToolReturnPart,
        BinaryContent,
        FilePart,
        FileUrl,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        SystemPromptPart,
        TextContent,
        TextPart,
        UploadedFile,
        UserPromptPart,
        VideoUrl,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
except ImportError as missing:
    raise ConfigurationError("Agents of pydantic-ai need its package: pip install 'lamina[pydantic-ai]'") from missing

SessionKey = Callable[[RunContext[Any]], str | None]
"""Names the session of a run; None for none."""
Whose = Callable[[RunContext[Any]], Identifiers]
"""Says whose memories a run finds."""

_MOST_RUNS: Final = 4096
_URLS: Final[dict[type, str]] = {ImageUrl: "image/*", AudioUrl: "audio/*", VideoUrl: "video/*"}
_LONGEST_NAME: Final = 1024


def conversation_of(run: RunContext[Any]) -> str | None:
    """The conversation that a run belongs to, which is its session."""
    return run.conversation_id


def nobody(run: RunContext[Any]) -> Identifiers:
    """No identifiers: memories of nobody."""
    return Identifiers()


@dataclass
class LaminaHistory(AbstractCapability[Any]):  # type: ignore[misc]  # mypy does not read the slow package it is from
    """Stores what is said once, puts what is known into the instructions, and leaves out what notes stand for.

    None of it can fail a run, and the history that a run gives back is whole.
    """

    app: App | str | Path
    """An app, or what `lamina.open` takes; one that is not open is opened by the first run."""
    session_key: SessionKey = conversation_of
    identifiers: Whose = nobody
    leave_out_noted: bool = False
    """Whether messages are not sent that notes in the instructions stand for."""
    _memory: TurnMemory = field(init=False, repr=False)
    _with_notes: OrderedDict[str, bool] = field(init=False, repr=False, default_factory=OrderedDict)
    """Whether the instructions of a run hold notes, by its id."""

    def __post_init__(self) -> None:
        self._memory = TurnMemory(self.app, recording="pydantic_ai_record")

    def get_instructions(self) -> Any:
        """The instructions of every run of the agent."""
        return self.instructions

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Process the history of one request; that of the run stays as it is."""
        return replace(request_context, messages=await self.process_history(ctx, request_context.messages))

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store the answer."""
        await self._record(ctx, result.all_messages())
        return result

    async def instructions(self, ctx: RunContext[Any]) -> str | None:
        """What is known for what the user said last; None where that is nothing."""
        query = _prompt_text(ctx.prompt) or _latest_of_user(ctx.messages)
        prompt = await self._memory.prompt(
            "", query, session_key=self.session_key(ctx), identifiers=self.identifiers(ctx)
        )
        self._with_notes[str(ctx.run_id)] = prompt is not None and prompt.receipt.memory_tokens > 0
        while len(self._with_notes) > _MOST_RUNS:
            self._with_notes.popitem(last=False)
        return None if prompt is None else prompt.text.strip() or None

    async def process_history(self, ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        """Store messages that are not stored yet; what comes back is what should be sent of them."""
        stored = await self._record(ctx, messages)
        if not self.leave_out_noted or not self._with_notes.get(str(ctx.run_id)):
            return list(messages)
        places = [place for place, one in enumerate(stored) if one is not None]
        ids = [str(one.id) for one in stored if one is not None]
        noted = await self._memory.noted(ids, session_key=self.session_key(ctx))
        end = places[noted] if noted < len(places) else len(messages)
        return _without_first(messages, end) if noted else list(messages)

    async def close(self) -> None:
        """Close the app, unless its owner opened it."""
        await self._memory.attached.close()

    async def _record(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> list[NewMessage | None]:
        stored = messages_of(messages)
        await self._memory.record(
            [one for one in stored if one is not None],
            session_key=self.session_key(ctx),
            user_id=self.identifiers(ctx).user_id,
        )
        return stored


def messages_of(history: Sequence[ModelMessage]) -> list[NewMessage | None]:
    """Each message of a history as it is stored, None for one that says nothing; the same message has the same id."""
    seen: Counter[str] = Counter()
    found: list[NewMessage | None] = []
    for one in history:
        message = _request(one) if isinstance(one, ModelRequest) else _response(one.parts)
        if message is not None:
            moments = (
                [getattr(part, "timestamp", None) for part in one.parts] if one.kind == "request" else [one.timestamp]
            )
            told = repr((message, [str(moment) for moment in moments]))
            digest = hashlib.sha256(told.encode()).hexdigest()
            seen[digest] += 1
            message = replace(message, id=f"pydantic-ai-{digest}-{seen[digest]}")
        found.append(message)
    return found


def _request(request: ModelRequest) -> NewMessage | None:
    """What the user said and what tools gave back; instructions are no part of a conversation."""
    parts: list[Part] = []
    texts: list[str] = []
    asked = False
    for part in request.parts:
        if isinstance(part, UserPromptPart):
            asked = True
            texts.append(_prompt_text(part.content))
            parts += _attachments(part.content)
        elif isinstance(part, BaseToolReturnPart):
            parts.append(_result(part))
    return _message(Role.USER if asked else Role.TOOL, texts, parts)


def _response(given: Sequence[Any]) -> NewMessage | None:
    """What the model said and called; its thoughts are its own."""
    parts: list[Part] = []
    for part in given:
        if isinstance(part, BaseToolCallPart):
            arguments = mended(part.args_as_json_str())
            parts.append(ToolCall(id=_name(part.tool_call_id), name=_name(part.tool_name), arguments=arguments))
        elif isinstance(part, BaseToolReturnPart):
            parts.append(_result(part))
        elif isinstance(part, FilePart):
            parts += _attachments([part.content])
    return _message(Role.ASSISTANT, [part.content for part in given if isinstance(part, TextPart)], parts)


def _message(role: Role, texts: Sequence[str], parts: Sequence[Part]) -> NewMessage | None:
    content = mended("\n".join(text for text in texts if text))
    return NewMessage(role=role, content=content, parts=tuple(parts)) if content.strip() or parts else None


def _result(part: BaseToolReturnPart[Any]) -> ToolResult:
    return ToolResult(
        call_id=_name(part.tool_call_id),
        name=_name(part.tool_name),
        content=mended(part.model_response_str()),
        is_error=part.outcome != "success",
    )


def _prompt_text(content: object) -> str:
    if isinstance(content, str):
        return content
    pieces = content if isinstance(content, Sequence) else ()
    texts = (one.content if isinstance(one, TextContent) else one for one in pieces)
    return "\n".join(text for text in texts if isinstance(text, str))


def _attachments(content: object) -> Iterator[Attachment]:
    """Files of a message: what is known about them, never their bytes."""
    for one in content if isinstance(content, Sequence) and not isinstance(content, str) else ():
        if isinstance(one, BinaryContent):
            yield Attachment(media_type=_name(one.media_type), name=mended(one.identifier), size_bytes=len(one.data))
        elif isinstance(one, FileUrl):
            yield Attachment(
                media_type=_URLS.get(type(one), "application/octet-stream"), name=mended(one.url.partition("?")[0])
            )
        elif isinstance(one, UploadedFile):
            yield Attachment(media_type=_name(one.media_type), name=mended(one.file_id))


def _latest_of_user(messages: Sequence[ModelMessage]) -> str:
    prompts = (part for one in reversed(messages) for part in reversed(one.parts) if isinstance(part, UserPromptPart))
    return next((text for part in prompts if (text := _prompt_text(part.content))), "")


def _without_first(messages: Sequence[ModelMessage], end: int) -> list[ModelMessage]:
    """Without the messages before a place, or before the question that leads to it; system prompts stay."""
    while end and not (end < len(messages) and any(isinstance(part, UserPromptPart) for part in messages[end].parts)):
        end -= 1
    first = messages[end]
    if not end or not isinstance(first, ModelRequest):
        return list(messages)
    system = [part for one in messages[:end] for part in one.parts if isinstance(part, SystemPromptPart)]
    return [replace(first, parts=[*system, *first.parts]), *messages[end + 1 :]]


def _name(value: str) -> str:
    return mended(value)[:_LONGEST_NAME] or "unnamed"
