"""Whether a line says only what its sources say: every number, time, date, path, code, quotation and name of it.

Pure, for any script. What it finds are faults, in words a model can act on. Not for judging style, and no proof of
truth: a line that uses only words of its sources can still put them together wrongly. Two such ways are looked for all
the same: a denial that was lost or added, and a question that was taken for a statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from lamina.graph.words import KNOWN_TOOLS, PARTICLES, STARTERS, STOP_WORDS
from lamina.index.common_words import background_frequency
from lamina.index.terms import fold, stem, words
from lamina.memory.word_lists import OFTEN_AT_START, SAME
from lamina.observation.calendar_words import MONTHS, WEEKDAYS
from lamina.observation.evidence import Evidence, all_days, flat, holds
from lamina.observation.note_words import (
    GIVEN_NAMES,
    REPORTING,
    ROLES,
    bare_forms,
    is_cased,
    is_noted,
    longest_noted,
    same_inflected,
)
from lamina.observation.polarity import turned_round
from lamina.observation.quantities import UNSPACED, Quantity, find_quantities, find_times, plain
from lamina.observation.salience import weigh_terms
from lamina.observation.when import find_periods

LEAST_SHARED: Final = 0.35
"""The share of what a line says, weighed by how rare its words are, that has to be in the words of its sources."""
_MOST_FAULTS: Final = 6

_QUOTED: Final = re.compile(r'"([^"]{2,400})"|(?<!\w)\'([^\']{2,200})\'(?!\w)|[「『《]([^」』》]{1,200})[」』》]')
_ELLIPSIS: Final = re.compile(r"\s*(?:\.{3,}|…|\[\.\.\.\])\s*")
_CHUNK: Final = re.compile(r"\S+")
_OUTER: Final = "\"'()[]{}<>,;:!?。，；：！？、（）［］【】|~^"
_PLAIN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_HYPHENATED: Final = re.compile(r"[^\W\d_]+(?:['&+-]+[^\W\d_]+)+")
_SLASHED: Final = re.compile(r"[^\W\d_]+/[^\W\d_]+")
_RANGE: Final = re.compile(r"(\d[\d.,]*)-(\d[\d.,]*)")
_JOINED: Final = re.compile(r"([^\W\d_]+)-?(\d+(?:\.\d+)*)([^\W\d_]*)")
_SPLIT: Final = re.compile(r"[:=,;()\[\]{}|\"<>]+|-+>|--+")
_ABBREVIATED: Final = frozenset({"e.g", "i.e", "etc", "vs", "a.m", "p.m", "z.b", "d.h", "u.a", "no", "approx", "ca"})
_RUN: Final = re.compile(rf"[{UNSPACED}]+")
_OKURIGANA: Final = re.compile(
    r"(?<=[一-龥])(?:[えべめけせれげねて]る|っ[たて]|ん[だで]|い[たて]|[うくぐすつぬぶむるいたて])"
)
_OPENS: Final = frozenset('.!?:;([{"-•|>。！？：；（')
_ELIDED: Final = re.compile(r"(?:[cdjlmnst]|qu)'(\w{2,})")
_DERIVED: Final = re.compile(r"\w{2,}(?:tion|sion|ness|ability|able|ially|ingly)s?")
"""Words that are made from others and name nobody."""
_ORDINARY: Final = OFTEN_AT_START | STOP_WORDS | STARTERS | REPORTING
_NO_NAMES: Final = ROLES | PARTICLES
_MARK: Final = re.compile(r"\[(?:redacted|email)\]", re.IGNORECASE)


def find_faults(text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Why the sources do not bear the text out, in words; empty when they do. Takes any text."""
    if not evidence:
        return ("it names no source",)
    claim = _Claim(evidence=evidence, text=_MARK.sub(" ", plain(text)))
    if not any(one.has(claim.text) for one in evidence):
        claim.check()
    if not claim.faults and (turned := turned_round(text, evidence)):
        claim.faults.append(turned)
    return tuple(dict.fromkeys(claim.faults))[:_MOST_FAULTS]


