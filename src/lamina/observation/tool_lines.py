"""One line for what a tool did: its name, what it was asked, whether it worked, and the first line of its error.

What a tool gave back is never noted in bulk, and never as anybody's wish: its words count as the tool's.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lamina.observation.phrases import ERROR
from lamina.session.types import Message, ToolCall, ToolResult

_LONGEST_ARGUMENTS = 80
_LONGEST_LINE = 160
_LINES_READ = 400
_FAILED = re.compile(
    r"(?m)^\s*(?:[\w.]*(?:Error|Exception)\b|error\b|fatal\b|traceback\b|panic:|FAILED\b|E\s{2,})"
    r"|\bexit (?:code|status) [1-9]|command not found|No such file or directory|Permission denied",
    re.IGNORECASE,
)


_PASTED = re.compile(
    r"^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)[ \t]*$|\Z)|^Traceback.*?(?:\n\n|\Z)", re.M | re.S
)
_LONGEST_PASTE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLine:
    """What became of a call. `sources` are the messages with the call and with its result."""

    text: str
    failed: bool
    sources: tuple[int, ...]
    message: Message


def tool_lines(messages: Sequence[Message]) -> Iterator[ToolLine]:
    """The outcome of every result among the messages; equal outcomes are one, with all their sources."""
    calls = {call.id: (call, message) for message in messages for call in message.calls}
    lines: dict[tuple[str, bool], ToolLine] = {}
    for message in messages:
        for result in message.results:
            line = _line(result, message, calls)
            same = lines.get((line.text, line.failed))
            sources = line.sources if same is None else tuple(sorted({*same.sources, *line.sources}))
            lines[line.text, line.failed] = ToolLine(
                text=line.text, failed=line.failed, sources=sources, message=message
            )
    yield from lines.values()


def _line(result: ToolResult, message: Message, calls: Mapping[str, tuple[ToolCall, Message]]) -> ToolLine:
    call, asked = calls.get(result.call_id, (None, message))
    name = result.name or (call.name if call else "") or "tool"
    error = first_error(result.content) if result.is_error or _FAILED.search(result.content[:_LONGEST_PASTE]) else None
    failed = result.is_error or error is not None
    what = _arguments(call.arguments) if call else ""
    text = f"{name}{' ' + what if what else ''}: {'failed' if failed else 'ok'}"
    if failed and error:
        text += f", {error}"
    return ToolLine(
        text=text, failed=failed, sources=tuple(sorted({asked.sequence, message.sequence})), message=message
    )


def pasted_error(content: str) -> str | None:
    """The line that says what went wrong in code or output that somebody pasted; None where nothing did."""
    pasted = "\n".join(match.group() for match in _PASTED.finditer(content))[:_LONGEST_PASTE]
    return first_error(pasted) if pasted and _FAILED.search(pasted) else None


def first_error(content: str) -> str | None:
    """The line that says what went wrong: the last one that names an exception, else the first that speaks of an
    error, else the first of all.
    """
    lines = [line.strip() for line in content.splitlines()[:_LINES_READ] if line.strip()]
    if not lines:
        return None
    named = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    found = named[-1] if named else next((line for line in lines if ERROR.search(line)), lines[0])
    return found if len(found) <= _LONGEST_LINE else found[: _LONGEST_LINE - 1].rstrip() + "…"


def _arguments(arguments: str) -> str:
    """The short values of a call, as they were given."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    kept, length = [], 0
    for value in given.values():
        shown = value if isinstance(value, str) else json.dumps(value) if isinstance(value, int | float) else ""
        shown = shown.strip()
        if shown and "\n" not in shown and length + len(shown) <= _LONGEST_ARGUMENTS:
            kept.append(shown)
            length += len(shown)
    return " ".join(kept)
