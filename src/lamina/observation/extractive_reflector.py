"""Condenses notes without a model: keeps what is worth most and not said twice, and says it in fewer of its words.

What was said again is kept once, with all its sources. Entries that a reflection must not lose stay, shortened where
needed; an open task that was reported done, and a wish that a later one replaced, need not. What one speaker said on
one day is written as one line. Nothing is rephrased.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lamina.kernel.ids import new_id
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observation.render import entry_counter, render_period
from lamina.observation.salience import judge, name_terms
from lamina.observation.selection import Candidate, choose
from lamina.observation.settling import settle
from lamina.observation.squeeze import squeeze
from lamina.observation.types import Entry, EntryKind, Period, Priority, Reflected, ReflectorRequest

_LINE_TOKENS = 8
STATEMENTS = "; "
"""Stands between the things that one line says."""
_DATED = re.compile(r" \((?:week(?:end)? of )?\d{4}(?:-\d\d){0,2}(?: to \d{4}-\d\d-\d\d)?\)$")
_LONGEST_LINE = 80  # words of a line that says several things
_FACTOR: Mapping[Priority, float] = {Priority.HIGH: 1.3, Priority.MEDIUM: 1.0, Priority.LOW: 0.75}
_OLDEST = 0.95  # what an entry at the beginning counts beside one at the end
_LUCK = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """One thing that an entry says."""

    entry: Entry
    bare: str
    """Its words."""
    text: str
    """Its words and, where they name days, which."""
    value: float
    terms: Mapping[int, float]
    refers_to: Period | None


class ExtractiveReflector:
    """A reflector without a model. Deterministic but for the ids."""

    def __init__(self, *, count: TokenCounter = estimate_tokens) -> None:
        self._count = count
        self._entries_tokens = entry_counter(count)

    async def reflect(self, request: ReflectorRequest) -> Reflected:
        """The entries that are worth most within the target, and all that must be kept."""
        return Reflected(entries=tuple(self.condense(request)), written_by="extractive", provisional=True)

    def condense(self, request: ReflectorRequest) -> list[Entry]:
        """The entries of the reflection, in the order in which things were said; as many as fit the target."""
        entries = [entry for note in request.notes for entry in note.entries]
        settled = settle(entries)
        strong = request.target_tokens < 0.6 * sum(note.tokens for note in request.notes)
        segments = list(_segments(settled, strong=strong))
        budget = request.target_tokens
        while True:
            made = self._chosen(segments, budget)
            tokens = self._entries_tokens(made)
            if tokens <= request.target_tokens or budget <= 0:
                return made
            budget -= max(8, tokens - request.target_tokens)

    def _chosen(self, segments: Sequence[_Segment], budget: int) -> list[Entry]:
        candidates = [
            Candidate(
                tokens=self._count(one.text),
                value=one.value,
                terms=one.terms,
                line=_line_of(one.entry),
                fixed=one.entry.pinned,
            )
            for one in segments
        ]
        kept = [segments[place] for place in choose(candidates, budget=budget, line_tokens=_LINE_TOKENS)]
        return list(_lines(kept))


def _line_of(entry: Entry) -> object:
    """What may be written as one line: facts and events that one speaker told on one day."""
    if entry.pinned or entry.kind not in (EntryKind.FACT, EntryKind.EVENT):
        return entry.id
    return (entry.origin, entry.author, entry.said_at.date())


def _lines(kept: Sequence[_Segment]) -> Iterator[Entry]:
    open_lines: dict[object, list[_Segment]] = {}
    order: list[list[_Segment]] = []
    for one in kept:
        key = _line_of(one.entry)
        line = open_lines.get(key)
        if line is None or sum(len(part.text.split()) for part in line) + len(one.text.split()) > _LONGEST_LINE:
            line = open_lines[key] = []
            order.append(line)
        line.append(one)
    for line in order:
        first = line[0].entry
        sources = sorted({sequence for one in line for sequence in one.entry.sources})
        alone = len(line) == 1
        best = max(line, key=lambda one: _FACTOR[one.entry.priority]).entry
        yield replace(
            first,
            id=new_id(),
            text=line[0].bare if alone else STATEMENTS.join(one.text for one in line),
            refers_to=line[0].refers_to if alone else None,
            kind=best.kind if len({one.entry.kind for one in line}) == 1 else EntryKind.FACT,
            priority=best.priority,
            sources=tuple(sources),
        )


def _segments(entries: Sequence[Entry], *, strong: bool) -> Iterator[_Segment]:
    known = name_terms(entry.author for entry in entries)
    for place, entry in enumerate(entries):
        age = _OLDEST + (1 - _OLDEST) * (place + 1) / len(entries)
        yield from _parts_of(entry, known, age, strong=strong and not entry.pinned)


def _parts_of(entry: Entry, known: frozenset[int], age: float, *, strong: bool) -> Iterator[_Segment]:
    """The things that an entry says; one that must be kept, or has a date from elsewhere, stays whole."""
    asked = entry.kind is EntryKind.QUESTION
    parts = [_DATED.sub("", part) for part in entry.text.split(STATEMENTS)]
    worths = [judge(part, said_at=entry.said_at, question=asked, own=True, known=known) for part in parts]
    dated = entry.refers_to is not None and entry.refers_to not in [worth.refers_to for worth in worths]
    if len(parts) > 1 and (entry.pinned or dated):
        parts = [entry.text]
        worths = [judge(entry.text, said_at=entry.said_at, question=asked, own=True, known=known)]
    for part, worth in zip(parts, worths, strict=True):
        when = entry.refers_to if dated else worth.refers_to
        bare = squeeze(part, strong=strong)
        yield _Segment(
            entry=entry,
            bare=bare,
            text=f"{bare} ({render_period(when)})" if when else bare,
            value=worth.value * _FACTOR[entry.priority] * age * (1 + _LUCK * _luck(worth.terms)),
            terms=worth.terms,
            refers_to=when,
        )


def _luck(terms: Mapping[int, float]) -> float:
    """A number from 0 to 1 that a text keeps for good.

    Among things of equal worth the same ones stay in every generation, some from each time. Without it the oldest
    would go first, again and again, until nothing is left of the beginning of a conversation.
    """
    return sum(terms) * 2_654_435_761 % 4_294_967_296 / 4_294_967_296
