"""The embeddings protocol without the network: reading answers. Not for sending."""

import json

import numpy as np
from numpy.typing import NDArray

from lamina.errors import EmbeddingFailedError


def read_vectors(body: bytes, *, count: int) -> NDArray[np.float64]:
    """The vectors of an answer, one row per text in the order of the request.

    Rows are ordered by `index`; where no item has one, by position. Raises EmbeddingFailedError when the body
    is not an answer to a request of `count` texts.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise EmbeddingFailedError("The endpoint answered something that is not JSON.") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbeddingFailedError("The endpoint answered JSON that is not a list of embeddings.")
    if len(data) != count:
        raise EmbeddingFailedError(f"The endpoint gave {len(data)} embeddings for {count} texts.")
    indexes = [item.get("index", position) for position, item in enumerate(data)]
    if any(type(index) is not int for index in indexes) or sorted(indexes) != list(range(count)):
        raise EmbeddingFailedError("The endpoint's embeddings cannot be matched to the texts by index.")
    rows = [_numbers(item.get("embedding")) for item in data]
    if len({len(row) for row in rows}) > 1:
        raise EmbeddingFailedError("The endpoint gave embeddings of different lengths.")
    ordered = np.empty((count, len(rows[0]) if rows else 0), dtype=np.float64)
    ordered[indexes] = rows
    return ordered


def _numbers(value: object) -> NDArray[np.float64]:
    try:
        row = np.asarray(value)
    except ValueError:  # nested lists of uneven lengths
        row = np.empty(0)
    if row.ndim != 1 or row.size == 0 or row.dtype.kind not in "fiu":
        raise EmbeddingFailedError("The endpoint gave an embedding that is not a list of numbers.")
    return row.astype(np.float64)
