"""Checks of what callers append, without I/O. Each returns the value as it is stored.

What people and models say is refused when it cannot be stored exactly, as everywhere in the house: the caller can
decode it properly and try again. What a tool printed is not the caller's to mend, so there a NUL or a lone surrogate
becomes the replacement character.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Never

from lamina.errors import ContentTooLongError
from lamina.kernel.checks import check_choice, check_moment, check_name, is_whole, refuse
from lamina.kernel.text import mended, unstorable
from lamina.session.settings import SessionSettings
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

LONGEST_SESSION_KEY = 1024
_LONGEST_ID = 1024


def check_session_key(value: object) -> str:
    """A session's key; raises InvalidInputError."""
    return check_name("session_key", value, longest=LONGEST_SESSION_KEY)


def check_message(new: object, settings: SessionSettings) -> NewMessage:
    """A message as it is stored; raises InvalidInputError, and ContentTooLongError with the longest length allowed."""
    if not isinstance(new, NewMessage):
        refuse("A message must be a NewMessage.", None, field="messages", type=type(new).__name__)
    parts = _parts(new.parts, settings)
    content = _exact("content", new.content)
    original = None if new.original is None else _exact("original", new.original)
    if not content.strip() and not parts and not original:
        refuse(
            "The content is empty; give it some text, a tool call, a result or an attachment.", None, field="content"
        )
    length = len(content) + len(original or "") + sum(_length(part) for part in parts)
    if length > settings.max_message_length:
        raise ContentTooLongError(
            f"The message has {length} characters; at most {settings.max_message_length} are stored. Split it.",
            details={"max_length": settings.max_message_length, "length": length},
        )
    return NewMessage(
        role=check_choice("role", new.role, Role),
        content=content,
        parts=parts,
        author=None if new.author is None else check_name("author", new.author),
        at=check_moment("at", new.at),
        id=None if new.id is None else check_name("id", new.id, longest=_LONGEST_ID),
        original=original,
    )


def check_sequence(field: str, value: object, *, least: int = 0) -> int:
    """A sequence number."""
    if not is_whole(value, least, 2**53):
        refuse(f"{field} must be a whole number, {least} or more.", None, field=field, minimum=least)
    return int(value)


def _parts(parts: object, settings: SessionSettings) -> tuple[Part, ...]:
    if not isinstance(parts, Sequence) or isinstance(parts, str | bytes):
        refuse(
            "parts must be tool calls, tool results and attachments.", None, field="parts", type=type(parts).__name__
        )
    if len(parts) > settings.max_parts:
        refuse(f"A message has at most {settings.max_parts} parts.", None, field="parts", maximum=settings.max_parts)
    return tuple(_part(part) for part in parts)


def _part(part: object) -> Part:
    match part:
        case ToolCall():
            return ToolCall(
                id=_exact("parts", part.id, named=True),
                name=_exact("parts", part.name, named=True),
                arguments=_exact("parts", part.arguments),
            )
        case ToolResult():
            return replace(
                part,
                call_id=_exact("parts", part.call_id, named=True),
                content=_mended(part.content),
                name=_exact("parts", part.name),
                is_error=bool(part.is_error),
            )
        case Attachment():
            size = part.size_bytes
            if size is not None and not is_whole(size, 0, 2**53):
                refuse("size_bytes must be a whole number, 0 or more.", None, field="parts")
            return replace(
                part, media_type=_exact("parts", part.media_type, named=True), name=_exact("parts", part.name)
            )
    return _no_part(part)


def _no_part(part: object) -> Never:
    refuse("A part must be a ToolCall, a ToolResult or an Attachment.", None, field="parts", type=type(part).__name__)


def _exact(field: str, value: object, *, named: bool = False) -> str:
    if not isinstance(value, str):
        refuse(f"The {field} must be text.", None, field=field, type=type(value).__name__)
    if named and (not value or len(value) > _LONGEST_ID):
        refuse(f"Ids and names of parts have 1 to {_LONGEST_ID} characters.", None, field=field, max_length=_LONGEST_ID)
    if (why := unstorable(value)) is not None:
        refuse(f"The {field} {why}; remove it, or decode the text properly.", None, field=field)
    return str.__str__(value)


def _mended(value: object) -> str:
    if not isinstance(value, str):
        refuse("The content of a tool result must be text.", None, field="parts", type=type(value).__name__)
    return mended(str.__str__(value))


def _length(part: Part) -> int:
    match part:
        case ToolCall(name=name, arguments=arguments):
            return len(name) + len(arguments)
        case ToolResult(name=name, content=content):
            return len(name) + len(content)
        case Attachment(name=name, media_type=media_type):
            return len(name) + len(media_type)
