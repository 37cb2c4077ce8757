"""What a text says, word by word, so that two texts can be compared for meaning the same.

Lists of antonyms, negations and names are never complete and exist for few languages, so the rule is turned
round: *every* word, number and sign counts, in order, except what is known to change nothing. That is a closed
list: articles, `is`, emphasis, contractions, spelled-out small numbers, spelling variants and abbreviations, a
leading clause moved to the end, capitals at the start of a sentence. Two texts that differ in anything else differ.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.memory.word_lists import (
    ARTICLES,
    CONTRACTIONS,
    EMPTY,
    ENDINGS,
    HOLDS_COMMA,
    LEADS,
    NOT_AFTER_ARTICLE,
    OFTEN_AT_START,
    SAME,
)

_OPENING = "\"'`([{¿¡"
_CLOSING = "\"'`)]}.,;:!?…。！？，、"
_SENTENCE_END = frozenset(".;!?…。！？")
_BULLETS = frozenset({"-", "*", "•", "–", "—"})
_CURLY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"'})
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PERCENT = re.compile(r"([\d.,]+)%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word that counts. `bare`: no article or number stands before it, so its `s` may be a verb's."""

    form: str
    raw: str
    start: bool
    bare: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The words that count, in order; `moved` the same with a leading clause at the end, when there is one."""

    words: tuple[Word, ...]
    moved: tuple[Word, ...] | None
    caseless: bool


def read(text: str) -> Wording:
    """The wording of a text; pure and linear in its length."""
    reader = _Reader()
    normal = unicodedata.normalize("NFC", text).translate(_CURLY)
    for line in normal.splitlines():
        chunks = line.split()
        for chunk in chunks[1:] if chunks and chunks[0] in _BULLETS else chunks:
            reader.take(chunk)
    return reader.wording(caseless=normal == normal.lower())


def same_wording(one: Wording, other: Wording) -> bool:
    """Whether two texts say the same, word by word."""
    orders = [(one.words, other.words)]
    if one.moved:
        orders.append((one.moved, other.words))
    if other.moved:
        orders.append((one.words, other.moved))
    caseless = one.caseless or other.caseless
    return any(_same_words(first, second, caseless) for first, second in orders)


def _same_words(one: Sequence[Word], other: Sequence[Word], caseless: bool) -> bool:
    if len(one) != len(other) or not one:
        return False
    inflected = 0
    for place, (first, second) in enumerate(zip(one, other, strict=True)):
        if first.form == second.form:
            if not _same_case(first, second, caseless):
                return False
        elif place < 2 and place + 1 < len(one) and _same_verb(first, second):
            inflected += 1
        else:
            return False
    return inflected <= 1


def _same_case(one: Word, other: Word, caseless: bool) -> bool:
    """A capital marks a name, unless it opens a sentence or the other text has no capitals at all."""
    if one.raw == other.raw:
        return True
    cases = {_case(one.raw), _case(other.raw)}
    if "other" in cases:
        return False
    capital, small = (one, other) if _case(one.raw) == "initial" else (other, one)
    return len(cases) == 1 or caseless or (capital.start and (small.start or small.form in OFTEN_AT_START))


def _same_verb(one: Word, other: Word) -> bool:
    """`prefers` and `prefer`; not nouns behind an article or number, whose `s` is a plural."""
    short, long = sorted((one.form, other.form), key=len)
    small = all(word.bare and (word.start or _case(word.raw) == "lower") for word in (one, other))
    return small and len(short) > 2 and long in (short + "s", short + "es", short[:-1] + "ies")


def _case(raw: str) -> str:
    if raw == raw.lower():
        return "lower"
    letters = "".join(filter(str.isalpha, raw))
    return "initial" if letters[:1].isupper() and letters[1:] == letters[1:].lower() else "other"


class _Reader:
    """Collects words of one text."""

    def __init__(self) -> None:
        self._words: list[Word] = []
        self._pending: str | None = None  # an article, until it is known to stand before a word
        self._at_start = True
        self._bare = True
        self._sentences = 0
        self._lead: str | None = None
        self._pivot: int | None = None

    def take(self, chunk: str) -> None:
        inner = chunk.lstrip(_OPENING)
        core = inner.rstrip(_CLOSING)
        closing = inner[len(core) :]
        for part in core.split("-") if _HYPHENATED.fullmatch(core) else [core] if core not in ("–", "—") else []:
            for raw in _expanded(part):
                self._word(raw)
        if "," in closing:
            self._comma()
        if _SENTENCE_END.intersection(closing):
            self._sentence_end(question="?" in closing or "？" in closing)

    def wording(self, *, caseless: bool) -> Wording:
        self._settle(None)
        words = self._words[:-1] if self._words and self._words[-1].form == "." else self._words
        movable = self._pivot and self._sentences <= 1 and self._lead in LEADS
        moved = (*words[self._pivot :], *words[: self._pivot]) if movable else None
        return Wording(words=tuple(words), moved=moved, caseless=caseless)

    def _word(self, raw: str) -> None:
        small = raw.lower()
        if self._lead is None:
            self._lead = small
        self._settle(small)
        plain = raw == small or (self._at_start and _case(raw) == "initial")
        if small in EMPTY - ARTICLES and plain:
            return  # what follows `please` still opens the sentence
        if small in ARTICLES and plain:
            self._pending = raw
        else:
            self._add(raw)
        self._at_start = False

    def _settle(self, following: str | None) -> None:
        """An article counts for nothing before a word, but as a letter at an end: `vitamin a`."""
        if self._pending is not None and (following is None or following in NOT_AFTER_ARTICLE):
            self._add(self._pending)
        elif self._pending is not None:
            self._bare = False
        self._pending = None

    def _add(self, raw: str) -> None:
        small = raw.casefold()
        form = SAME.get(small, small)
        self._words.append(Word(form=form, raw=raw, start=self._at_start, bare=self._bare))
        self._bare = not form[:1].isdigit()

    def _comma(self) -> None:
        self._settle(None)
        if self._words and self._words[-1].form in HOLDS_COMMA:
            self._mark(",")
        if self._pivot is None:
            self._pivot = len(self._words)

    def _sentence_end(self, *, question: bool) -> None:
        self._settle(None)
        self._sentences += 1
        self._at_start = True
        if question:
            self._mark("?")
        if self._words and self._words[-1].form != ".":
            self._mark(".")

    def _mark(self, sign: str) -> None:
        self._words.append(Word(form=sign, raw=sign, start=False, bare=True))


def _expanded(part: str) -> Iterator[str]:
    """The words inside one: contractions, and what stands for a number."""
    small = part.lower()
    if small in CONTRACTIONS:
        yield from _cased(part, CONTRACTIONS[small].split())
    elif percent := _PERCENT.fullmatch(part):
        yield from (percent[1], "percent")
    elif _GROUPED.fullmatch(part):
        yield part.replace(",", "")
    else:
        ending = next((pair for pair in ENDINGS if small.endswith(pair[0]) and len(small) > len(pair[0])), None)
        yield from (part[: -len(ending[0])], ending[1]) if ending else ((part,) if part else ())


def _cased(part: str, words: list[str]) -> list[str]:
    return [words[0].capitalize() if part[:1].isupper() else words[0], *words[1:]]
