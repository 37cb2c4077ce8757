"""A query, analysed once and ranked against any number of scopes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.index.common_words import background_frequency, is_stop_word
from lamina.index.terms import name_key, term_key, words

_LONGEST_NAME = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Distinct terms in order of appearance with their weights and background frequencies, names, and the vector."""

    terms: tuple[int, ...]
    weights: NDArray[np.float32]
    priors: NDArray[np.float32]
    names: NDArray[np.int64]
    vector: NDArray[np.float32] | None


def prepare_query(text: str, vector: NDArray[np.float32] | None) -> Query:
    """Analyse a query; a vector is brought to length one, and an all-zero one counts as none."""
    found = words(text)
    counted: dict[int, str] = {}
    for word in found:
        counted.setdefault(term_key(word), word)
    content = [key for key, word in counted.items() if not is_stop_word(word)]
    # A query of nothing but stop words ("who is it?") has only them to go by.
    terms = tuple(content or counted)
    priors = np.array([background_frequency(counted[key]) for key in terms], np.float32)
    return Query(
        terms=terms,
        weights=np.ones(len(terms), np.float32),
        priors=priors,
        names=_names(found),
        vector=_unit(vector),
    )


def _names(found: list[str]) -> NDArray[np.int64]:
    """Hash every run of up to three words: any of them may be the name of an author."""
    runs = {
        " ".join(found[start : start + length])
        for length in range(1, _LONGEST_NAME + 1)
        for start in range(len(found) - length + 1)
    }
    return np.sort(np.fromiter((name_key(run) for run in runs if not is_stop_word(run)), np.int64))


def _unit(vector: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if vector is None:
        return None
    flat = np.ascontiguousarray(vector, np.float32).ravel()
    norm = float(np.linalg.norm(flat))
    return flat / np.float32(norm) if norm > 0 and np.isfinite(norm) else None
