"""Messages of OpenAI's protocol as messages of a conversation. Pure.

Instructions are not part of a conversation and are left out. Each message has a digest of what it says, which stays the
same when a client sends it again in another form: other white space, arguments written anew, thoughts left out.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lamina.kernel.text import mended
from lamina.llm.openai_wire import without_thoughts
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

INSTRUCTIONS: Final = ("system", "developer")
"""The roles of messages that tell the model what it is."""
DIGEST: Final = 16
_LONGEST_NAME: Final = 256
_LONGEST_ID: Final = 1024
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "function": Role.TOOL}
_FILES: Final = {
    "image_url": "image/*",
    "input_image": "image/*",
    "input_audio": "audio/*",
    "file": "",
    "input_file": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a client's history."""

    place: int
    """Where it stands in what the client sent."""
    digest: bytes
    """What it says, wherever it stands."""
    message: NewMessage


def said_in(messages: Sequence[Mapping[str, Any]]) -> list[Said]:
    """What people, the assistant and tools said, in order; what says nothing is left out."""
    found = []
    for place, one in enumerate(messages):
        role = _ROLES.get(str(one.get("role")))
        message = None if role is None else _message(role, one)
        if message is not None:
            found.append(Said(place=place, digest=_digest(message, one), message=message))
    return found


def text_of_content(content: object) -> str:
    """The text of a message's content in either form: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def latest_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the user's newest message that has any; empty where there is none."""
    texts = (text_of_content(one.get("content")) for one in reversed(messages) if one.get("role") == "user")
    return next((text for text in texts if text.strip()), "")


def _message(role: Role, one: Mapping[str, Any]) -> NewMessage | None:
    text = mended(text_of_content(one.get("content")) or _string(one.get("refusal")))
    if role is Role.TOOL:
        call = _string(one.get("tool_call_id")) or _string(one.get("name"))
        result = ToolResult(call_id=_name(call, "unnamed"), name=_name(one.get("name"), ""), content=text)
        return NewMessage(role=role, parts=(result,))
    parts = (*_calls(one), *_attachments(one.get("content")))
    if not text.strip() and not parts:
        return None
    author = _string(one.get("name"))
    return NewMessage(
        role=role,
        content=text,
        parts=parts,
        author=author if author.strip() and author.isprintable() and len(author) <= _LONGEST_NAME else None,
    )


def _calls(one: Mapping[str, Any]) -> Iterable[ToolCall]:
    """The tools a message asks for, in the form of today, of custom tools, and of before there were several."""
    calls = one.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            named = call.get("function") or call.get("custom")
            yield _call(call.get("id"), named if isinstance(named, dict) else {})
    if isinstance(old := one.get("function_call"), dict):
        yield _call(old.get("name"), old)


def _call(id: object, named: Mapping[str, Any]) -> ToolCall:
    arguments = _string(named.get("arguments")) or _string(named.get("input"))
    name = _name(named.get("name"), "unnamed")
    return ToolCall(id=_name(id, name), name=name, arguments=mended(arguments))


def _attachments(content: object) -> Iterable[Part]:
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in _FILES:
            yield _attachment(part, kind)


def _attachment(part: Mapping[str, Any], kind: str) -> Attachment:
    """What is known about a file: its type, its name or address, its size; never its bytes."""
    inner = part.get(kind)
    held: Mapping[str, Any] = inner if isinstance(inner, dict) else part
    data = (
        inner
        if isinstance(inner, str)
        else next(
            (held[name] for name in ("url", "data", "file_data", "image_url") if isinstance(held.get(name), str)), ""
        )
    )
    media, name, size = _FILES[kind], _string(held.get("filename") or held.get("file_id")), None
    if data.startswith("data:") and "," in data:
        head, _, encoded = data.partition(",")
        media, size = head[5:].partition(";")[0] or media, len(encoded) * 3 // 4
    elif "://" in data[:16]:
        name = name or data.partition("?")[0]
    elif data:
        size = len(data) * 3 // 4
    return Attachment(media_type=_name(media, "application/octet-stream"), name=_name(name, ""), size_bytes=size)


def _digest(message: NewMessage, one: Mapping[str, Any]) -> bytes:
    text = message.content
    if message.role is Role.ASSISTANT:
        text = without_thoughts(text)[0]
    told: list[object] = [message.role.value, " ".join(text.split())]
    for part in message.parts:
        match part:
            case ToolCall():
                told.append(["call", part.id, part.name, _canonical(part.arguments)])
            case ToolResult():
                told.append(["result", part.call_id, " ".join(part.content.split())])
            case Attachment():
                told.append(["file", part.media_type, part.name, part.size_bytes])
    digest = hashlib.blake2b(json.dumps(told).encode(), digest_size=DIGEST)
    if any(isinstance(part, Attachment) for part in message.parts):  # two pictures of one size are two pictures
        digest.update(json.dumps(one.get("content"), sort_keys=True).encode())
    return digest.digest()


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _name(value: object, otherwise: str) -> str:
    return mended(_string(value))[:_LONGEST_ID] or otherwise
