"""What a reader of somebody else's data finds, and what an import reports."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lamina.memory.types import Identifiers
from lamina.session.types import NewMessage

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A memory, as a line of Lamina's own export says it; its id is the same whenever it is read."""

    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundConversation:
    """A conversation, or a stretch of one. Every message has an id, so that it is stored once."""

    session_key: str
    user_id: str | None
    messages: Sequence[NewMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that is not taken, and why; `what` names it."""

    why: str
    what: str = ""
    count: int = 1


Found = FoundMemory | FoundConversation | LeftOut
Reader = Callable[[Path, Identifiers], Iterator[Found]]
"""Reads a file or a folder, piece by piece. The identifiers are for what does not say whose it is.

Raises InvalidInputError for a file that is not what it should be.
"""


@dataclass(slots=True, kw_only=True)
class Report:
    """What an import took, had already, and left out."""

    source: str
    dry_run: bool = False
    memories: int = 0
    """Stored, or to be stored in a dry run."""
    conversations: int = 0
    messages: int = 0
    known: int = 0
    """Memories and messages that were there already."""
    expired: int = 0
    _reasons: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, one: LeftOut) -> None:
        """Count something that is not taken."""
        self._reasons[one.why] += one.count
        examples = self._examples.setdefault(one.why, [])
        if one.what and len(examples) < _EXAMPLES:
            examples.append(one.what)

    @property
    def left_out(self) -> list[dict[str, object]]:
        """What was not taken, by reason, the most frequent first, with a few examples."""
        return [
            {"why": why, "count": count, "examples": self._examples[why]} for why, count in self._reasons.most_common()
        ]
