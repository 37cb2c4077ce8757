"""Reads the export of Claude: `conversations.json`, or the zip archive it comes in."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lamina.importing.json_files import json_items
from lamina.importing.moments import moment_of
from lamina.importing.types import Found, FoundConversation, LeftOut
from lamina.kernel.text import mended
from lamina.memory.types import Identifiers
from lamina.session.types import Attachment, NewMessage, Part, Role, ToolCall, ToolResult

_ROLES: Final = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}


def read_claude(path: Path, whose: Identifiers) -> Iterator[Found]:
    """The conversations of an export, each as a session `claude:ID`."""
    for conversation in json_items(path, lists=("conversations",), names="conversations*.json"):
        id, told = conversation.get("uuid"), conversation.get("chat_messages")
        if not isinstance(id, str) or not isinstance(told, list):
            yield LeftOut(why="it is no conversation with an id and messages", what=str(conversation.get("name"))[:80])
            continue
        messages: list[NewMessage] = []
        for one in told:
            found = _messages(one) if isinstance(one, dict) else []
            if not found:
                yield LeftOut(why="the message is empty, or nobody is known to have said it", what=id)
            messages += found
        yield FoundConversation(session_key=f"claude:{id}", user_id=whose.user_id, messages=messages)


def _messages(told: Mapping[str, Any]) -> list[NewMessage]:
    """What one message of the export is: an answer with tools in it becomes text, calls and results in turn."""
    id, role, at = told.get("uuid"), _ROLES.get(str(told.get("sender"))), moment_of(told.get("created_at"))
    if not isinstance(id, str) or role is None:
        return []
    telling = _Telling(id=id, role=role, at=at)
    blocks = told.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            telling.take(block)
    if not telling.said and not telling.done and isinstance(text := told.get("text"), str):
        telling.said.append(mended(text))
    telling.parts += _attached(told)
    telling.end()
    return telling.done


@dataclass(slots=True, kw_only=True)
class _Telling:
    """A message under way: blocks become messages, each time that results follow calls or words follow results."""

    id: str
    role: Role
    at: datetime | None
    said: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    done: list[NewMessage] = field(default_factory=list)
    _calls: int = 0
    _last_call: str = ""

    def take(self, block: Mapping[str, Any]) -> None:
        """One block; thoughts and what is not known are passed over."""
        match block.get("type"):
            case "text" if isinstance(block.get("text"), str):
                self._after_results()
                self.said.append(mended(block["text"]))
            case "tool_use":
                self._after_results()
                self._calls += 1
                self._last_call = str(block.get("id") or f"{self.id}:call-{self._calls}")
                arguments = mended(json.dumps(block.get("input") or {}, ensure_ascii=False))
                name = mended(str(block.get("name") or "unnamed"))
                self.parts.append(ToolCall(id=self._last_call, name=name, arguments=arguments))
            case "tool_result" if self._last_call:
                if any(isinstance(part, ToolCall) for part in self.parts) or self.said:
                    self.end()
                asked = str(block.get("tool_use_id") or self._last_call)
                name, failed = mended(str(block.get("name") or "")), bool(block.get("is_error"))
                content = mended(_result(block.get("content")))
                self.parts.append(ToolResult(call_id=asked, content=content, name=name, is_error=failed))

    def end(self) -> None:
        """Make a message of what was taken since the last one."""
        content, parts = "\n\n".join(filter(None, self.said)), tuple(self.parts)
        self.said, self.parts = [], []
        if not content.strip() and not parts:
            return
        is_result = any(isinstance(part, ToolResult) for part in parts)
        id = f"{self.id}:{len(self.done)}" if self.done else self.id
        role = Role.TOOL if is_result else self.role
        self.done.append(NewMessage(role=role, content=content, parts=parts, at=self.at, id=id))

    def _after_results(self) -> None:
        if any(isinstance(part, ToolResult) for part in self.parts):
            self.end()


def _result(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _attached(told: Mapping[str, Any]) -> list[Part]:
    lists = [found for name in ("attachments", "files") if isinstance(found := told.get(name), list)]
    return [
        Attachment(
            media_type=mended(str(one.get("file_type") or "application/octet-stream")),
            name=mended(str(one.get("file_name") or "")),
            size_bytes=size if isinstance(size := one.get("file_size"), int) and size >= 0 else None,
        )
        for files in lists
        for one in files
        if isinstance(one, dict)
    ]
