"""The knobs of the embedder."""

from dataclasses import dataclass
from typing import Literal

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
