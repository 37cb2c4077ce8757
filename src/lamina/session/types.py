"""The nouns of conversations: messages and their parts, sessions, and what a recall or a deletion gives back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import overload


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model asked for a tool; `arguments` is the JSON text as it came."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back for the call with this id."""

    call_id: str
    content: str
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An image or a file that belongs to a message. Only what is known about it is kept, never its bytes."""

    media_type: str
    name: str = ""
    size_bytes: int | None = None


Part = ToolCall | ToolResult | Attachment


class MessageKind(StrEnum):
    """Whether somebody said it, or it stands for what was compacted."""

    MESSAGE = "message"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What a caller appends. `id`, where given, is the caller's own: the same id is stored once."""

    role: Role
    content: str = ""
    parts: tuple[Part, ...] = ()
    author: str | None = None
    at: datetime | None = None
    id: str | None = None
    original: str | None = None
    """The message in the form that the caller's framework has for it, kept word for word and only for the caller: it
    is never counted, searched or shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One stored message. It never changes, except that compaction moves it to the archive.

    `sequence` counts from 1 within the session and is never used twice. A summary has the sequence of the last
    message it stands for, so it sorts after what is archived and before what is kept; it is no message and is never
    observed. `tokens` counts everything that is sent for it, parts included.
    """

    session_key: str
    sequence: int
    id: str
    role: Role
    content: str
    parts: tuple[Part, ...] = ()
    author: str | None = None
    at: datetime
    tokens: int
    kind: MessageKind = MessageKind.MESSAGE
    archived_at: datetime | None = None
    original: str | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools it asks for."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results it carries."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation as a whole."""

    key: str
    channel: str
    user_id: str | None
    created_at: datetime
    updated_at: datetime
    last_sequence: int
    message_count: int
    """Live messages, summaries not counted."""
    archived_count: int
    total_tokens: int
    """Tokens of everything ever said in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHit:
    """A message that a recall found; `score` is a relevance in [0, 1], 1 for what was asked for by its place."""

    message: Message
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRemoval:
    """What deleting a session removed, by kind (`messages`, `vectors`, `observations`, `triples`, ...)."""

    session_key: str
    removed: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """One page of sessions, newest first. `next_cursor` is None on the last page."""

    sessions: tuple[Session, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[RecallHit]):
    """What a recall found. A sequence: `found[0]`, `len(found)`, `for hit in found`.

    By words the best come first, by place the earliest. `total_count` counts all that fitted, before the limit cut
    any. `left_out_sessions` are those of the user that were not looked into, because there are too many.
    """

    hits: tuple[RecallHit, ...] = ()
    total_count: int = 0
    searched_sessions: int = 0
    left_out_sessions: int = 0

    @overload
    def __getitem__(self, index: int) -> RecallHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RecallHit]: ...
    def __getitem__(self, index: int | slice) -> RecallHit | Sequence[RecallHit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[RecallHit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What a session is after messages were appended to it."""

    tenant: str
    session_key: str
    last_sequence: int
    total_tokens: int
    """Tokens of everything ever said in it; less what was observed, it is what waits to be observed."""


AppendedListener = Callable[[Appended], None]
"""Called on the event loop after the commit; must return at once and must not raise."""
DeletedListener = Callable[[str, str], None]
"""Called with tenant and session key on the event loop after the commit; must return at once and must not raise."""
