"""The knobs of the embedder."""

from dataclasses import dataclass
from typing import Literal

from lamina.kernel.buffer import BufferSettings

Pooling = Literal["auto", "mean", "cls", "last", "none"]
"""How token vectors become one; `auto` follows the model's folder, `none` is for one that pools itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """Which model turns text into vectors, and how it is called."""

    model: str = "static"
    """`static` (shipped, offline), `openai:MODEL`, `onnx:/path/to/folder` or `fastembed:NAME`."""
    base_url: str | None = None
    """The address of an OpenAI-compatible endpoint; unset means OpenAI's own."""
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; the key itself never stands in a configuration."""
    dimensions: int | None = None
    """The length of the vectors to ask for; unset means the model's own."""
    batch_size: int = 128
    """Texts in one request at most."""
    timeout_s: float = 30.0
    """Seconds one request may take."""
    query_prefix: str | None = None
    """Text put before a question; unset means what the model is known to need."""
    document_prefix: str | None = None
    """Text put before a document; unset means what the model is known to need."""
    pooling: Pooling = "auto"
    """How an onnx model's token vectors become one: `auto`, `mean`, `cls`, `last` or `none`."""
    max_tokens: int = 512
    """Tokens of a text that a local model reads at most."""
    queue_size: int = 1024
    """Saved knowledge, learnings and skills that may wait for their vectors; more are found again by a back-fill."""
    delay_s: float = 0.2
    """Seconds a saved text waits for company before its vector is asked for."""
    backfill_interval_s: float = 300.0
    """Seconds between two looks for texts without a vector; 0 never looks."""

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ValueError("model must not be empty")
        if self.dimensions is not None and self.dimensions < 1:
            raise ValueError("dimensions must be at least 1")
        if self.batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        if self.timeout_s <= 0:
            raise ValueError("timeout_s must be above 0")
        if self.max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")
        if self.queue_size < 1:
            raise ValueError("queue_size must be at least 1")
        _ = self.buffer

    @property
    def buffer(self) -> BufferSettings:
        """What the buffer of late vectors is told."""
        return BufferSettings(
            queue_size=self.queue_size,
            batch_size=min(self.batch_size, self.queue_size),
            delay_s=self.delay_s,
            backfill_interval_s=self.backfill_interval_s,
        )
