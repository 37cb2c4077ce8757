"""The vectors of a scope: float32 rows in blocks, so that growing never copies more than one block."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BLOCK = 8192


def decode_vectors(blobs: Sequence[bytes | None], dimensions: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Decode float16 blobs to rows and say which rows have no vector (None, or all zero).

    Raises ValueError when a blob has other than `dimensions` numbers.
    """
    size = 2 * dimensions
    empty = bytes(size)
    filled = [empty if blob is None else blob for blob in blobs]
    if any(length != size for length in set(map(len, filled))):
        raise ValueError(f"a stored vector does not have {dimensions} dimensions")
    vectors = np.frombuffer(b"".join(filled), "<f2").reshape(len(blobs), dimensions).astype(np.float32)
    return vectors, np.logical_not(vectors.any(axis=1))


class VectorBlocks:
    """Rows of vectors in blocks of 8,192; the last block doubles until it is full."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._blocks: list[NDArray[np.float32]] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self._blocks)

    def append(self, vectors: NDArray[np.float32]) -> None:
        """Add rows after the last one."""
        done = 0
        while done < len(vectors):
            room, used = self._last(len(vectors) - done)
            step = min(len(room) - used, len(vectors) - done)
            room[used : used + step] = vectors[done : done + step]
            done += step
            self._size += step

    def dot(self, query: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Multiply every row with a vector, into as many elements; raises ValueError when it has another length."""
        if len(query) != self.dimensions:
            raise ValueError(f"the query's vector does not have {self.dimensions} dimensions")
        for number, block in enumerate(self._blocks):
            start = number * _BLOCK
            rows = min(self._size - start, _BLOCK)
            np.dot(block[:rows], query, out=out[start : start + rows])

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Copy some rows, in the order given."""
        taken = np.empty((len(rows), self.dimensions), np.float32)
        for at, row in enumerate(rows.tolist()):
            taken[at] = self._blocks[row // _BLOCK][row % _BLOCK]
        return taken

    def keep(self, kept: NDArray[np.int64]) -> None:
        """Keep these rows, given in ascending order, and drop the others."""
        old, self._blocks, self._size = self._blocks, [], 0
        edges = np.searchsorted(kept, np.arange(len(old) + 1) * _BLOCK)
        for number, block in enumerate(old):
            inside = kept[edges[number] : edges[number + 1]] - number * _BLOCK
            self.append(block[inside])

    def _last(self, wanted: int) -> tuple[NDArray[np.float32], int]:
        """Give a block with room for at least one more row, and how many rows it has."""
        used = self._size % _BLOCK
        if not used and len(self._blocks) * _BLOCK == self._size:
            self._blocks.append(np.empty((min(wanted, _BLOCK), self.dimensions), np.float32))
        last = self._blocks[-1]
        if used == len(last):
            grown = np.empty((min(max(2 * used, used + wanted), _BLOCK), self.dimensions), np.float32)
            grown[:used] = last
            self._blocks[-1] = last = grown
        return last, used
