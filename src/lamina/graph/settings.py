"""The knobs of the graph."""

from dataclasses import dataclass
from typing import Literal

from lamina.kernel.buffer import BufferSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSettings:
    """Whether there is a graph, how it is fed, and how far walks through it go."""

    enabled: bool = False
    """Whether saved texts are read into the graph and the graph is asked; off, it costs nothing."""
    extraction: Literal["rules", "model"] = "rules"
    """Who reads names and relations: `rules`, without a model, or the `model` of the section llm, a call a text."""
    queue_size: int = 1024
    """Saved texts that may wait to be read; more are dropped, counted, and found again by a back-fill."""
    batch_size: int = 64
    """Texts read and stored at once."""
    delay_s: float = 0.5
    """Seconds a text waits for company before it is read."""
    backfill_interval_s: float = 300.0
    """Seconds between two looks for texts that were missed, after a start, a drop or a failure; 0 never looks."""
    depth: int = 2
    """Steps of a walk or an expansion that names no depth."""
    max_depth: int = 6
    """The most steps a caller may ask for."""
    limit: int = 50
    """Triples or entities of an answer that names no limit."""
    max_limit: int = 500
    """The largest limit accepted."""
    fanout: int = 50
    """Triples looked at beside one entity, each way; the best and newest."""
    expand_entities: int = 32
    """Entities an expansion comes to at most; each costs a little time."""
    expand_fanout: int = 12
    """Triples and texts an expansion looks at beside one entity."""
    expand_triples: int = 10
    """Triples an expansion adds to a prompt at most."""
    expand_texts: int = 5
    """Texts an expansion adds to a prompt at most."""
    expand_tokens: int = 800
    """Tokens an expansion may take; 0 is unlimited."""

    def __post_init__(self) -> None:
        _ = self.buffer
        for name in ("depth", "max_depth", "limit", "max_limit", "fanout", "expand_entities", "expand_fanout"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.depth > self.max_depth or self.limit > self.max_limit:
            raise ValueError("depth and limit must not be above max_depth and max_limit")
        for name in ("expand_triples", "expand_texts", "expand_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")

    @property
    def needs_model(self) -> bool:
        """Whether a chat model is to read the texts."""
        return self.enabled and self.extraction == "model"

    @property
    def buffer(self) -> BufferSettings:
        """What the buffer is told."""
        return BufferSettings(
            queue_size=self.queue_size,
            batch_size=self.batch_size,
            delay_s=self.delay_s,
            backfill_interval_s=self.backfill_interval_s,
        )
