"""A query, analysed once and ranked against any number of scopes."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamina.index.common_words import background_frequency, is_stop_word
from lamina.index.dates import DateSpan, find_dates
from lamina.index.terms import folded_name_key, term_key, words

_LONGEST_NAME = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Distinct terms in order of appearance with their background frequencies, possible names, dates, the vector."""

    terms: NDArray[np.uint32]
    priors: NDArray[np.float32]
    names: tuple[int, ...]
    dates: tuple[DateSpan, ...]
    vector: NDArray[np.float32] | None


def prepare_query(text: str, vector: NDArray[np.float32] | None) -> Query:
    """Analyse a query; a vector is brought to length one, and an all-zero one counts as none."""
    return replace(_analysed(text), vector=_unit(vector))


@lru_cache(maxsize=64)
def _analysed(text: str) -> Query:
    """Analyse the words; remembered, because one query is ranked against several scopes."""
    found = words(text)
    counted: dict[int, str] = {}
    for word in found:
        counted.setdefault(term_key(word), word)
    content = [key for key, word in counted.items() if not is_stop_word(word)]
    # A query of nothing but stop words ("who is it?") has only them to go by.
    chosen = content or list(counted)
    return Query(
        terms=np.array(chosen, np.uint32),
        priors=np.array([background_frequency(counted[key]) for key in chosen], np.float32),
        names=_names(found),
        dates=find_dates(text),
        vector=None,
    )


def _names(found: list[str]) -> tuple[int, ...]:
    """Hash every run of up to three words: any of them may be the name of an author."""
    runs = dict.fromkeys(
        " ".join(found[start : start + length])
        for start in range(len(found))
        if not is_stop_word(found[start])
        for length in range(1, min(_LONGEST_NAME, len(found) - start) + 1)
    )
    return tuple(map(folded_name_key, runs))


def _unit(vector: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if vector is None:
        return None
    flat = np.ascontiguousarray(vector, np.float32).ravel()
    norm = math.sqrt(float(flat @ flat))
    return flat / np.float32(norm) if 0 < norm < math.inf else None
