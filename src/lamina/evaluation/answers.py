"""Whether passages of a prompt answer a labelled question. One criterion for notes and for raw messages.

A question is answered by passages (lines of notes, or whole messages) when one of these holds:

1. Every turn that is its evidence is there: one passage made from the turn, or all those made from nothing else
   together, have every content word of it. A raw message has; a note has where it left out nothing but small words.
2. The answer's words are there: all of its content words in one passage, and that passage either was made from a turn
   of the evidence or also has at least half of the content words of the question. The answer to a question that takes
   several turns (multi-hop) is a list: then each of its parts must be carried so.
   Days that the answer names count as carried when a passage made from the evidence names them, or was said on them,
   at most as vaguely as the answer does or within a week.

A line of a note that was made from several turns is taken apart into its statements first, and a statement counts as
made from a turn when at least half of its content words are in it: words that happen to stand in one line must not
answer together. Content words are the words that are no stop words, stemmed, small numbers as digits. An answer without
any ("Yes") can only be met by its evidence.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from lamina.evaluation.conversations import Question
from lamina.index.common_words import is_stop_word
from lamina.index.terms import stem, words
from lamina.observation.types import Period
from lamina.observation.when import find_periods

MULTI_HOP = 1
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
_PARTS = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")
_YEAR = re.compile(r"\s*(?:in\s+)?((?:19|20)\d\d)\.?\s*", re.IGNORECASE)
_WEEK = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A line of a note or a message, as a prompt shows it, and the turns it was made from."""

    text: str
    sources: frozenset[int]
    said_at: datetime
    author: str | None = None
    refers_to: Period | None = None

    @property
    def words(self) -> frozenset[str]:
        """The content words, the author's name included."""
        return content_words(self.text) | content_words(self.author or "")

    def days(self) -> list[Period]:
        """The days it names; where it names none, the day on which it was said."""
        named = [self.refers_to] if self.refers_to else []
        named += [spot.period for spot in find_periods(self.text, self.said_at)]
        today = self.said_at.date()
        return named or [Period(first=today, last=today)]


@lru_cache(maxsize=1 << 14)
def content_words(text: str) -> frozenset[str]:
    """The words of a text that are no stop words, stemmed."""
    return frozenset(stem(_NUMBERS.get(word, word)) for word in words(text) if not is_stop_word(word))


class Shown:
    """The passages of a prompt, ready to be asked about."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._words = [passage.words for passage in passages]
        self._made_from: dict[int, list[int]] = {}
        for place, passage in enumerate(passages):
            for source in passage.sources:
                self._made_from.setdefault(source, []).append(place)

    def answers(self, question: Question, evidence: Mapping[int, str], said_at: datetime) -> bool:
        """Whether the question is answered; `evidence` are its turns by place, `said_at` when the first was said."""
        if not evidence:
            return False
        return all(map(self._has_turn, evidence, evidence.values())) or self._carries(question, evidence, said_at)

    def _has_turn(self, place: int, content: str) -> bool:
        made, wanted = self._made_from.get(place, ()), content_words(content)
        alone = [self._words[one] for one in made if len(self._passages[one].sources) == 1]
        return any(wanted <= self._words[one] for one in made) or bool(alone and wanted <= frozenset().union(*alone))

    def _made_of(self, source: int, content: str) -> Iterator[int]:
        """The passages made from a turn; of a line made from several, the statements that are mostly its words."""
        turn = content_words(content)
        for place in self._made_from.get(source, ()):
            passage = self._passages[place]
            said = content_words(passage.text)
            if len(passage.sources) == 1 or 2 * len(said & turn) >= len(said) > 0:
                yield place

    def _carries(self, question: Question, evidence: Mapping[int, str], said_at: datetime) -> bool:
        periods, rest = split_dates(question.answer, said_at)
        near = {place for source, content in evidence.items() for place in self._made_of(source, content)}
        if not all(any(_names(self._passages[place], period) for place in near) for period in periods):
            return False
        parts = list(_parts(rest, list_of=question.category == MULTI_HOP))
        asked = content_words(question.text)
        return bool(parts or periods) and all(self._has_words(part, near, asked) for part in parts)

    def _has_words(self, part: frozenset[str], near: set[int], asked: frozenset[str]) -> bool:
        for place, words_there in enumerate(self._words):
            if part <= words_there and (place in near or (asked and 2 * len(asked & words_there) >= len(asked))):
                return True
        return False


def split_dates(answer: str, said_at: datetime) -> tuple[list[Period], str]:
    """The days an answer names, and the rest of its words."""
    if whole := _YEAR.fullmatch(answer):
        return [Period(first=date(int(whole[1]), 1, 1), last=date(int(whole[1]), 12, 31))], ""
    found = find_periods(answer, said_at)
    rest, end = [], 0
    for spot in found:
        rest.append(answer[end : spot.start])
        end = spot.end
    return [spot.period for spot in found], " ".join([*rest, answer[end:]])


def _parts(text: str, *, list_of: bool) -> Iterator[frozenset[str]]:
    for part in _PARTS.split(text) if list_of else [text]:
        if found := content_words(part):
            yield found


def _names(passage: Passage, wanted: Period) -> bool:
    """Whether a passage names these days: some of them, and not much more than them."""
    most = max((wanted.last - wanted.first).days + 1, _WEEK)
    return any(
        day.first <= wanted.last and wanted.first <= day.last and (day.last - day.first).days < most
        for day in passage.days()
    )
