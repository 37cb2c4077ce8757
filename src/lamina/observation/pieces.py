"""Cuts what was said into clauses, and leaves out what nobody needs again: greetings, fillers, code, quoted mail.

A clause is a run of the message's own words. Clauses that stood side by side are put together again as they were.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.graph.sentences import split_sentences
from lamina.observation.phrases import GREETING, INTERJECTIONS

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•‣][ \t]+|\d{1,3}[.)][ \t]+|\|[ \t]*)+", re.MULTILINE)
_BULK = re.compile(
    r"^[ \t]*(?:>.*|[|+=_*~-]{3,}.*|[{}\[\]();,]+|\"?[\w.-]+\"?\s*[:=]\s*[\[{\"].*|at\s+\S+\(.*|File \".*)$"
)
_PROSE = re.compile(r"[^\W\d_]{2,}")
_SUBJECT = r"(?:(?:i|we|it|they|he|she|you|that)(?:['’]\w+)?|this|there)"
_CUT = re.compile(
    r"\s+[-–—]+\s+|—|;\s+|:\s+(?=[A-ZÀ-Þa-z])|\s*[。；]\s*"
    r"|,\s+(?=(?:but|because|'cause|which|though|although|while|whereas|aber|weil|sodass|während|mais|parce|pero|porque)\b)"
    rf"|,\s+(?=(?:(?:and|so|plus)\s+)?{_SUBJECT}\s)|\s+(?=(?:because|'cause|although|though|whereas)\s)"
    rf"|\s+(?=and\s+{_SUBJECT}\s)|，(?=但|所以|因为|因為|而且)|、(?=しかし|でも)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"([^\W\d_]+(?:['’][^\W\d_]+)?)([^\w\s'’\"“«(\[]*)(?:\s+|$)")
_NAME = re.compile(r"[A-ZÀ-Þ][^\W\d_]+")
_ASIDE = re.compile(
    r"(?:(?:by\s+the\s+way|btw|fyi|to\s+be\s+honest|you\s+know(?:\s+what)?|i\s+mean|on\s+(?:an|the)other\s+(?:note|hand)"
    r"|in\s+the\s+meantime|as\s+you\s+know|long\s+story\s+short|believe\s+it\s+or\s+not|speaking\s+of\s+which"
    r"|since\s+we\s+(?:last\s+)?(?:spoke|chatted|talked)(?:\s+last)?|guess\s+what|i\s+(?:have\s+to|gotta|must)\s+say"
    r"|i\s+(?:just\s+)?wanted\s+to\s+(?:tell\s+you|let\s+you\s+know|say|share)(?:\s+that|\s+about)?"
    r"|i['’]m\s+(?:so\s+|really\s+|super\s+)?(?:excited|happy|glad|thrilled|pleased)\s+to\s+(?:tell\s+you|say|share|announce)"
    r"(?:\s+that)?|übrigens|ehrlich\s+gesagt|au\s+fait|por\s+cierto)\b[\s,:!-]*)+(?=\S+\s+\S)",
    re.IGNORECASE,
)
_JOINER = re.compile(r"^(?:and|but|so|plus|also|und|aber|et|mais|y|pero)\s+(?=\S+\s+\S)", re.IGNORECASE)
_LEAST_WORDS = 4
_WHEN = re.compile(r"\b(?:last|next|yesterday|today|tonight|tomorrow|gestern|heute|morgen|hier|ayer)\b", re.IGNORECASE)
LONGEST_CLAUSE = 400
"""Characters of a clause at most; a longer one is cut at a blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A run of words of one sentence: `text[start:end]`, the `number`-th."""

    text: str
    start: int
    end: int
    number: int

    def __str__(self) -> str:
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence, and the clauses of it that say something."""

    text: str
    place: int
    clauses: tuple[Clause, ...]

    @property
    def is_question(self) -> bool:
        """Whether it asks."""
        return self.text.rstrip("\"'”’)] ").endswith(("?", "？", "؟"))


