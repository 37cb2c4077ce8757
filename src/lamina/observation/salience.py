"""How much a clause is worth in a note, and what kind of thing it says.

The worth is the estimated chance that somebody will ask for it later. Rare words, names, numbers, quotations and dates
raise it; praise and talk about the other speaker lower it. The weights were fitted to which sentences of long chats
answer questions about them, and rounded; words of any script count by how rare they are.
"""

import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from lamina.graph.mentions import find_mentions
from lamina.graph.words import STOP_WORDS
from lamina.index.common_words import background_frequency
from lamina.index.terms import term_key, words
from lamina.observation.calendar_words import DAY_WORDS, SHORT_WEEKDAYS, UNITS, WEEKDAYS
from lamina.observation.phrases import (
    FIRST_PERSON,
    FIRST_PERSON_SIGNS,
    NAMED,
    NUMBER_SIGNS,
    NUMBERS,
    PAST,
    PLATITUDE,
    POINTING,
    PRAISE,
    QUOTED,
    SECOND_PERSON,
)
from lamina.observation.types import Period
from lamina.observation.when import refers_to

_EVERYDAY = 0.35
# That a day is named counts by itself; the words that name it tell nothing more.
_CALENDAR = frozenset({*UNITS, *WEEKDAYS, *SHORT_WEEKDAYS, *DAY_WORDS, "ago", "night", "morning", "evening", "later"})
_HIRAGANA = re.compile(r"[ぁ-ゖ]+")
_MAY_NAME = re.compile(r"[A-HJ-Z]|I[A-Za-z]|[^\W\d]\d|[`\"/@#_]|\w\.\w")
_ASIDE = re.compile(r"\s*[\[(（【]")


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> tuple[int, float]:
    """The key of a word and how much it tells: 0 for words that only hold a sentence together, 1 for a rare one."""
    frequency = background_frequency(word)
    if frequency >= 0.2 or len(word) < 2 or word in STOP_WORDS or word in _CALENDAR:
        return term_key(word), 0.0
    return term_key(word), _EVERYDAY if frequency >= 0.01 or _HIRAGANA.fullmatch(word) else 1.0


def weigh_terms(text: str) -> dict[int, float]:
    """The terms of a text that tell something, and how much."""
    return _weighed(words(text))


def _weighed(found: Iterable[str]) -> dict[int, float]:
    return {key: weight for key, weight in map(_term, found) if weight}


def is_past(found: Iterable[str]) -> bool:
    """Whether folded words tell of something that is over."""
    return any(word in PAST or (len(word) > 4 and word.endswith("ed")) for word in found)


def is_first_person(text: str, found: Iterable[str]) -> bool:
    """Whether a text with these folded words is about who says it."""
    return not FIRST_PERSON.isdisjoint(found) or (not text.isascii() and FIRST_PERSON_SIGNS.search(text) is not None)


def name_terms(names: Iterable[str | None]) -> frozenset[int]:
    """The terms of people's names, which say nothing in a conversation between those people."""
    return frozenset(term_key(word) for name in names if name for word in words(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a text is worth, between 0 and 1, the terms that make it so, and the days it names."""

    value: float
    terms: Mapping[int, float]
    refers_to: Period | None


def judge(
    text: str,
    *,
    said_at: datetime,
    answers: bool = False,
    question: bool = False,
    own: bool = False,
    known: Set[int] = frozenset(),
) -> Worth:
    """Judge a clause. `answers`: somebody had asked; `own`: it is about the speaker although it may not say so;
    `known`: terms that everybody there knows.
    """
    found = words(text)
    terms = {key: weight for key, weight in _weighed(found).items() if key not in known}
    when = refers_to(text, said_at)
    rare = sum(weight >= 1.0 for weight in terms.values())
    features = {
        "rare": math.log1p(rare),
        "when": when is not None,
        "answers": answers,
        "question": question,
        "first_person": own or is_first_person(text, found),
        "second_person": not SECOND_PERSON.isdisjoint(found),
        "past": is_past(found),
        "praise": min(sum(word in PRAISE for word in found), 3),
        "number": not NUMBERS.isdisjoint(found) or NUMBER_SIGNS.search(text) is not None,
        "names": min(_names(text, known), 3),
        "quoted": QUOTED.search(text) is not None,
        "named": NAMED.search(text) is not None,
        "pointing": POINTING.match(text) is not None,
        "platitude": PLATITUDE.search(text) is not None,
        "aside": _ASIDE.match(text) is not None,
    }
    score = _BIAS + math.fsum(weight * features[name] for name, weight in WEIGHTS.items())
    return Worth(value=1 / (1 + math.exp(-score)), terms=terms, refers_to=when)


def _names(text: str, known: Set[int]) -> int:
    """How many names there are, apart from those that everybody knows."""
    # Most clauses have none, and a glance tells.
    if text.isascii() and _MAY_NAME.search(text, 1) is None:
        return 0
    return sum(not name_terms([spot.text]) <= known for spot in find_mentions(text))


_BIAS = -4.7
WEIGHTS: Mapping[str, float] = {
    "rare": 1.5,
    "when": 2.3,
    "quoted": 1.6,
    "named": 1.2,
    "number": 1.0,
    "names": 0.8,
    "answers": 0.7,
    "first_person": 0.4,
    "past": 0.4,
    "question": -0.6,
    "praise": -0.45,
    "pointing": -0.5,
    "second_person": -0.6,
    "platitude": -0.8,
    "aside": -1.2,
}
