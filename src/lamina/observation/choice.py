"""Which notes a prompt carries: limits first, then the budget. A pure function.

Chosen are reflections first, those of the highest generation and of them the newest, then observations, the newest
first; it ends at the first that does not fit. What is chosen is shown oldest first. So a budget never costs the
newest notes, and what stands in a prompt only grows at its end until notes are condensed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observation.render import render_note
from lamina.observation.types import Entry, Note, Priority


class Reason(StrEnum):
    """Why a note is not in a prompt, or not all of it."""

    LIMIT = "limit"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A note that a prompt does not carry, or `entries` of one that it carries in part."""

    note: Note
    reason: Reason
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The notes of a prompt, oldest first, and those that were left out, newest first."""

    reflections: tuple[Note, ...] = ()
    observations: tuple[Note, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the chosen notes."""
        return sum(note.tokens for note in (*self.reflections, *self.observations))


def choose_notes(
    notes: Sequence[Note],
    *,
    max_reflections: int,
    max_observations: int,
    token_budget: int,
    count: TokenCounter = estimate_tokens,
) -> Choice:
    """Choose from a session's notes, given oldest first; 0 is unlimited for every limit.

    Reflections that do not fit leave no room for observations. Where not even the first note fits, it is shown in
    part, with those of its entries that matter most, rather than nothing at all.
    """
    order = {note.id: place for place, note in enumerate(notes)}
    reflections = [note for note in notes if note.generation > 0]
    reflections.sort(key=lambda note: (note.generation, order[note.id]), reverse=True)
    observations = [note for note in reversed(notes) if note.generation == 0]
    left: list[LeftOut] = []
    wanted = _within(reflections, max_reflections, left)
    recent = _within(observations, max_observations, left)
    room = _Room(token_budget)
    shown = list(room.take(wanted))
    seen = list(room.take(recent)) if len(shown) == len(wanted) else []
    left += _cut([*wanted[len(shown) :], *recent[len(seen) :]], Reason.BUDGET)
    if not shown and not seen and (first := next(iter((*wanted, *recent)), None)) is not None:
        (shown if first.generation else seen).extend(_shortened(first, token_budget, count, left))
    return Choice(
        reflections=tuple(sorted(shown, key=lambda note: order[note.id])),
        observations=tuple(reversed(seen)),
        left_out=tuple(left),
    )


class _Room:
    """What is left of a budget."""

    def __init__(self, budget: int) -> None:
        self._left: float = budget or float("inf")

    def take(self, notes: Iterable[Note]) -> Iterator[Note]:
        """Notes until the first that does not fit."""
        for note in notes:
            if note.tokens > self._left:
                return
            self._left -= note.tokens
            yield note


def _within(notes: list[Note], limit: int, left: list[LeftOut]) -> list[Note]:
    if limit:
        left += _cut(notes[limit:], Reason.LIMIT)
        return notes[:limit]
    return notes


def _cut(notes: Iterable[Note], reason: Reason) -> list[LeftOut]:
    return [LeftOut(note=note, reason=reason, entries=len(note.entries)) for note in notes]


def _shortened(note: Note, budget: int, count: TokenCounter, left: list[LeftOut]) -> Iterator[Note]:
    """The note with the entries that fit, pinned ones first, then by priority, then the newest; none if none does."""
    ranked = sorted(range(len(note.entries)), key=lambda place: _weight(note.entries[place], place))

    def best(number: int) -> Note:
        kept = sorted(ranked[:number])
        shorter = replace(note, entries=tuple(note.entries[place] for place in kept))
        return replace(shorter, tokens=count(render_note(shorter)))

    most = bisect_right(range(1, len(ranked)), budget, key=lambda number: best(number).tokens)
    if most:
        left[:] = [one for one in left if one.note.id != note.id]
        left.append(LeftOut(note=note, reason=Reason.BUDGET, entries=len(ranked) - most))
        yield best(most)


def _weight(entry: Entry, place: int) -> tuple[bool, int, int]:
    return not entry.pinned, (Priority.HIGH, Priority.MEDIUM, Priority.LOW).index(entry.priority), -place
