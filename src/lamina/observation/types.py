"""The nouns of observational memory: entries, notes, and what an observer or a reflector gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol

from lamina.session.types import Message


class EntryKind(StrEnum):
    """What an entry is about."""

    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    DECISION = "decision"
    TASK = "task"
    FACT = "fact"
    EVENT = "event"
    QUESTION = "question"
    OUTCOME = "outcome"
    ERROR = "error"


PINNED = frozenset({EntryKind.PREFERENCE, EntryKind.CONSTRAINT, EntryKind.DECISION})
"""Kinds that no reflection may lose unless something supersedes them; open tasks are pinned too, see `Entry.pinned`."""
SET_ASIDE = -1
"""The generation of a note of pinned entries that no prompt has room for, see `aside`."""


class Priority(StrEnum):
    """How much would go wrong without it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Status(StrEnum):
    """Whether it still stands."""

    OPEN = "open"
    DONE = "done"
    SUPERSEDED = "superseded"


class Speaker(StrEnum):
    """Whose words an entry rests on; the least trusted of its sources decides."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The days an entry refers to, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a note."""

    id: str
    text: str
    kind: EntryKind
    priority: Priority
    status: Status
    origin: Speaker
    said_at: datetime
    sources: tuple[int, ...]
    """The sequence numbers of the messages it comes from, ascending; they survive every reflection."""
    refers_to: Period | None = None
    author: str | None = None
    """Who said it, where the message names somebody."""

    @property
    def pinned(self) -> bool:
        """Whether a reflection must keep it."""
        if self.status is Status.SUPERSEDED:
            return False
        return self.kind in PINNED or (self.kind is EntryKind.TASK and self.status is Status.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Entries on one stretch of a conversation: an observation (generation 0), or a reflection (1 and above)."""

    id: str
    session_key: str
    generation: int
    first_sequence: int
    last_sequence: int
    entries: tuple[Entry, ...]
    tokens: int
    """Tokens of the note as a prompt shows it."""
    source_tokens: int
    """Tokens of the messages it stands for."""
    written_by: str
    """The model's name, or `extractive`."""
    provisional: bool
    """Whether it was written without a model and will be written anew when there is one."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an observer or reflector cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverRequest:
    """A stretch of a conversation to be noted: `messages` are whole exchanges, oldest first, secrets hidden.

    `recent` are the newest entries already noted, so that nothing is noted twice and change can be recognised.
    """

    session_key: str
    messages: tuple[Message, ...]
    recent: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What an observer recorded; no entries is the explicit "nothing to record". A failure is an exception."""

    entries: tuple[Entry, ...]
    spent: Spent = Spent()
    dropped: tuple[str, ...] = ()
    """Lines that could not be proved from the messages, with the reason, for the log and the figures."""
    written_by: str = "extractive"
    provisional: bool = False


class Observer(Protocol):
    """Writes notes on messages."""

    async def observe(self, request: ObserverRequest) -> Observed:
        """Entries whose every number, date, path, identifier and name occurs in their sources.

        Raises LaminaError when no trustworthy answer could be had; the watermark stays then.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorRequest:
    """Notes to be condensed, oldest first, into at most `target_tokens`."""

    session_key: str
    notes: tuple[Note, ...]
    target_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    """What a reflector made of the notes. Every entry's sources are the union of those it was made from."""

    entries: tuple[Entry, ...]
    spent: Spent = Spent()
    kept: int = 0
    """Pinned entries that the model had left out and that were put back."""
    written_by: str = "extractive"
    provisional: bool = False


class Reflector(Protocol):
    """Condenses notes."""

    async def reflect(self, request: ReflectorRequest) -> Reflected:
        """Fewer tokens, no pinned entry lost. Raises LaminaError when no such answer could be had."""
        ...


class EntryCounter(Protocol):
    """Counts the tokens entries take in a prompt."""

    def __call__(self, entries: Sequence[Entry]) -> int:
        """Tokens, headings included."""
        ...
