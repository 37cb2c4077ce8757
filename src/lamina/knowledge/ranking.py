"""How use and age shift what was found by its text. Pure.

A result's evidence, from its words and its vector, is multiplied by two mild factors and then becomes a score
within [0, 1] like every other search result (see `lamina.index.calibration`):

- `1 + relevance_weight · log(relevance) / log(ceiling)`: 1 for an entry at its starting score of 1, 15 percent
  more at the ceiling, about 21 percent less at the floor of 0.1;
- `1 + recency_weight · 2^(-age / half life)`: 5 percent more for an entry changed just now, 1 for a very old one.

So they decide between entries that fit about equally well, and never lift one over an entry that fits far better.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.index.calibration import relevance as relevance_of
from lamina.knowledge.settings import KnowledgeSettings

Floats = NDArray[np.float32]

_DAY_MICROS = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """Results after use and age, and what each of both added to the score; `order` has the best first."""

    order: NDArray[np.intp]
    scores: Floats
    use: Floats
    recency: Floats


def lifted(
    evidence: Floats, *, full: float, relevance: Floats, age_micros: NDArray[np.int64], settings: KnowledgeSettings
) -> Lift:
    """Results in text order, with their relevance scores and ages, as use and age have it.

    The score of the text alone, `use` and `recency` add up to the score. Equal results stay in text order.
    """
    ceiling = math.log(settings.relevance_ceiling) or 1.0
    bounded = np.clip(relevance, settings.relevance_floor, settings.relevance_ceiling)
    used = evidence * (1 + np.float32(settings.relevance_weight / ceiling) * np.log(bounded))
    np.maximum(used, 0, out=used)
    half_lives = np.maximum(age_micros, 0) / (_DAY_MICROS * settings.recency_half_life_days)
    aged = used * (1 + np.float32(settings.recency_weight) * np.exp2(-half_lives).astype(np.float32))
    by_text, by_use, scores = relevance_of(np.stack((evidence, used, aged)), full)
    return Lift(order=np.argsort(-aged, kind="stable"), scores=scores, use=by_use - by_text, recency=scores - by_use)
