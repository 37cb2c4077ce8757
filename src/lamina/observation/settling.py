"""What later entries make of earlier ones: the same said again, a task reported done, a wish replaced. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lamina.observation.phrases import NEGATIONS, REPLACING
from lamina.observation.salience import weigh_terms
from lamina.observation.types import PINNED, Entry, EntryKind, Status

_SAME = 0.8
_REPORTED = 0.6
_REPLACED = 0.3
_FIGURE = re.compile(r"\d[\d.,:/-]*")


def settle(entries: Sequence[Entry]) -> list[Entry]:
    """The entries, in order: repetitions as one with all sources, what is done as done, what is replaced as such."""
    read = _without_repetition(entries)
    done = [(place, one) for place, one in enumerate(read) if _reports(one.entry)]
    replacing = [(place, one) for place, one in enumerate(read) if _replaces(one.entry)]
    return [_settled(place, one, done, replacing) for place, one in enumerate(read)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    entry: Entry
    terms: Mapping[int, float]

    def shares(self, other: "_Read") -> float:
        """The part of its terms that another entry has too."""
        return len(self.terms.keys() & other.terms.keys()) / len(self.terms) if self.terms else 0.0


def _without_repetition(entries: Iterable[Entry]) -> list[_Read]:
    """Two entries that say the same in almost the same words become the later one, where it stands."""
    kept: dict[int, _Read] = {}
    having: dict[int, list[int]] = {}
    for place, entry in enumerate(entries):
        one = _Read(entry=entry, terms=weigh_terms(entry.text))
        # Texts that share four fifths of their terms share one of the first few in any fixed order of terms.
        telling = sorted(one.terms)[: int(len(one.terms) * (1 - _SAME)) + 1]
        others = dict.fromkeys(other for term in telling for other in having.get(term, ()))
        for other in others:
            if other in kept and _say_the_same(one, kept[other]):
                sources = {*one.entry.sources, *kept.pop(other).entry.sources}
                one = replace(one, entry=replace(one.entry, sources=tuple(sorted(sources))))
        kept[place] = one
        for term in telling:
            having.setdefault(term, []).append(place)
    return list(kept.values())


def _say_the_same(one: _Read, other: _Read) -> bool:
    first, second = one.entry, other.entry
    if (first.author, first.origin, first.kind) != (second.author, second.origin, second.kind):
        return False
    if (first.refers_to, first.status) != (second.refers_to, second.status):
        return False
    if first.text == second.text:
        return True
    union = len(one.terms.keys() | other.terms.keys())
    shared = len(one.terms.keys() & other.terms.keys())
    return union > 2 and shared >= _SAME * union and _figures(first.text) == _figures(second.text)


def _figures(text: str) -> tuple[list[str], int]:
    """Numbers, and how often something is denied: what makes two like sentences say different things."""
    denied = sum(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in text.lower().split())
    return sorted(_FIGURE.findall(text)), denied


def _reports(entry: Entry) -> bool:
    return entry.kind is EntryKind.OUTCOME and entry.status is Status.DONE


def _replaces(entry: Entry) -> bool:
    return entry.kind in PINNED and REPLACING.search(entry.text) is not None


def _settled(
    place: int, one: _Read, done: Iterable[tuple[int, _Read]], replacing: Iterable[tuple[int, _Read]]
) -> Entry:
    entry = one.entry
    if entry.kind is EntryKind.TASK and entry.status is Status.OPEN:
        if any(at > place and one.shares(report) >= _REPORTED for at, report in done):
            return replace(entry, status=Status.DONE)
    elif entry.kind in PINNED and entry.status is Status.OPEN:
        for at, later in replacing:
            same = (later.entry.kind, later.entry.origin, later.entry.author) == (
                entry.kind,
                entry.origin,
                entry.author,
            )
            if at > place and same and one.shares(later) >= _REPLACED:
                return replace(entry, status=Status.SUPERSEDED)
    return entry
