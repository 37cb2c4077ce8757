"""The knobs of conversations."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How long a message may be, and how much a listing or a recall gives."""

    max_message_length: int = 20_000_000
    """Characters of a message at most, its tool calls and results included."""
    max_parts: int = 1_000
    """Tool calls, results and attachments of one message at most."""
    max_query_length: int = 10_000
    """Characters of a query at most."""
    recall_limit: int = 10
    """Messages that a recall by words gives when it names no limit."""
    list_limit: int = 50
    """Sessions of a page, or messages of a stretch, that names no limit."""
    max_limit: int = 1_000
    """The largest limit a recall or a listing accepts."""
    threshold: float = 0.1
    """The calibrated relevance a recalled message needs, from 0 to 1; low, because a few of its words are enough."""
    recall_sessions: int = 50
    """Sessions of a user, the most recently used, that one recall over all of them looks into."""
    graph: bool = False
    """Read what people and the assistant say into the graph too, each session by itself; needs `graph.enabled`."""

    def __post_init__(self) -> None:
        for name in ("max_message_length", "max_parts", "max_query_length", "max_limit", "recall_sessions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("recall_limit", "list_limit"):
            if not 1 <= getattr(self, name) <= self.max_limit:
                raise ValueError(f"{name} must be between 1 and max_limit")
        if not 0 <= self.threshold <= 1:
            raise ValueError("threshold must be between 0 and 1")
