"""Cuts a text into sentences, well enough for names and statements, in time that grows with its length."""

import re
from collections.abc import Iterator

_END = re.compile(
    r"[.!?…]{1,8}[\"'”’)\]]{0,3}(?=\s)|[。！？｡]+[」』）]?|[\n\r\v\f\u2028\u2029]+|\s[-–—•*]\s(?=[A-ZÀ-Þ])"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-zÀ-ÿ]|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|z\.B|d\.h|bzw|ca|Nr|No|Fig|approx|Inc|Ltd|Co|Corp|M|Mme|Sra|Sr)\.$"
)
LONGEST = 2_000
"""Characters of a sentence at most; a longer one is cut at a blank."""


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without surrounding blanks."""
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith("."):
            before = text[max(start, match.end() - 12) : match.end()]
            after = text[match.end() : match.end() + 2].lstrip()
            if _ABBREVIATED.search(before) or after[:1].islower():
                continue
        yield from _bounded(text[start : match.end()])
        start = match.end()
    yield from _bounded(text[start:])


def _bounded(sentence: str) -> Iterator[str]:
    rest = sentence.strip()
    while len(rest) > LONGEST:
        cut = rest.rfind(" ", LONGEST // 2, LONGEST)
        cut = LONGEST if cut < 0 else cut
        yield rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
    if rest:
        yield rest
