"""The knobs of learning, with the specification's defaults.

Whether anything is learned at all is `knowledge.enabled`, and how many new learnings a session may store is
`knowledge.max_learnings_per_session`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSettings:
    """From which confidence a fix is offered, and how much is kept."""

    confidence_threshold: float = 0.7
    """The confidence from which a fix is offered."""
    self_correction: bool = False
    """Hand the model a trusted fix, once, when a tool fails in an agent framework, so that it tries again."""
    audit_calls: bool = True
    """Leave a row in the audit log for every call of a wrapped tool; off: only what was learned leaves one."""
    trial_window_s: float = 600.0
    """Seconds after a fix was offered in which the tool's next call says whether it helped."""
    queue_capacity: int = 4096
    """Calls that may wait to be taken note of; more are dropped and counted."""
    search_limit: int = 5
    """Results of a search that names no limit."""
    list_limit: int = 50
    """Learnings of a page that names no limit."""
    max_limit: int = 100
    """The largest limit a search or a listing accepts."""
    threshold: float = 0.1
    """The calibrated relevance a search result needs, from 0 to 1."""
    max_text_length: int = 4_000
    """Characters of a trigger, a diagnosis or a fix at most; an error's own text is cut there."""
    max_query_length: int = 10_000
    """Characters of a query at most."""

    def __post_init__(self) -> None:
        for name in ("confidence_threshold", "threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        for name in ("queue_capacity", "max_limit", "max_text_length", "max_query_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("search_limit", "list_limit"):
            if not 1 <= getattr(self, name) <= self.max_limit:
                raise ValueError(f"{name} must be between 1 and max_limit")
        if self.trial_window_s < 0:
            raise ValueError("trial_window_s must not be negative")
