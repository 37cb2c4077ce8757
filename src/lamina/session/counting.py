"""How many tokens a message takes in a prompt: everything that is sent for it, and nothing that is not.

Counted are its words, the names and arguments of the tools it asks for, the results it carries, the name of its author,
and a little for the frame that every message and every part comes in. Of an attachment only what is known about it
counts: its bytes are not text, whatever form they travel in. Text that looks like base64 is counted as what it is,
so callers keep files out of `content`.
"""

from collections.abc import Iterable

from lamina.kernel.tokens import TokenCounter
from lamina.session.types import Attachment, Part, ToolCall, ToolResult

MESSAGE_TOKENS = 4
"""The frame of a message: its role and the marks around it."""
PART_TOKENS = 4
"""The frame of a tool call, a result or an attachment."""

_PIECE = 32_768


def message_tokens(count: TokenCounter, content: str, parts: Iterable[Part] = (), author: str | None = None) -> int:
    """Tokens of a message as it is sent; never 0."""
    total = MESSAGE_TOKENS + count_tokens(count, content) + (count_tokens(count, author) if author else 0)
    return total + sum(PART_TOKENS + _part_tokens(count, part) for part in parts)


def count_tokens(count: TokenCounter, text: str) -> int:
    """Tokens of a text of any length; a very long one is counted in pieces, so that other threads get a turn."""
    if len(text) <= _PIECE:
        return count(text) if text else 0
    return sum(count(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))


def _part_tokens(count: TokenCounter, part: Part) -> int:
    match part:
        case ToolCall(name=name, arguments=arguments):
            return count_tokens(count, name) + count_tokens(count, arguments)
        case ToolResult(name=name, content=content):
            return count_tokens(count, name) + count_tokens(count, content)
        case Attachment(media_type=media_type, name=name):
            return count_tokens(count, media_type) + count_tokens(count, name)
