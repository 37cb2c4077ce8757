"""The knobs of knowledge, with the specification's defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSettings:
    """Whether knowledge is kept at all, how much of it, and how it is ranked."""

    enabled: bool = False
    """Keep, find and inject knowledge; off by default."""
    hide_secrets: bool = True
    """Hide passwords, tokens and keys in what is saved; e-mail addresses stay."""
    max_saves_per_session: int = 20
    """New keys a session may save; 0 is unlimited."""
    max_learnings_per_session: int = 10
    """New learnings a session may store; 0 is unlimited."""
    search_limit: int = 10
    """Results of a search that names no limit."""
    list_limit: int = 50
    """Entries of a page that names no limit."""
    max_limit: int = 100
    """The largest limit a search or a listing accepts."""
    threshold: float = 0.1
    """The calibrated relevance a result needs, from 0 to 1; low, because a few matching keywords are enough here."""
    max_content_length: int = 20_000
    """Characters of an entry's content at most."""
    max_query_length: int = 10_000
    """Characters of a query at most."""
    relevance_floor: float = 0.1
    """The lowest relevance score disuse leads to."""
    relevance_ceiling: float = 5.0
    """The highest relevance score use leads to."""
    relevance_boost: float = 0.05
    """What one use adds to the relevance score, which starts at 1."""
    relevance_weight: float = 0.15
    """How much the highest relevance score lifts a result: 0.15 is 15 percent; 0 ranks by the text alone."""
    recency_weight: float = 0.05
    """How much an entry changed just now is lifted over a very old one; 0 ranks by the text alone."""
    recency_half_life_days: float = 30.0
    """Days after which half of that lift is gone."""

    def __post_init__(self) -> None:
        for name in ("max_saves_per_session", "max_learnings_per_session"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative; 0 is unlimited")
        for name in ("max_content_length", "max_query_length", "max_limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("search_limit", "list_limit"):
            if not 1 <= getattr(self, name) <= self.max_limit:
                raise ValueError(f"{name} must be between 1 and max_limit")
        for name in ("threshold", "relevance_weight", "recency_weight"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        if not 0 < self.relevance_floor <= 1 <= self.relevance_ceiling:
            raise ValueError("relevance_floor and relevance_ceiling must enclose 1, and the floor must be above 0")
        if self.relevance_boost < 0:
            raise ValueError("relevance_boost must not be negative")
        if self.recency_half_life_days <= 0:
            raise ValueError("recency_half_life_days must be above 0")
