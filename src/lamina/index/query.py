"""A query, analysed once and ranked against any number of scopes."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamina.index.common_words import background_frequency, is_stop_word
from lamina.index.dates import DateSpan, find_dates
from lamina.index.terms import name_key, term_key, words

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
    terms, priors, names, dates = _analyse(text)
    return Query(terms=terms, priors=priors, names=names, dates=dates, vector=_unit(vector))


# Several rooms ask for the same question in one turn; the arrays are shared and therefore read only.
@lru_cache(maxsize=128)
def _analyse(
    text: str,
) -> tuple[NDArray[np.uint32], NDArray[np.float32], tuple[int, ...], tuple[DateSpan, ...]]:
    found = words(text)
    counted: dict[int, str] = {}
    for word in found:
        counted.setdefault(term_key(word), word)
    content = [key for key, word in counted.items() if not is_stop_word(word)]
    # A query of nothing but stop words ("who is it?") has only them to go by.
    chosen = content or list(counted)
    terms = np.array(chosen, np.uint32)
    priors = np.array([background_frequency(counted[key]) for key in chosen], np.float32)
    for shared in (terms, priors):
        shared.flags.writeable = False
    return terms, priors, _names(found), find_dates(text)


def _names(found: list[str]) -> tuple[int, ...]:
    """Hash every run of up to three words: any of them may be the name of an author."""
    runs = dict.fromkeys(
        " ".join(found[start : start + length])
        for start in range(len(found))
        if not is_stop_word(found[start])
        for length in range(1, min(_LONGEST_NAME, len(found) - start) + 1)
    )
    return tuple(name_key(run) for run in runs)


def _unit(vector: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if vector is None:
        return None
    flat = np.ascontiguousarray(vector, np.float32).ravel()
    norm = float(np.linalg.norm(flat))
    return flat / np.float32(norm) if norm > 0 and np.isfinite(norm) else None
