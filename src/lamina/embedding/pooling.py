"""How the vectors of a text's tokens become one vector."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina.embedding.families import TokenPooling
from lamina.embedding.settings import Pooling
from lamina.errors import ConfigurationError

ResolvedPooling = TokenPooling | Literal["none"]

POOLED_OUTPUT: Final = "sentence_embedding"
"""The name exporters give to an output that is already one vector per text."""


def choose_output(outputs: Sequence[tuple[str, int]], pooling: Pooling) -> str:
    """Which of a model's outputs, given as name and rank (0 where unknown), the pooling works on.

    The second output of a BERT is a classifier's input, not a sentence vector: `auto` never takes it.
    """
    names = [name for name, _ in outputs]
    if pooling in ("auto", "none") and POOLED_OUTPUT in names:
        return POOLED_OUTPUT
    wanted = {"auto": 0, "none": 2}.get(pooling, 3)
    return next((name for name, rank in outputs if rank == wanted and wanted), names[0])


def resolve_pooling(asked: Pooling, *, token_pooling: TokenPooling, rank: int) -> ResolvedPooling:
    """What is done to an output of this rank; raises ConfigurationError when the request does not fit it."""
    if rank == 2:
        if asked in ("auto", "none"):
            return "none"
        raise ConfigurationError("The model pools by itself: set pooling to auto or none.")
    if rank != 3 or asked == "none":
        raise ConfigurationError(
            f"The model's output has {rank} axes, which pooling {asked!r} cannot make one vector of."
        )
    return token_pooling if asked == "auto" else asked


def pool(output: NDArray[np.floating], mask: NDArray[np.int64], pooling: ResolvedPooling) -> NDArray[np.float32]:
    """One row per text from an output of texts × tokens × numbers; `mask` is 1 for tokens, 0 for padding.

    Padding stands on the right. With `none` the output has one row per text already.
    """
    exact = output.astype(np.float32, copy=False)
    if pooling == "none":
        return exact
    lengths = mask.sum(axis=1)
    rows: NDArray[np.float32]
    if pooling == "mean":
        rows = np.einsum("tij,ti->tj", exact, (mask / lengths[:, None]).astype(np.float32))
    else:
        token = lengths - 1 if pooling == "last" else np.zeros_like(lengths)
        rows = exact[np.arange(len(exact)), token]
    return rows
