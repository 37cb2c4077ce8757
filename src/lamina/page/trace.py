"""Which note comes from which messages, and which notes a message went into. Pure: both ways of the same thing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from lamina.observation.service import Timeline
from lamina.observation.types import Entry, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A note with its place among all of the session's, from 1; 0 for one that is set aside."""

    number: int
    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A line of a note that rests on a message."""

    number: int
    note: Note
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The notes of a session in order, and what was noted of each message."""

    notes: tuple[Numbered, ...] = ()
    _mentions: Mapping[int, Sequence[Mention]] = field(default_factory=dict)

    @classmethod
    def of(cls, timeline: Timeline) -> Self:
        """The trace of a timeline; what is set aside comes last."""
        numbered = (
            *(Numbered(number=place, note=note) for place, note in enumerate(timeline.notes, 1)),
            *(Numbered(number=0, note=note) for note in timeline.set_aside),
        )
        mentions: dict[int, list[Mention]] = {}
        for one in numbered:
            for entry in one.note.entries:
                for sequence in entry.sources:
                    mention = Mention(number=one.number, note=one.note, entry=entry)
                    mentions.setdefault(sequence, []).append(mention)
        return cls(notes=numbered, _mentions=mentions)

    def note(self, id: str) -> Numbered | None:
        """The note of an id, or the one that an entry of this id is in."""
        for one in self.notes:
            if one.note.id == id or any(entry.id == id for entry in one.note.entries):
                return one
        return None

    def mentions(self, sequence: int) -> Sequence[Mention]:
        """What was noted of a message; nothing for most."""
        return self._mentions.get(sequence, ())
