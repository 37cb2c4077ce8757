"""What one message or one entry says, read once, so that many claims can be held against it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Final

from lamina.graph.sentences import split_sentences
from lamina.index.terms import fold, stem, words
from lamina.memory.word_lists import SAME
from lamina.observation.calendar_words import WEEKDAYS
from lamina.observation.note_words import bare_forms, is_cased
from lamina.observation.quantities import UNSPACED, Quantity, find_quantities, find_times, plain, readings
from lamina.observation.types import Period
from lamina.observation.when import find_periods

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_CODED: Final = re.compile(r"\d[-/:]\d|[^\W\d_].*\d|\d.*[^\W\d_]")
_LONGEST_CODE: Final = 400
_LONGEST_WORD: Final = 40
_LETTER: Final = rf"[^\W{UNSPACED}]"
_CLAUSE: Final = re.compile(
    r"[,;:]\s|\s-+\s|[，；：、]"
    r"|\s(?:and|but|so|because|since|although|though|however|und|aber|weil|sondern|et|mais|car|y|pero|porque|и|но)\s",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(
    r"\b(?:the|am|den|le|el)\s+([12]?\d|3[01])(?:st|nd|rd|th|\.)?(?![\w:.,]\d|\w)", re.IGNORECASE
)
_LONGEST_CLAIM: Final = 4_000


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A text, when it was said, and which days are known to belong to it."""

    text: str
    said_at: datetime
    days: tuple[Period, ...] = ()
    """Days it refers to that are not in its words: an entry's own."""
    known: tuple[str, ...] = field(default=())
    """Names that belong to it without standing in it: who spoke, which tool."""

    @cached_property
    def plain(self) -> str:
        """The text in the form in which claims are compared with it."""
        return plain(" ".join((*self.known, "\n", self.text)))

    @cached_property
    def folded(self) -> str:
        """The same in small letters on one line."""
        return flat(self.plain)

    @cached_property
    def _sequence(self) -> list[str]:
        return words(self.plain)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, folded."""
        # The letters of `python3` are a word of their own: somebody may write Python 3. So are the parts of `l'école`.
        letters = [part for word in _WORD.findall(fold(self.plain)) for part in (word, *word.split("'")) if part]
        return frozenset((*self._sequence, *letters))

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its words; other spellings of a word count as that word."""
        found = {*self.words, *(SAME.get(word, word) for word in self.words)}
        return frozenset(map(stem, found))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        lengths = ((word, range(3, min(len(word), _LONGEST_WORD) + 1)) for word in self.words)
        return frozenset(word[:length] for word, some in lengths for length in some)

    def has_like(self, word: str) -> bool:
        """Whether it has the word in some form, by its stem or, in any language, by how it begins."""
        if stem(word) in self.stems or stem(SAME.get(word, word)) in self.stems:
            return True
        return word[: max(3, -(-len(word[:_LONGEST_WORD]) * 3 // 5))] in self._beginnings

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Words that stand side by side."""
        return frozenset(zip(self._sequence, self._sequence[1:], strict=False))

    @cached_property
    def small(self) -> frozenset[str]:
        """Words that it writes with a small letter: no names."""
        return frozenset(fold(word) for word in _WORD.findall(self.plain) if word[0].islower())

    @cached_property
    def bare(self) -> frozenset[str]:
        """Words of scripts without capitals, with and without what is attached to them."""
        return frozenset(form for word in self.words if not is_cased(word) for form in bare_forms(word))

    @cached_property
    def inflected(self) -> dict[str, list[str]]:
        """Words of scripts with capitals other than Latin, by their beginning."""
        found: dict[str, list[str]] = {}
        for word in self.words:
            if not word.isascii() and is_cased(word):
                found.setdefault(word[:3], []).append(word)
        return found

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its numbers, each once for what it counts."""
        found = {(one.values, one.unit, one.counted): one for one in find_quantities(self.plain)}
        return tuple(found.values())

    @cached_property
    def inner_numbers(self) -> frozenset[str]:
        """Numbers inside its codes and names: the 123 of `PROJ-123`."""
        coded = (chunk for chunk in self.plain.split() if len(chunk) <= _LONGEST_CODE and _CODED.search(chunk))
        return frozenset(value for chunk in coded for digits in _DIGITS.findall(chunk) for value in readings(digits))

    @cached_property
    def times(self) -> frozenset[str]:
        """Times of day that it names, on a clock of 24 hours."""
        return frozenset(value for values, _, _ in find_times(self.plain) for value in values)

    @cached_property
    def named_days(self) -> tuple[Period, ...]:
        """Days that it names, seen from when it was said."""
        named = [one.period for one in find_periods(self.text, self.said_at)]
        return tuple(dict.fromkeys((*named, *self.days)))

    @cached_property
    def weekdays(self) -> frozenset[int]:
        """Weekdays that it names, or that the days are which it names."""
        named = {WEEKDAYS[word] for word in self.words if word in WEEKDAYS}
        return frozenset({*named, *(one.first.weekday() for one in self.named_days if one.first == one.last)})

    @property
    def today(self) -> date:
        """The day on which it was said, on the clock of whoever said it."""
        return self.said_at.date()

    @cached_property
    def numbered_days(self) -> tuple[Period, ...]:
        """Days it names by their number alone, such as `the 15th`: those of that number within a month."""
        near = (self.today + timedelta(days=step) for step in range(-31, 32))
        numbers = {int(one) for one in _NUMBERED.findall(self.plain)}
        return tuple(Period(first=day, last=day) for day in near if day.day in numbers) if numbers else ()

    @cached_property
    def clauses(self) -> tuple["Clause", ...]:
        """Its sentences, and the parts of those that have several."""
        return tuple(find_clauses(self.text))

    def has(self, claim: str) -> bool:
        """Whether these very words stand in it, whole: no letter or digit of a word left out at either end."""
        needle = flat(claim)
        if not needle or len(needle) > _LONGEST_CLAIM or needle not in self.folded:
            return False
        return re.search(_edge(needle), self.folded) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Part of a sentence, and whether the sentence asks."""

    text: str
    question: bool


def flat(text: str) -> str:
    """Plain text in small letters on one line, with single blanks, without marks of quotation."""
    return " ".join(text.casefold().replace('"', " ").split()).strip()


def _edge(needle: str) -> str:
    before = after = ""
    if re.match(_LETTER, needle[0]):
        before = rf"(?<!{_LETTER})(?<!\w-)" + (r"(?<!\d[.,:])" if needle[0].isdigit() else "")
    if re.match(_LETTER, needle[-1]):
        after = rf"(?!{_LETTER}|[.\\-]{_LETTER})" + (r"(?![,:]\d)" if needle[-1].isdigit() else "")
    return before + re.escape(needle) + after


def find_clauses(text: str) -> Iterator[Clause]:
    """The sentences of a text, each before its parts where it has several."""
    for sentence in split_sentences(text):
        asks = sentence.rstrip("\"'”’)] ").endswith(("?", "？", "؟"))
        parts = [part for part in _CLAUSE.split(sentence) if part and part.strip()]
        yield Clause(text=sentence, question=asks)
        if len(parts) > 1:
            yield from (Clause(text=part, question=asks) for part in parts)


def all_days(evidence: Iterable[Evidence]) -> tuple[Period, ...]:
    """Every day that some evidence names; the days on which it was said where it names none."""
    given = tuple(evidence)
    named = [period for one in given for period in one.named_days]
    if not named and not any(one.weekdays for one in given):
        named = [Period(first=one.today, last=one.today) for one in given]
    return tuple(dict.fromkeys(named))


def holds(period: Period, evidence: Sequence[Evidence]) -> bool:
    """Whether the days follow from what was said: some days that were named lie within them.

    Where a week begins is a matter of taste, so for weeks and longer it is enough to overlap and to be no shorter.
    """
    numbered = [day for one in evidence for day in one.numbered_days]
    return any(
        (period.first <= one.first and one.last <= period.last)
        or (
            timedelta(days=6) <= one.last - one.first <= period.last - period.first
            and period.first <= one.last
            and one.first <= period.last
        )
        for one in (*all_days(evidence), *numbered)
    )