@dataclass(slots=True, kw_only=True)
class _Claim:
    """A text that is checked piece by piece; what was checked is blanked out."""

    evidence: Sequence[Evidence]
    text: str
    faults: list[str] = field(default_factory=list)
    proved: int = 0
    """Quotations, dates, times, numbers and codes that the sources have."""

    def check(self) -> None:
        self._quotations()
        self._dates()
        undated = self.text
        self._times()
        self._numbers()
        self._chunks()
        self._unspaced()
        self._other_scripts()
        self._names(undated)
        if not self.faults and not _is_grounded(undated, self.proved, self.evidence):
            self.faults.append("hardly any of its words are in the messages it cites")

    def _blank(self, start: int, end: int) -> None:
        self.text = self.text[:start] + " " * (end - start) + self.text[end:]

    def _has(self, words: str) -> bool:
        return any(one.has(words) for one in self.evidence)

    def _missing(self, piece: str) -> None:
        self.faults.append(f"`{piece.strip()}` is not in the messages it cites")

    def _quotations(self) -> None:
        for match in _QUOTED.finditer(self.text):
            said = next(group for group in match.groups() if group is not None)
            pieces = [piece.strip(" .,;:!?") for piece in _ELLIPSIS.split(said)]
            if all(self._has(piece) for piece in pieces if piece):
                self._blank(match.start(), match.end())
                self.proved += 1
            else:
                self.faults.append(f"`{said}` is quoted but was not said in these words")

    def _dates(self) -> None:
        seen: set[tuple[int, int]] = set()
        for source in self.evidence:
            for one in find_periods(self.text, source.said_at):
                span = (one.start, one.end)
                if span in seen:
                    continue
                if holds(one.period, self.evidence) or self._has(self.text[one.start : one.end]):
                    seen.add(span)
        kept = self.text
        self.proved += len(seen)
        for start, end in seen:
            self._blank(start, end)
        source = self.evidence[0]
        for one in find_periods(self.text, source.said_at):
            self.faults.append(f"the date `{self.text[one.start : one.end].strip()}` does not follow from the messages")
            self._blank(one.start, one.end)
        for start, end in seen:
            # Beside characters of a script without blanks the words of a date are the neighbours of others.
            if _RUN.search(kept, start, end) and self._has(kept[start:end]):
                self.text = self.text[:start] + kept[start:end] + self.text[end:]

    def _times(self) -> None:
        for values, start, end in list(find_times(self.text)):
            known = any(not values.isdisjoint((*one.times, f"{one.said_at:%H:%M}")) for one in self.evidence)
            if not known and not self._has(self.text[start:end]):
                self._missing(self.text[start:end])
            self._blank(start, end)

    def _numbers(self) -> None:
        for one in list(find_quantities(self.text)):
            if not _is_counted(one, self.evidence):
                self._missing(self.text[one.start : one.end])
            self._blank(one.start, one.end)
            self.proved += 1

    def _chunks(self) -> None:
        for match in list(_CHUNK.finditer(self.text)):
            for piece in self._unproved(match.group()):
                self._missing(piece)

    def _unproved(self, chunk: str, depth: int = 0) -> Iterator[str]:
        """Pieces of a chunk that are no plain words and stand nowhere in the sources."""
        core = chunk.strip(_OUTER).rstrip(".…-").lstrip("-")
        bare = _RUN.sub("", core)
        if not bare or _PLAIN.fullmatch(bare) or not any(one.isalnum() for one in bare):
            return
        if (
            self._has(core)
            or self._has(chunk)
            or flat(core) in _ABBREVIATED
            or _is_known_word(fold(core), self.evidence)
        ):
            return
        if _HYPHENATED.fullmatch(core) or _SLASHED.fullmatch(core):
            yield from () if _is_compound(core, self.evidence) else (core,)
        elif match := _RANGE.fullmatch(core):
            ends = [next(find_quantities(end), None) for end in match.groups()]
            if not all(end is not None and _is_counted(end, self.evidence) for end in ends):
                yield core
        elif match := _JOINED.fullmatch(core):
            joined = r"[\s-]?".join(re.escape(flat(part)) for part in match.groups() if part)
            if not any(re.search(rf"(?<!\w){joined}(?!\w|\.\d)", one.folded) for one in self.evidence):
                yield core
        elif depth < 4 and len(parts := [part for part in _SPLIT.split(core) if part]) > 1:
            for part in parts:
                yield from self._unproved(part, depth + 1)
        elif is_cased(bare) or any(one.isdigit() for one in bare):
            yield core

    def _unspaced(self) -> None:
        """Scripts without blanks: every character stands beside a neighbour as it does in a source."""
        for match in _RUN.finditer(fold(self.text)):
            for piece in _unknown(match.group(), self.evidence):
                self._missing(piece)

    def _other_scripts(self) -> None:
        for word in words(_RUN.sub(" ", self.text)):
            if not is_cased(word) and not word[0].isdigit() and not _in_other_script(word, self.evidence):
                self._missing(word)

    def _names(self, undated: str) -> None:
        """Words with a capital, and pairs of them: the first name of one person is not that of another."""
        before: tuple[str, int] | None = None
        for match in _PLAIN.finditer(self.text):
            word, folded = match.group(), _name_form(match.group())
            if not is_cased(word):
                before = None
                continue
            opens = _opens(undated, match.start())
            if not _is_borne_out(word, folded, opens, self.evidence):
                self._missing(word)
            capital = word[0].isupper() and not (opens and folded in _ORDINARY)
            if capital and before and before[1] + 1 == match.start() and not self._beside(before[0], folded):
                self.faults.append(f"`{before[0]} {folded}` do not stand together in the messages it cites")
            before = (folded, match.end()) if capital and folded not in _NO_NAMES else None

    def _beside(self, one: str, other: str) -> bool:
        """Whether two capitalised words stand side by side in a source, or one of them is an ordinary word there."""
        return any(
            (one, other) in source.pairs or one in source.small or other in source.small for source in self.evidence
        ) or not all(any(word in source.words for source in self.evidence) for word in (one, other))


