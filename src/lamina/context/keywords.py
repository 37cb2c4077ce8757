"""The words of a query that mean something, for every script.

A keyword is folded (case, accents) and carries no punctuation at its edges, except where that is its name: `C++`,
`.env`. Compounds stay whole (`dark-mode`, `config.yaml`). Keywords are data for whoever searches: none of them is ever
part of a query language, so `AND` and `NOT` are plain stop words.
"""

import re
import unicodedata
from functools import lru_cache

from lamina.index.common_words import is_stop_word
from lamina.index.terms import fold, words

MOST = 32
"""Keywords of a query at most: the first ones."""
_LONGEST = 64
# Words joined by one hyphen, underscore or dot, perhaps a file with a leading dot, C++ or C#.
_COMPOUND = re.compile(r"\.?[^\W_]+(?:[-_.][^\W_]+)+|\.[^\W\d_]\w*")
_EDGES = re.compile(r"^(?:(?!\.\w)[\W_])+|(?:[^\w+#]|_)+$")


@lru_cache(maxsize=64)
def extract_keywords(query: str) -> tuple[str, ...]:
    """The keywords of a query, distinct, in order of appearance; empty when there is nothing to search for.

    Remembered for a while, because several layers ask for those of one query.
    """
    found: dict[str, None] = {}
    for chunk in fold(query).split():
        for word in _split(chunk):
            if _means_something(word):
                found.setdefault(word)
                if len(found) == MOST:
                    return tuple(found)
    return tuple(found)


def _split(chunk: str) -> list[str]:
    if chunk.isascii() and chunk.isalnum():
        return [chunk] if len(chunk) <= _LONGEST else []
    bare = _EDGES.sub("", chunk)
    if len(bare) <= _LONGEST and _COMPOUND.fullmatch(bare):
        return [bare]
    return [word for word in words(bare) if len(word) <= _LONGEST]


def _means_something(word: str) -> bool:
    if len(word) < 2:
        # One letter says nothing; one ideograph is a word.
        return len(word) == 1 and unicodedata.name(word, "").startswith("CJK UNIFIED")
    return not is_stop_word(word)
