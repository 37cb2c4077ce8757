"""What every embedder around a model does: leave out what cannot be embedded, and give rows of length one.

`answered` is the gate for those that others write: nothing they answer is stored or compared before it passed.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.errors import EmbeddingFailedError

_TOLERANCE = 2e-3
"""How far the square of a length may be from one: half precision, in which vectors are stored, is no finer."""


def readable(text: str) -> str:
    """The text without lone surrogates, which neither JSON in UTF-8 nor a tokenizer accepts."""
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def embeddable(texts: Sequence[str], prefix: str) -> tuple[list[int], list[str]]:
    """The positions of the texts that say something, and those texts with the prefix before them."""
    positions: list[int] = []
    prefixed: list[str] = []
    for position, text in enumerate(texts):
        clean = readable(text)
        if clean.strip():
            positions.append(position)
            prefixed.append(prefix + clean)
    return positions, prefixed


def unit_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Each row divided by its length; raises EmbeddingFailedError for a row that has no direction.

    The lengths are taken in double precision, so that very large and very small numbers survive.
    """
    wide = rows.astype(np.float64)
    if not np.isfinite(wide).all():
        raise EmbeddingFailedError("The embedder gave a vector with numbers that are not finite.")
    scale = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    if not (scale > 0).all():
        raise EmbeddingFailedError("The embedder gave a vector of zeros for a text that is not empty.")
    wide /= scale
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    return wide.astype(np.float32)


def answered(name: str, answer: NDArray[np.float32], *, rows: int, dimensions: int) -> NDArray[np.float32]:
    """What the embedder `name` gave for so many texts, each row of length one or all zero.

    Raises EmbeddingFailedError for another number of rows or dimensions, and for numbers that are not finite.
    """
    if answer.shape != (rows, dimensions):
        raise EmbeddingFailedError(
            f"{name} answered {answer.shape} numbers instead of ({rows}, {dimensions}).", details={"embedder": name}
        )
    unit = np.abs(np.einsum("ij,ij->i", answer, answer) - 1.0) < _TOLERANCE
    if unit.all():
        return answer
    if not np.isfinite(answer).all():
        raise EmbeddingFailedError(f"{name} answered numbers that are not finite.", details={"embedder": name})
    other = ~unit & answer.any(axis=1)
    out = answer.astype(np.float32)
    out[other] = unit_rows(answer[other])
    return out


def placed(count: int, dimensions: int, positions: list[int], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """A matrix of `count` rows with the given rows at their positions and zeros elsewhere."""
    if len(positions) == count:
        return rows
    out = np.zeros((count, dimensions), dtype=np.float32)
    out[positions] = rows
    return out


def packed(sizes: Sequence[int], *, most: int, limit: int) -> Iterator[slice]:
    """Consecutive runs of at most `most` items whose sizes add up to at most `limit`.

    An item that is above the limit by itself makes a run of its own.
    """
    start = total = 0
    for position, size in enumerate(sizes):
        if position > start and (position - start >= most or total + size > limit):
            yield slice(start, position)
            start, total = position, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
