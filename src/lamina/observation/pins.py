"""What no reflection may lose: pinned entries come back as they were, unless something newer really took their place.

Pure. A model's word that something is superseded is not enough: there has to be a later entry on the same thing, of
somebody who is trusted as much. Nor is it enough that a line cites a pinned entry: it has to carry what that says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamina.kernel.ids import new_id
from lamina.kernel.text import normalise
from lamina.observation.evidence import Evidence
from lamina.observation.judging import entry_evidence, least_trusted
from lamina.observation.loss import carry, find_specifics
from lamina.observation.polarity import reported_terms, turned_round
from lamina.observation.salience import weigh_terms
from lamina.observation.types import Entry, EntryKind, Status

_CARRIED: Final = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """A line of a reflection, the entries it was made from, and those it says it takes the place of, by short id."""

    entry: Entry
    made_from: tuple[str, ...]
    replaces: tuple[str, ...] = ()


def lost_pins(inputs: Mapping[str, Entry], condensed: Sequence[Condensed]) -> tuple[str, ...]:
    """The ids of pinned entries that are neither carried on nor superseded."""
    return tuple(
        id
        for id, entry in inputs.items()
        if entry.pinned and not _is_superseded(id, inputs, condensed) and not _is_carried(id, entry, condensed)
    )


def put_back(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Pinned entries as they were; those that say the same become one that knows the sources of all."""
    kept: dict[str, Entry] = {}
    for entry in entries:
        key = normalise(entry.text)
        kept[key] = _joined(kept[key], entry) if key in kept else replace(entry, id=new_id())
    return tuple(kept.values())


def supersedes(newer: Entry, older: Entry) -> bool:
    """Whether one entry can take the place of another: said later, on the same thing, by somebody trusted as much."""
    if newer.sources[-1] <= older.sources[-1]:
        return False
    if least_trusted([newer.origin, older.origin]) is not older.origin:
        return False
    return not _topic(newer).isdisjoint(_topic(older))


def is_done(task: Entry, others: Iterable[Entry]) -> bool:
    """Whether some later entry on the same thing says that a task is finished."""
    return any(
        (one.status is Status.DONE or one.kind is EntryKind.OUTCOME)
        and one.sources[-1] > task.sources[-1]
        and not _topic(one).isdisjoint(_topic(task))
        for one in others
    )


def _is_superseded(id: str, inputs: Mapping[str, Entry], condensed: Sequence[Condensed]) -> bool:
    return any(
        id in one.replaces and any(supersedes(inputs[new], inputs[id]) for new in one.made_from if new != id)
        for one in condensed
    )


def _is_carried(id: str, entry: Entry, condensed: Sequence[Condensed]) -> bool:
    """Whether the lines that cite an entry have everything specific of it, most of its words, and its sense."""
    citing = [one.entry for one in condensed if id in one.made_from and _still_binds(one.entry, entry)]
    carriers = [Evidence(text=one.text, said_at=one.said_at) for one in citing]
    if not carry(carriers, entry.text, share=_CARRIED):
        return False
    specifics = find_specifics(entry.text, entry.said_at, author=entry.author)
    if any(not any(carrier.has(piece) for carrier in carriers) for piece in specifics):
        return False
    return not any(turned_round(one.text, [entry_evidence(entry)]) for one in citing)


def _still_binds(made: Entry, entry: Entry) -> bool:
    """Whether what a line became is pinned as well; a task may have become one that is done."""
    return made.pinned or (entry.kind is EntryKind.TASK and made.status is Status.DONE)


def _topic(entry: Entry) -> frozenset[int]:
    """What an entry is about, apart from words of reporting."""
    return frozenset(weigh_terms(entry.text)) - reported_terms()


def _joined(one: Entry, other: Entry) -> Entry:
    """Two entries that say the same, as one that knows the sources of both."""
    return replace(
        one,
        sources=tuple(sorted({*one.sources, *other.sources})),
        said_at=min(one.said_at, other.said_at),
        origin=least_trusted([one.origin, other.origin]),
    )
