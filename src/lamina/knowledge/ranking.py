"""How use and age shift what was found by its text. Pure.

A result's score is its text relevance times two mild factors, never above 1:

- `1 + relevance_weight · log(relevance) / log(ceiling)`: 1 for an entry at its starting score of 1, 15 percent
  more at the ceiling, about 21 percent less at the floor of 0.1;
- `1 + recency_weight · 2^(-age / half life)`: 5 percent more for an entry changed just now, 1 for a very old one.

So they decide between entries that fit about equally well, and never lift one over an entry that fits far better.
"""

import math
from datetime import datetime, timedelta

from lamina.knowledge.settings import KnowledgeSettings

_DAY = timedelta(days=1)


def lifted(
    score: float, *, relevance: float, updated_at: datetime, now: datetime, settings: KnowledgeSettings
) -> float:
    """The score of a result after use and age."""
    ceiling = math.log(settings.relevance_ceiling)
    bounded = min(max(relevance, settings.relevance_floor), settings.relevance_ceiling)
    use = 1 + settings.relevance_weight * (math.log(bounded) / ceiling if ceiling else 0.0)
    age = max(now - updated_at, timedelta(0)) / _DAY
    recency = 1 + settings.recency_weight * 2 ** (-age / settings.recency_half_life_days)
    return min(1.0, max(0.0, score * use) * recency)
