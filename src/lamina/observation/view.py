"""What an observer sees of messages: secrets hidden, and texts too long for any model cut in the middle.

Only what is shown to the observer is changed. The messages themselves stay as they are and can be recalled.
"""

from collections.abc import Sequence
from dataclasses import replace

from lamina.kernel.redact import redact
from lamina.observation.types import Entry
from lamina.session.types import Attachment, Message, Part, ToolCall, ToolResult

_CHARACTERS_A_TOKEN = 4


def view_messages(messages: Sequence[Message], *, max_tokens: int) -> tuple[Message, ...]:
    """The messages as an observer sees them; a text of more than about `max_tokens` shows its beginning and its end."""
    most = max_tokens * _CHARACTERS_A_TOKEN
    return tuple(
        replace(
            one,
            content=_shown(one.content, most),
            parts=tuple(_part(part, most) for part in one.parts),
            author=None if one.author is None else hide(one.author),
        )
        for one in messages
    )


def hide(text: str) -> str:
    """The text with secrets replaced by a mark. Addresses of people stay: a note without them would be worth little."""
    return redact(text, emails=False)


def hide_in_entry(entry: Entry) -> Entry:
    """An entry without secrets."""
    text, author = hide(entry.text), None if entry.author is None else hide(entry.author)
    return entry if (text, author) == (entry.text, entry.author) else replace(entry, text=text, author=author)


def _part(part: Part, most: int) -> Part:
    match part:
        case ToolCall():
            return replace(part, arguments=_shown(part.arguments, most))
        case ToolResult():
            return replace(part, content=_shown(part.content, most))
        case Attachment():
            return replace(part, name=hide(part.name))


def _shown(text: str, most: int) -> str:
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
    return hide(text)
