"""Entities and relations from text, without a model: names by their form, relations by explicit statements, and the
names that stand in one sentence. Pure; takes any text whatsoever."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Protocol

import anyio.to_thread

from lamina.graph.mentions import Spot, find_mentions
from lamina.graph.names import fold, tidy
from lamina.graph.sentences import split_sentences
from lamina.graph.statements import find_statements
from lamina.graph.types import SEEN_TOGETHER, Extraction, FoundTriple, Predicate
from lamina.kernel.text import unstorable

MOST_NAMES = 64
"""Names kept of one text."""
MOST_TRIPLES = 128
"""Triples kept of one text, the stated ones first."""
_MOST_TOGETHER = 6
_SINCE = re.compile(
    r"\b(?:since|from|seit|von|ab|depuis|de|desde|dal|sinds)\s+(?:[^\W\d_]+\s+)?(?P<day>(?:19|20)\d\d(?:-\d\d){0,2})"
    r"\b",
    re.I,
)
_UNTIL = re.compile(
    r"\b(?:until|till|to|bis|jusqu['’]en|à|hasta|fino al|tot)\s+(?:[^\W\d_]+\s+)?(?P<day>(?:19|20)\d\d(?:-\d\d){0,2})"
    r"\b",
    re.I,
)


class TripleExtractor(Protocol):
    """Reads entities and relations out of texts: the rules of this house, or a model."""

    @property
    def name(self) -> str:
        """Its stable identity, stored with what it read; texts read under another name are read again."""
        ...

    async def extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        """What each text says, in order. Raises a LaminaError; a retryable one is tried again."""
        ...


@dataclass(slots=True)
class _Collected:
    """What was found so far; labels by folded name, in the order they were met."""

    labels: dict[str, str]
    stated: dict[tuple[str, Predicate, str], FoundTriple]
    together: dict[tuple[str, str], FoundTriple]

    def name(self, text: str) -> str | None:
        """Take note of a name; None for one that cannot be kept."""
        folded = fold(text)
        if not folded or unstorable(text) is not None:
            return None
        if folded not in self.labels and len(self.labels) >= MOST_NAMES:
            return None
        return self.labels.setdefault(folded, tidy(text))


def extract(text: str) -> Extraction:
    """The names in a text and the relations between them; the same text gives the same answer."""
    found = _Collected(labels={}, stated={}, together={})
    sentences = list(split_sentences(text))
    spotted = [find_mentions(sentence) for sentence in sentences]
    known = {fold(spot.text) for spots in spotted for spot in spots}
    before: str | None = None
    for sentence, first_look in zip(sentences, spotted, strict=True):
        # Again where a first word has turned out to be a name further down.
        first = fold(sentence.split(maxsplit=1)[0])
        spots = find_mentions(sentence, known) if first in known else first_look
        before = _read(sentence, spots, before, found) or before
        if len(found.stated) >= MOST_TRIPLES:
            break
    triples = [*found.stated.values(), *found.together.values()][:MOST_TRIPLES]
    return Extraction(names=tuple(found.labels.values()), triples=tuple(triples))


def _read(sentence: str, spots: list[Spot], before: str | None, found: _Collected) -> str | None:
    """Add what one sentence says; who it speaks of."""
    since, until = (match and day_start(match["day"]) for match in (_SINCE.search(sentence), _UNTIL.search(sentence)))
    speaker = None
    joined: set[frozenset[str]] = set()
    for statement in find_statements(sentence, spots, before=before):
        subject, object = found.name(statement.subject), found.name(statement.object)
        if subject is None or object is None:
            continue
        speaker = statement.subject
        joined.add(frozenset((fold(subject), fold(object))))
        key = (fold(subject), statement.predicate, fold(object))
        found.stated.setdefault(
            key,
            FoundTriple(
                subject=subject, predicate=statement.predicate, object=object, valid_from=since, valid_until=until
            ),
        )
    names = dict.fromkeys(name for spot in spots if (name := found.name(spot.text)) is not None)
    for left, right in combinations(list(names)[:_MOST_TOGETHER], 2):
        pair = frozenset((fold(left), fold(right)))
        if pair not in joined and len(found.together) < MOST_TRIPLES:
            found.together.setdefault(
                (fold(left), fold(right)),
                FoundTriple(subject=left, predicate=Predicate.RELATED_TO, object=right, weight=SEEN_TOGETHER),
            )
    return speaker or (spots[0].text if spots else None)


def day_start(named: str) -> datetime | None:
    """The start of a year, month or day such as `2021-05`; None for what no calendar has."""
    year, month, day = (*(int(part) for part in named.split("-")), 1, 1)[:3]
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


class RuleExtractor:
    """The rules of this module as a `TripleExtractor`."""

    name = "rules:1"

    async def extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        """What each text says; never fails."""
        return await anyio.to_thread.run_sync(lambda: [extract(text) for text in texts])
