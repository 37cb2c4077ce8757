"""Events of ADK as messages of a conversation. Pure."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from google.adk.events.event import Event
from google.genai import types

from lamina.kernel.text import mended
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

# What ADK asks of the client in the form of a call. The answer holds credentials of the user: neither is ever stored.
_CREDENTIALS: Final = "adk_request_credential"


def message_of(event: Event) -> NewMessage | None:
    """The message that an event is; None for one that says nothing, is a piece of a stream, or compacts others."""
    if event.partial or event.actions.compaction is not None:
        return None
    parts = event.content.parts or [] if event.content is not None else []
    stored = tuple(_stored_parts(parts, event.id))
    content = mended("\n".join(filter(None, map(_text, parts))) or _transcript(event))
    if not content.strip() and not stored:
        return None
    return NewMessage(
        role=_role(event, stored),
        content=content,
        parts=stored,
        author=event.author if event.author.isprintable() and event.author.strip() else None,
        at=_moment(event.timestamp),
        id=event.id,
    )


def failure_of(call_id: str, tool: str, error: str) -> NewMessage:
    """The result of a call that ended with an error which nobody turned into an answer."""
    result = ToolResult(call_id=call_id, name=tool, content=mended(error), is_error=True)
    return NewMessage(role=Role.TOOL, parts=(result,), id=f"{call_id}:failed")


def reported_error(result: object) -> str | None:
    """The error that a tool returned instead of raising it, as ADK's own tools and guides do; None for a success."""
    if not isinstance(result, dict):
        return None
    failed = result.get("status") in ("error", "failed")
    for name in ("error", "error_message", "message") if failed else ("error",):
        if told := result.get(name):
            return told if isinstance(told, str) else _json(told)
    return "the tool reported an error" if failed else None


def _role(event: Event, parts: Iterable[Part]) -> Role:
    if any(isinstance(part, ToolResult) for part in parts):
        return Role.TOOL
    return Role.USER if event.author == "user" or event.input_transcription is not None else Role.ASSISTANT


def _text(part: types.Part) -> str:
    if part.thought:
        return ""
    if part.executable_code is not None:
        return part.executable_code.code or ""
    if part.code_execution_result is not None:
        return part.code_execution_result.output or ""
    return part.text or ""


def _moment(timestamp: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError):  # no moment at all: the store takes the time it comes
        return None


def _transcript(event: Event) -> str:
    heard = event.input_transcription or event.output_transcription
    return (heard.text or "") if heard is not None else ""


def _stored_parts(parts: Iterable[types.Part], event_id: str) -> Iterable[Part]:
    for number, part in enumerate(parts):
        call, result = part.function_call, part.function_response
        if call is not None and call.name != _CREDENTIALS:
            id = call.id or f"{event_id}:{number}"
            yield ToolCall(id=id, name=mended(call.name or "unnamed"), arguments=mended(_json(call.args or {})))
        elif result is not None and result.name != _CREDENTIALS:
            yield ToolResult(
                call_id=result.id or f"{event_id}:{number}",
                name=mended(result.name or ""),
                content=_result_text(result.response),
                is_error=reported_error(result.response) is not None,
            )
        elif part.inline_data is not None:
            blob = part.inline_data
            yield _attachment(blob.mime_type, blob.display_name, len(blob.data or b""))
        elif part.file_data is not None:
            file = part.file_data
            yield _attachment(file.mime_type, file.display_name or file.file_uri, None)


def _attachment(media_type: str | None, name: str | None, size: int | None) -> Attachment:
    return Attachment(
        media_type=mended(media_type or "application/octet-stream"), name=mended(name or ""), size_bytes=size
    )


def _result_text(response: dict[str, Any] | None) -> str:
    """What a tool gave back, without the dictionary that ADK puts a plain value into."""
    value: object = response or {}
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    return mended(value if isinstance(value, str) else _json(value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