def _name_form(word: str) -> str:
    found = words(word)
    return found[0] if len(found) == 1 else fold(word)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence, or what looks like one, begins there."""
    before = text[:start].rstrip()
    return not before or before[-1] in _OPENS


def _is_counted(one: Quantity, evidence: Sequence[Evidence]) -> bool:
    """Whether the number is in a source, measured in the same unit and counting the same."""
    same = [found for source in evidence for found in source.quantities if not found.values.isdisjoint(one.values)]
    if not same:
        # The 123 of PROJ-123 may be called issue 123, and last year by its number, but neither measures anything.
        years = {str(period.first.year) for period in all_days(evidence)}
        known = any(not source.inner_numbers.isdisjoint(one.values) for source in evidence)
        return one.unit is None and (known or not years.isdisjoint(one.values))
    if one.unit is not None and all(found.unit not in (None, one.unit) for found in same):
        return False
    for word in one.counted[:2]:
        if word in _counts_nothing() or word.isdigit():
            continue
        others = [found for source in evidence for found in source.quantities if word in found.counted]
        if others and not any(word in found.counted for found in same):
            return False
    return True


@lru_cache(maxsize=1)
def _counts_nothing() -> frozenset[str]:
    """Stems of words that may follow a number without being what it counts."""
    return frozenset(stem(word) for word in (*STOP_WORDS, *REPORTING))


def _is_borne_out(word: str, folded: str, opens: bool, evidence: Sequence[Evidence]) -> bool:
    """Whether a word of a script with capitals needs no proof, or has one."""
    if not word[0].isupper() and not _is_marked(word):
        return folded not in KNOWN_TOOLS or _is_known_word(folded, evidence)
    if folded in ROLES or folded in ("i", "i'm", "i've", "i'd", "i'll"):
        return True
    if _is_known_word(folded, evidence):
        return True
    if match := _ELIDED.fullmatch(folded):
        return match[1] in ROLES or _is_known_word(match[1], evidence)
    if (number := WEEKDAYS.get(folded)) is not None:
        return any(number in source.weekdays for source in evidence)
    if (month := MONTHS.get(folded)) is not None and not (opens and folded in ("may", "march", "mars")):
        return any(one.first.month <= month <= one.last.month for one in all_days(evidence))
    if not opens or _is_marked(word) or folded in GIVEN_NAMES:
        return False
    return (
        folded in _ORDINARY
        or _DERIVED.fullmatch(folded) is not None
        or background_frequency(folded) > 0.01
        or any(stem(folded) in source.stems for source in evidence)
    )


def _is_marked(word: str) -> bool:
    """Whether capitals inside make it a name or a code, wherever it stands."""
    return any(one.isupper() for one in word[1:])


def _is_known_word(folded: str, evidence: Sequence[Evidence]) -> bool:
    """Whether a source has the word, in another spelling, its plural, its genitive, or another case."""
    forms = {folded, SAME.get(folded, folded)}
    if folded.isascii() and len(folded) > 3:
        forms |= {folded + "s"} | ({folded[:-1]} if folded.endswith("s") else set())
    for source in evidence:
        if not source.words.isdisjoint(forms):
            return True
        if SAME.get(folded) is not None and any(SAME.get(word) == SAME[folded] for word in source.words):
            return True
        if not folded.isascii() and any(
            same_inflected(folded, other) for other in source.inflected.get(folded[:3], ())
        ):
            return True
    return False


def _in_other_script(word: str, evidence: Sequence[Evidence]) -> bool:
    """Whether a word of a script without capitals, but with blanks, was said, or belongs to reporting."""
    forms = bare_forms(word)
    return any(is_noted(form) for form in forms) or any(not source.bare.isdisjoint(forms) for source in evidence)


def _is_compound(core: str, evidence: Sequence[Evidence]) -> bool:
    """Whether the parts of `long-term` or `client/server` are words of the sources, or ordinary ones."""
    parts = [_name_form(part) for part in re.split(r"['&+/-]+", core) if part]
    return all(
        part in _ORDINARY
        or background_frequency(part) > 0.01
        or any(stem(part) in source.stems for source in evidence)
        or len(part) == 1
        for part in parts
    )


def _unknown(run: str, evidence: Sequence[Evidence]) -> Iterator[str]:
    """Pieces of a run of characters that no source has."""
    if len(run) == 1:
        if not is_noted(run) and not any(run in source.folded for source in evidence):
            yield run
        return
    known = [False] * len(run)
    texts = [fold(source.folded) for source in evidence]
    for place in range(len(run) - 1):
        if any(run[place : place + 2] in text for text in texts):
            known[place] = known[place + 1] = True
    place = 0
    while place < len(run):
        end = longest_noted(run, place)
        # A word of reporting is one only where it does not break into what was said.
        if end - place > 1 or (end > place and not known[place]):
            known[place:end] = [True] * (end - place)
        place = max(end, place + 1)
    for match in _OKURIGANA.finditer(run):
        if known[match.start() - 1]:
            known[match.start() : match.end()] = [True] * len(match.group())
    start = None
    for place, is_known in enumerate((*known, True)):
        if not is_known and start is None:
            start = place
        elif is_known and start is not None:
            yield run[start:place]
            start = None


def borrowed(text: str, own: Sequence[Evidence], others: Sequence[Evidence]) -> tuple[str, ...]:
    """Words of a text, apart from those of reporting, that only the others have said."""
    return tuple(
        word
        for word in _telling(words(plain(text)))
        if any(source.has_like(word) for source in others) and not any(source.has_like(word) for source in own)
    )


def _telling(found: Sequence[str]) -> dict[str, float]:
    """Words that say something, and how much; those of reporting and numbers do not count."""
    return {
        word: weight
        for word in dict.fromkeys(found)
        if word not in REPORTING and not any(one.isdigit() for one in word)
        for weight in weigh_terms(word).values()
    }


def _is_grounded(undated: str, proved: int, evidence: Sequence[Evidence]) -> bool:
    """Whether enough of what the line says is in the sources' own words."""
    found = words(undated)
    if not any(is_cased(word) for word in found):
        return True
    telling = _telling(found)
    whole = sum(telling.values()) + proved
    shared = sum(weight for word, weight in telling.items() if any(source.has_like(word) for source in evidence))
    return whole < 1 or shared + proved >= LEAST_SHARED * whole