def read_sentences(content: str) -> list[Sentence]:
    """The sentences of a message, without code, quotations, data and greetings."""
    found: list[Sentence] = []
    for text in _sentences(content):
        if GREETING.match(text):
            continue
        start = _start(text)
        clauses = tuple(
            Clause(text=text, start=first, end=last, number=number)
            for number, (first, last) in enumerate(_clauses(text, start))
            if _says_something(text, first, last)
        )
        if clauses:
            found.append(Sentence(text=text, place=len(found), clauses=clauses))
    return found


def join_clauses(clauses: Sequence[Clause]) -> str:
    """Clauses of one sentence as they were said; what was left out between two of them is marked."""
    spans: list[tuple[int, int]] = []
    number = -1
    for one in clauses:
        if spans and one.number == number + 1:
            spans[-1] = (spans[-1][0], one.end)
        else:
            spans.append((one.start, one.end))
        number = one.number
    text = clauses[0].text
    return " … ".join(_tidy(text[start:end]) for start, end in spans)


def _sentences(content: str) -> Iterator[str]:
    prose = _FENCE.sub("\n", content) if "```" in content or "~~~" in content else content
    lines = [line for line in prose.splitlines() if _PROSE.search(line) and not _BULK.match(line)]
    waiting = ""
    for sentence in split_sentences(_MARKUP.sub("", "\n".join(lines))):
        # A dash in a sentence may look like the beginning of an item in a list.
        if sentence.endswith((" -", " –", " —")) and len(waiting) < LONGEST_CLAUSE:
            waiting += f"{sentence} "
        else:
            yield waiting + sentence
            waiting = ""
    if waiting:
        yield waiting.rstrip(" -–—")


def _start(sentence: str) -> int:
    """Where the sentence begins to say something: behind interjections, the name of who is spoken to, and asides."""
    start, addressed = 0, False
    while match := _LEAD.match(sentence, start):
        word, sign = match[1], match[2]
        if word.lower() in INTERJECTIONS and (sign or addressed or start or word.lower() not in _STARTS):
            addressed = True
        elif not (addressed and sign and _NAME.fullmatch(word)):
            break
        start = match.end()
    if match := _ASIDE.match(sentence[start:]):
        start += match.end()
    return start


_STARTS = frozenset(
    {
        "so",
        "well",
        "plus",
        "right",
        "sure",
        "please",
        "great",
        "nice",
        "good",
        "cool",
        "perfect",
        "true",
        "sounds",
        "amazing",
        "awesome",
        "fine",
        "man",
        "dude",
        "thank",
        "also",
        "na",
        "si",
        "super",
        "bien",
    }
)


def _clauses(text: str, start: int) -> Iterator[tuple[int, int]]:
    if text[start : start + 1] in ("[", "(", "（", "【"):  # an aside stays whole
        yield from _bounded(text, start, len(text))
        return
    for match in _CUT.finditer(text, start):
        # A few words before a cut belong to what comes after them: "Last week was wild - I got a medal".
        before = text[start : match.start()]
        if before.rfind("[") > before.rfind("]"):
            continue
        least = _LEAST_WORDS + 2 if _WHEN.search(before) else _LEAST_WORDS
        if len(before.split()) >= least or not text[match.start()].isascii():
            yield from _bounded(text, start, match.start())
            start = match.end()
    yield from _bounded(text, start, len(text))


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST_CLAUSE:
        cut = text.rfind(" ", start + LONGEST_CLAUSE // 2, start + LONGEST_CLAUSE)
        cut = start + LONGEST_CLAUSE if cut < 0 else cut
        yield start, cut
        start = cut
    while start < end and text[start].isspace():
        start += 1
    yield start, end


def _says_something(text: str, start: int, end: int) -> bool:
    return any(char.isalnum() for char in text[start:end])


def _tidy(text: str) -> str:
    return _JOINER.sub("", text.strip()).rstrip(".!,;:…。！-–— ").strip()
