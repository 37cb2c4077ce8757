"""Messages as an observer model is shown them: numbered, dated, every line marked as somebody's words.

Only the line that begins a message begins with its number; every line of what was said begins with `| `. So nothing
that is said can pass for another message. What a tool gave back is shown shortened, with a mark where something is left
out: a note on it says what came of it, and that stands at its beginning or at its end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lamina.observation.evidence import Evidence
from lamina.observation.types import Speaker
from lamina.session.types import Attachment, Message, MessageKind, Role, ToolCall, ToolResult

LONGEST_SAID: Final = 24_000
"""Characters of what somebody said that are shown."""
LONGEST_RETURNED: Final = 1_600
"""Characters of what a tool gave back that are shown."""
_LONGEST_ARGUMENTS: Final = 800
_LONGEST_NAME: Final = 120
_SPEAKERS: Final = {Role.USER: Speaker.USER, Role.ASSISTANT: Speaker.ASSISTANT, Role.TOOL: Speaker.TOOL}
_LINE_END: Final = re.compile("\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_TEMPLATE: Final = re.compile(r"<(?=[|｜])|<(?=</?sys>>)|\[(?=/?inst\])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A message as it is shown, and what can be proved from it: what was said, and what tools returned."""

    message: Message
    said: str
    returned: str
    asked: tuple[str, ...] = ()
    """What tools were asked that returned something here: their names and arguments."""

    @property
    def speaker(self) -> Speaker:
        """Whose words `said` is."""
        return _SPEAKERS[self.message.role]

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """Everything that it proves."""
        return tuple(one for one in (self._said, self._returned) if one is not None)

    @cached_property
    def spoken(self) -> tuple[Evidence, ...]:
        """What it proves without a tool's words."""
        return () if self._said is None else (self._said,)

    @cached_property
    def of_tools(self) -> tuple[Evidence, ...]:
        """What tools returned in it."""
        return () if self._returned is None else (self._returned,)

    @cached_property
    def _said(self) -> Evidence | None:
        if not self.said and self.returned:
            return None
        author = self.message.author
        return Evidence(text=self.said, said_at=self.message.at, known=(author,) if author else ())

    @cached_property
    def _returned(self) -> Evidence | None:
        if not self.returned:
            return None
        return Evidence(text=self.returned, said_at=self.message.at, known=self.asked)


def show_messages(messages: Sequence[Message]) -> tuple[Shown, ...]:
    """What is shown of a stretch: what users, assistants and tools said, neither summaries nor instructions."""
    calls = {call.id: call for message in messages for call in message.calls}
    return tuple(
        _show(message, calls)
        for message in messages
        if message.kind is MessageKind.MESSAGE and message.role in _SPEAKERS
    )


def write_transcript(shown: Sequence[Shown]) -> str:
    """The stretch as text, to be fenced."""
    return "\n".join(line for one in shown for line in _lines(one))


def shorten(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long, with a mark between them."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail]}\n[... {len(text) - most} characters left out ...]\n{text[-tail:]}"


def quoted_lines(text: str) -> Iterator[str]:
    """The lines of what somebody said, each behind a mark of its own."""
    for line in _LINE_END.split(_TEMPLATE.sub(lambda found: found[0] + " ", text)):
        yield f"| {line}".rstrip()


def one_line(text: str, most: int = _LONGEST_NAME) -> str:
    """The text on one line, shortened."""
    flat = " ".join(_LINE_END.sub(" ", text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _show(message: Message, calls: Mapping[str, ToolCall]) -> Shown:
    said: list[str] = []
    returned: list[str] = []
    asked: list[str] = []
    if message.content.strip():
        is_tool = message.role is Role.TOOL
        (returned if is_tool else said).append(shorten(message.content, LONGEST_RETURNED if is_tool else LONGEST_SAID))
    for part in message.parts:
        match part:
            case ToolCall(name=name, arguments=arguments):
                said.append(f"(calls {one_line(name)} with {shorten(arguments, _LONGEST_ARGUMENTS)})")
            case ToolResult(call_id=call_id, content=content, name=name, is_error=is_error):
                call = calls.get(call_id)
                name = one_line(name or (call.name if call else "") or "a tool")
                asked += [name, shorten(call.arguments, _LONGEST_ARGUMENTS) if call else ""]
                what = "failed" if is_error else "returned"
                returned.append(f"({name} {what}:)\n{shorten(content, LONGEST_RETURNED)}")
            case Attachment(media_type=media_type, name=name):
                said.append(f"(attaches {one_line(name) or 'a file'}, {one_line(media_type)})")
    return Shown(message=message, said="\n".join(said), returned="\n".join(returned), asked=tuple(asked))


def _lines(shown: Shown) -> Iterator[str]:
    message = shown.message
    author = f" {one_line(message.author)}" if message.author else ""
    yield f"[{message.sequence}] {message.at:%a %Y-%m-%d %H:%M} {message.role.value}{author}"
    yield from quoted_lines("\n".join(part for part in (shown.said, shown.returned) if part))
