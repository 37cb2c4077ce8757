"""What users said that no note carries: wishes, rules, decisions, reminders, sentences with names or numbers. Pure.

What is missing is asked for once. What is then still missing and must not be forgotten is noted in the user's own
words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamina.graph.mentions import find_mentions
from lamina.kernel.ids import new_id
from lamina.observation.evidence import Evidence
from lamina.observation.kinds import classify
from lamina.observation.pieces import read_sentences
from lamina.observation.polarity import reported_terms
from lamina.observation.quantities import find_quantities, find_times, plain
from lamina.observation.salience import weigh_terms
from lamina.observation.transcript import Shown
from lamina.observation.types import PINNED, Entry, EntryKind, Period, Priority, Speaker, Status
from lamina.observation.when import find_periods, refers_to

LONGEST_VERBATIM: Final = 240
"""Characters of a sentence that is noted as it was said."""
MOST_VERBATIM: Final = 12
"""Sentences of one stretch that are noted as they were said."""
_RULE: Final = re.compile(
    r"(?:^|[,;:.]\s*|^(?:and|but|also|so|oh|ok|okay|please|und|aber|et|mais|y|pero)[\s,]+)(?:please\s+|bitte\s+)?"
    r"(?:(?:never|always|avoid|do\s+not|don['’]t)\s+(?!worry|mind|know|think|forget|get\s+me|you|we|i)\w+"
    r"|(?:nie|niemals|immer)\s+\w+|(?:nunca|jamais|toujours|siempre)\s+\w+)",
    re.IGNORECASE,
)
"""An order that forbids something, or holds for always, whatever it is about."""
_MOST_SENTENCES: Final = 400
_CARRIED: Final = 0.5
_SPECIFICS_CARRIED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A sentence of a user that no entry carries."""

    sequence: int
    text: str
    kind: EntryKind
    pinned: bool
    """Whether forgetting it would be wrong, whatever else was noted."""
    specifics: int
    """Names, numbers, dates and codes in it that no entry has."""
    shown: Shown


def find_missing(shown: Sequence[Shown], entries: Sequence[Entry], recent: Sequence[Entry] = ()) -> tuple[Missing, ...]:
    """Sentences of users that matter and that none of the entries carries, in the order in which they were said.

    `recent` are entries that exist already: who repeats something said before has lost nothing.
    """
    carriers = [Evidence(text=one.text, said_at=one.said_at) for one in (*entries, *recent)]
    citing: dict[int, list[Evidence]] = {}
    for entry, carrier in zip(entries, carriers, strict=False):
        for sequence in entry.sources:
            citing.setdefault(sequence, []).append(carrier)
    older = carriers[len(entries) :]
    found = [
        missing
        for one in shown
        if one.speaker is Speaker.USER
        for missing in _missing(one, [*citing.get(one.message.sequence, ()), *older], carriers)
    ]
    return tuple(found)


def matters(missing: Sequence[Missing], entries: int) -> bool:
    """Whether so much is missing that it is worth asking for it."""
    if any(one.pinned for one in missing):
        return True
    specific = sum(one.specifics > 0 for one in missing)
    return specific >= max(2, entries)


def verbatim(missing: Sequence[Missing]) -> tuple[Entry, ...]:
    """Entries in the users' own words for what must not be forgotten, the newest where there are too many."""
    kept = [one for one in missing if one.pinned][-MOST_VERBATIM:]
    return tuple(_verbatim(one) for one in kept)


def _missing(shown: Shown, citing: Sequence[Evidence], all_carriers: Sequence[Evidence]) -> Iterator[Missing]:
    for sentence in read_sentences(shown.said)[:_MOST_SENTENCES]:
        text = " ".join(sentence.text.split())
        days = refers_to(text, shown.message.at)
        kind = classify(
            text, origin=Speaker.USER, value=0.0, question=sentence.is_question, answered=True, refers_to=days
        ).kind
        if kind not in PINNED and not sentence.is_question and _RULE.search(text):
            kind = EntryKind.CONSTRAINT
        pinned = kind in PINNED or kind is EntryKind.TASK
        specifics = find_specifics(text, shown.message.at, author=shown.message.author)
        lost = [one for one in specifics if not any(carrier.has(one) for carrier in all_carriers)]
        if pinned and not carry(citing, text):
            yield _made(shown, text, kind, pinned=True, specifics=len(lost))
        elif not pinned and specifics and len(lost) > _SPECIFICS_CARRIED * len(specifics):
            yield _made(shown, text, kind, pinned=False, specifics=len(lost))


def _made(shown: Shown, text: str, kind: EntryKind, *, pinned: bool, specifics: int) -> Missing:
    return Missing(
        sequence=shown.message.sequence, text=text, kind=kind, pinned=pinned, specifics=specifics, shown=shown
    )


def carry(carriers: Sequence[Evidence], text: str, *, share: float = _CARRIED) -> bool:
    """Whether entries together have so much of what a text says, apart from words of reporting."""
    known = reported_terms()
    said = {term: weight for term, weight in weigh_terms(text).items() if term not in known}
    noted = {term for carrier in carriers for term in weigh_terms(carrier.text)}
    return bool(carriers) and sum(said[term] for term in said if term in noted) >= share * sum(said.values())


def find_specifics(text: str, said_at: datetime, *, author: str | None = None) -> list[str]:
    """Names, codes, numbers and times in a text, but for its author's name and dates, which notes write otherwise."""
    given = plain(text)
    for one in find_periods(given, said_at):
        given = given[: one.start] + " " * (one.end - one.start) + given[one.end :]
    spans: list[tuple[int, int]] = [(start, end) for _, start, end in find_times(given)]
    spans += [(one.start, one.end) for one in find_quantities(given) if given[one.start].isdigit()]
    own = (author or "").casefold()
    spans += [(spot.start, spot.end) for spot in find_mentions(given) if spot.text.casefold() not in own]
    return list(dict.fromkeys(piece for start, end in spans if (piece := given[start:end].strip())))


def _verbatim(missing: Missing) -> Entry:
    message, text = missing.shown.message, missing.text
    if len(text) > LONGEST_VERBATIM:
        cut = text.rfind(" ", LONGEST_VERBATIM // 2, LONGEST_VERBATIM - 1)
        text = text[: cut if cut > 0 else LONGEST_VERBATIM - 1].rstrip() + "…"
    days: Period | None = refers_to(missing.text, message.at)
    return Entry(
        id=new_id(),
        text=text,
        kind=missing.kind,
        priority=Priority.HIGH,
        status=Status.OPEN,
        origin=Speaker.USER,
        said_at=message.at,
        sources=(message.sequence,),
        refers_to=days,
        author=message.author,
    )
