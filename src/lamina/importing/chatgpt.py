"""Reads the export of ChatGPT: `conversations.json`, or the zip archive it comes in.

A conversation is a tree, because an edited question begins a new branch. The branch that was shown last is taken.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lamina.importing.json_files import json_items
from lamina.importing.moments import moment_of
from lamina.importing.types import Found, FoundConversation, LeftOut
from lamina.kernel.text import mended
from lamina.memory.types import Identifiers
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

_INNER: Final = frozenset(("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"))
"""Kinds of content that nobody said: what the model thought, and what the service told it."""


def read_chatgpt(path: Path, whose: Identifiers) -> Iterator[Found]:
    """The conversations of an export, each as a session `chatgpt:ID`."""
    for conversation in json_items(path, lists=("conversations",), names="conversations*.json"):
        id, mapping = conversation.get("conversation_id") or conversation.get("id"), conversation.get("mapping")
        if not isinstance(id, str) or not isinstance(mapping, dict):
            yield LeftOut(
                why="it is no conversation with an id and a mapping", what=str(conversation.get("title") or "")[:80]
            )
            continue
        branch = _branch(mapping, conversation.get("current_node"))
        said = sum(isinstance(node, dict) and bool(node.get("message")) for node in mapping.values())
        if elsewhere := said - len(branch):
            yield LeftOut(why="it is on a branch that was edited away", what=id, count=elsewhere)
        messages: list[NewMessage] = []
        for found in _messages(branch):
            if isinstance(found, LeftOut):
                yield found
            else:
                messages.append(found)
        yield FoundConversation(session_key=f"chatgpt:{id}", user_id=whose.user_id, messages=messages)


def _branch(mapping: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """The messages from the root to the current node, or to the newest where none is current."""
    nodes: dict[object, Mapping[str, Any]] = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    if not isinstance(current, str) or current not in nodes:
        current = max(nodes, key=lambda key: _said_at(nodes[key]), default=None)
    branch: list[Mapping[str, Any]] = []
    while (node := nodes.pop(current, None)) is not None:  # taken out: a node that is its own ancestor ends it
        if isinstance(node.get("message"), dict):
            branch.append(node["message"])
        current = parent if isinstance(parent := node.get("parent"), str) else None
    return branch[::-1]


def _said_at(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _messages(branch: Iterable[Mapping[str, Any]]) -> Iterator[NewMessage | LeftOut]:
    """What was said, in order. A tool answers the call just before it; a time that is missing is the one before."""
    asked: str | None = None
    at: datetime | None = None
    for message in branch:
        content, author, id = message.get("content"), message.get("author"), message.get("id")
        if not isinstance(content, dict) or not isinstance(author, dict) or not isinstance(id, str):
            yield LeftOut(why="the message has no id, author or content")
            continue
        if _is_hidden(message, content):
            yield LeftOut(why="the message was not shown")
            continue
        text, attached = _told(content)
        at = moment_of(message.get("create_time")) or at
        role, parts = _parts(author, message.get("recipient"), text, id, asked)
        if role is None or not (text.strip() or attached):
            yield LeftOut(why="the message is empty" if role else "nobody is known to have said it", what=id)
            continue
        asked = id if any(isinstance(part, ToolCall) for part in parts) else None
        yield NewMessage(role=role, content="" if parts else text, parts=(*parts, *attached), at=at, id=id)


def _is_hidden(message: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    more = message.get("metadata")
    hidden = isinstance(more, dict) and bool(more.get("is_visually_hidden_from_conversation"))
    return hidden or message.get("weight") == 0 or content.get("content_type") in _INNER


def _parts(
    author: Mapping[str, Any], recipient: object, text: str, id: str, asked: str | None
) -> tuple[Role | None, tuple[Part, ...]]:
    """Who speaks, and the call or result that the text is."""
    match author.get("role"):
        case "assistant" if recipient not in (None, "", "all"):
            return Role.ASSISTANT, (ToolCall(id=id, name=mended(str(recipient)), arguments=text),)
        case "tool" if asked is not None:
            return Role.TOOL, (ToolResult(call_id=asked, content=text, name=mended(str(author.get("name") or ""))),)
        case "tool" | "assistant":
            return Role.ASSISTANT, ()
        case "user" | "system" as role:
            return Role(role), ()
    return None, ()


def _told(content: Mapping[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """What a content says, and the images and files in it."""
    pieces = content.get("parts")
    if not isinstance(pieces, list):
        return mended(str(content.get("text") or content.get("result") or "")), ()
    text = "\n".join(piece for piece in pieces if isinstance(piece, str) and piece)
    attached = [
        Attachment(
            media_type=str(piece.get("content_type") or "application/octet-stream"),
            name=mended(str(piece.get("asset_pointer") or "")),
            size_bytes=size if isinstance(size := piece.get("size_bytes"), int) and size >= 0 else None,
        )
        for piece in pieces
        if isinstance(piece, dict)
    ]
    return mended(text), tuple(attached)
