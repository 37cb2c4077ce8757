"""Where each message and note of a session is in its drawing, in hundredths of its width. Pure: pages draw it."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self

from lamina.observation.scale import Scale, timeline_cuts
from lamina.observation.service import Timeline
from lamina.observation.types import Note

Stretch = Literal["archived", "noted", "raw"]

_STEPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Something that stands for a range of messages."""

    first: int
    last: int
    left: float
    width: float
    stretch: Stretch | None = None
    """What became of the messages, for a box of messages."""
    note: Note | None = None
    """What it is, for a box of a note."""
    number: int = 0
    """The place of the note among all of the session's, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The boxes of one height: messages (None), or the notes of one generation."""

    generation: int | None
    boxes: tuple[Box, ...]

    @property
    def name(self) -> str:
        """What the lane is called."""
        if self.generation is None:
            return "Messages"
        return f"Reflections {self.generation}" if self.generation else "Observations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A session to scale: its lanes, messages first, and the way between a place in them and a message."""

    lanes: tuple[Lane, ...]
    last: int
    _scale: Scale

    @classmethod
    def of(cls, timeline: Timeline) -> Self | None:
        """The drawing of a session; None for one without messages."""
        if timeline.last_sequence == 0:
            return None
        scale = Scale.of(timeline_cuts(timeline), _STEPS)
        lanes = [Lane(generation=None, boxes=tuple(_stretches(scale, timeline)))]
        for generation in sorted({note.generation for note in timeline.notes}):
            boxes = (
                _box(scale, note.first_sequence, note.last_sequence, note=note, number=number)
                for number, note in enumerate(timeline.notes, 1)
                if note.generation == generation
            )
            lanes.append(Lane(generation=generation, boxes=tuple(boxes)))
        return cls(lanes=tuple(lanes), last=timeline.last_sequence, _scale=scale)

    def box(self, first: int, last: int) -> Box:
        """Where some messages are."""
        return _box(self._scale, first, last)

    def message_at(self, left: float) -> int:
        """The message at a place, in hundredths of the width."""
        column = left * _STEPS / 100
        place = bisect_right(range(1, self.last + 1), column, key=lambda one: self._scale.columns(one, one)[0])
        return max(1, place)


def _stretches(scale: Scale, timeline: Timeline) -> Iterator[Box]:
    archived, noted = timeline.archived_through, max(timeline.watermark, timeline.archived_through)
    if archived:
        yield _box(scale, 1, archived, stretch="archived")
    if noted > archived:
        yield _box(scale, archived + 1, noted, stretch="noted")
    if timeline.last_sequence > noted:
        yield _box(scale, noted + 1, timeline.last_sequence, stretch="raw")


def _box(
    scale: Scale, first: int, last: int, *, stretch: Stretch | None = None, note: Note | None = None, number: int = 0
) -> Box:
    start, end = scale.columns(first, last)
    share = 100 / _STEPS
    left, width = start * share, (end - start) * share
    return Box(first=first, last=last, left=left, width=width, stretch=stretch, note=note, number=number)
