"""How well words fit: pure functions, the same for an index in memory and for a scan."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.postings import demand, strength

Floats = NDArray[np.float32]

_BACKGROUND_SIZE = 20.0
_LEAST_RARITY = 0.01
_GROWN_SIZE = 300.0
_CONVERSATION_LENGTH_SHARE = 0.75
_SHORT_QUERY = 6
_BEND = 1.25  # its square is exact, so that nothing stays nothing


def rarity(frequencies: Floats, sizes: Sequence[int], priors: Floats) -> Floats:
    """Give the weights of terms, a row for each scope: they are found in `frequencies` of its `sizes` entries.

    What counts is how often a term occurs in the *other* entries: the one that is looked at proves nothing. A scope of
    three entries says little about that, so a background of twenty imagined entries, in which a term occurs with
    its prior probability, is counted in; a large scope knows more about rare words than the prior does.
    """
    rest = [max(size - 1, 0) for size in sizes]
    unseen = [0.5 * other / (other + _GROWN_SIZE) for other in rest]
    whole = [other + _BACKGROUND_SIZE + more for other, more in zip(rest, unseen, strict=True)]
    others = np.maximum(frequencies - 1, 0)
    others += np.float32(_BACKGROUND_SIZE) * priors
    others += np.array(unseen, np.float32)[:, np.newaxis]
    np.divide(np.array(whole, np.float32)[:, np.newaxis], others, out=others)
    weights: Floats = np.log(others, out=others)
    return np.maximum(weights, np.float32(_LEAST_RARITY), out=weights)


def sums(places: NDArray[np.integer], values: NDArray[np.generic], size: int) -> NDArray[np.float64]:
    """Add up values by place, in their order, so that equal content gives equal sums."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)


def per_best(weights: Floats) -> float:
    """Give what sums of weighted impacts are multiplied with, so that a text with every term has 1.

    Unknown terms count in full. Of a long query nobody expects to find every word, so beyond six terms the demand
    grows with the square root of their number.
    """
    best = math.fsum(weights.tolist()) * min(1.0, math.sqrt(_SHORT_QUERY / max(len(weights), 1)))
    return 1 / best if best > 0 else 0.0


def shares(parts: NDArray[np.float64]) -> Floats:
    """Bend shares of what a text with every term would have: sums of weighted impacts times `per_best`.

    Texts that repeat words could have more than is asked for; it counts as everything. A small share is often an
    accident (one everyday word of the question) and counts a little less than itself.
    """
    part = parts.astype(np.float32)
    np.minimum(part, 1, out=part)
    # ((s + b)² - b²) / (1 + 2b) leaves 0 and 1 where they are; in place, a large scope needs no second array.
    part += np.float32(_BEND)
    np.square(part, out=part)
    part -= np.float32(_BEND**2)
    part *= np.float32(1 / (1 + 2 * _BEND))
    return part


class Talks(NamedTuple):
    """What is the same for every query of a scope: which conversations there are, and what their lengths ask for."""

    living: NDArray[np.bool_]
    demand: Floats

    @classmethod
    def of(cls, words: NDArray[np.float64]) -> "Talks | None":
        """Those of conversations with so many words; number 0 is no conversation. None where there are none."""
        living = words > 0
        living[0] = False
        if not living.any():
            return None
        pivot = float(words[living].mean())
        return cls(living, demand(words.astype(np.float32), pivot, _CONVERSATION_LENGTH_SHARE))


def conversation_scores(spoken: NDArray[np.float64], talks: Talks, weights: Floats) -> Floats:
    """Score whole conversations: `spoken[t, c]` counts term t in conversation c.

    Only differences count, from the least fitting conversation up: when there is one conversation, everything was
    said in it, and that says nothing about any entry. Number 0 is no conversation and scores nothing.
    """
    impacts = strength(np.minimum(spoken, 255).astype(np.float32), talks.demand)
    impacts *= weights[:, np.newaxis]
    # Row after row, so that the sum of a conversation does not depend on how many others there are.
    scores = shares(np.add.reduce(impacts, axis=0, dtype=np.float64) * per_best(weights))
    scores -= scores[talks.living].min()
    np.maximum(scores, 0, out=scores)
    scores[0] = 0
    return scores
