"""What is observed next: the oldest stretch of a conversation that is safe to take, whole exchanges, not too long.

A session is due when the messages that may be taken have more tokens than the threshold. The first question is one
subtraction; messages are read only where it says that there may be something, and no more of them than a note needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina.database.link import Link
from lamina.observation.settings import ObservationSettings
from lamina.observation.state import State
from lamina.session.cut import ABANDONED_AFTER, batch_end, safe_ends
from lamina.session.reading import StoredSession, read_unobserved
from lamina.session.types import Message

_PAGE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Messages that one note is written on."""

    messages: tuple[Message, ...]

    @property
    def first(self) -> int:
        """The sequence of the first message."""
        return self.messages[0].sequence

    @property
    def last(self) -> int:
        """The sequence of the last message."""
        return self.messages[-1].sequence

    @property
    def sequences(self) -> frozenset[int]:
        """The sequences of all messages."""
        return frozenset(one.sequence for one in self.messages)

    @property
    def tokens(self) -> int:
        """Tokens of the messages, as they are sent."""
        return sum(one.tokens for one in self.messages)


def pending_tokens(total_tokens: int, state: State) -> int:
    """Tokens of a session that were not observed yet."""
    return total_tokens - state.observed_tokens


def may_be_due(total_tokens: int, state: State, settings: ObservationSettings) -> bool:
    """Whether there are so many unobserved tokens that, tail apart, the threshold may be exceeded."""
    return pending_tokens(total_tokens, state) > settings.message_token_threshold + settings.retained_tail_tokens


def next_batch(
    link: Link, of: StoredSession, state: State, settings: ObservationSettings, *, force: bool = False
) -> Batch | None:
    """The next stretch to observe, None where nothing is due; `force` takes what is safe below the threshold, too."""
    if not force and not may_be_due(of.session.total_tokens, state, settings):
        return None
    enough = settings.max_batch_tokens + settings.message_token_threshold + settings.retained_tail_tokens
    messages: list[Message] = []
    while True:
        after = messages[-1].sequence if messages else state.watermark
        page = read_unobserved(link, of, after=after, limit=_PAGE)
        messages += page
        complete = len(page) < _PAGE
        if not complete and sum(one.tokens for one in messages) <= enough:
            continue
        # Seen from the middle of a conversation, a call may get its result later however long it waited.
        patience = ABANDONED_AFTER if complete else len(messages) + 1
        ends = safe_ends(messages, retained_tokens=settings.retained_tail_tokens, abandoned_after=patience)
        batch = _first_stretch(messages, ends, settings, force=force)
        if batch is not None or complete:
            return batch


def _first_stretch(
    messages: Sequence[Message], ends: Sequence[int], settings: ObservationSettings, *, force: bool
) -> Batch | None:
    if not ends:
        return None
    takeable = sum(one.tokens for one in messages if one.sequence <= ends[-1])
    if takeable <= settings.message_token_threshold and not force:
        return None
    last = batch_end(messages, ends, max_tokens=settings.max_batch_tokens)
    return Batch(messages=tuple(one for one in messages if one.sequence <= last))
