"""Which messages of a client's history need not be sent, because notes in the prompt stand for them. Pure."""

from collections.abc import Sequence

from lamina.proxy.history import History
from lamina.proxy.incoming import Said
from lamina.session.types import NewMessage, Role, ToolCall, ToolResult


def places_to_leave_out(said: Sequence[Said], history: History, noted: int) -> frozenset[int]:
    """The places of the oldest messages whose sequence numbers are up to `noted`.

    The user's latest message and everything after it stay, no tool call is apart from its result, and what is sent
    begins with the user, as some models want it.
    """
    sequences = history.place([one.digest for one in said]).sequences
    latest = max((at for at, one in enumerate(said) if one.message.role is Role.USER), default=0)
    end = 0
    while end < min(latest, len(sequences)) and sequences[end] <= noted:
        end += 1
    if not any(sequences[:end]):  # only messages of unknown age
        return frozenset()
    messages = [one.message for one in said]
    while end and (messages[end].role is not Role.USER or _parts_a_pair(messages, end)):
        end -= 1
    return frozenset(one.place for one in said[:end])


def _parts_a_pair(messages: Sequence[NewMessage], end: int) -> bool:
    called = {part.id for one in messages[:end] for part in one.parts if isinstance(part, ToolCall)}
    return any(isinstance(part, ToolResult) and part.call_id in called for one in messages[end:] for part in one.parts)
