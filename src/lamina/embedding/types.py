"""The port to embedding models. Not for ranking: what a cosine means is the business of `lamina.index`."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["query", "document"]
"""Some models embed a question differently from the text that answers it."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The stable identity stored with every vector, such as `static:lamina-256`; two embedders with the
        same name give the same vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, each of length one, or all zero where a text has nothing to embed.

        Raises EmbeddingFailedError, RateLimitedError, UnauthorizedError or OperationTimeoutError.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; further calls are not allowed."""
        ...
