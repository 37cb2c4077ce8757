"""What changed between two texts, word by word. Pure: what is shown of it is up to the pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Change = Literal["same", "removed", "added"]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text that is in both, only in the old one, or only in the new one."""

    change: Change
    text: str


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """The pieces of both texts, in order. Texts too long to compare by words are compared by lines."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > _MOST_WORDS:
        before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    pieces: list[Piece] = []
    for change, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if change == "equal":
            pieces.append(_piece("same", before[start:end]))
            continue
        if end > start:
            pieces.append(_piece("removed", before[start:end]))
        if to > from_:
            pieces.append(_piece("added", after[from_:to]))
    return tuple(pieces)


def _piece(change: Change, words: Sequence[str]) -> Piece:
    return Piece(change=change, text="".join(words))
