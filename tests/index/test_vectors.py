import numpy as np
import pytest
from numpy.typing import NDArray

from lamina.index import vectors
from lamina.index.vectors import VectorBlocks, decode_vectors


def products(blocks: VectorBlocks, query: NDArray[np.float32]) -> list[float]:
    out = np.zeros(len(blocks), np.float32)
    blocks.dot(query, out)
    return out.tolist()


def test_blocks_multiply_like_one_matrix_however_they_grew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 8)
    matrix = np.arange(120, dtype=np.float32).reshape(40, 3)
    query = np.array([1.0, 2.0, 0.5], np.float32)
    blocks = VectorBlocks(3)
    for start, end in [(0, 1), (1, 3), (3, 20), (20, 20), (20, 24), (24, 40)]:
        blocks.append(matrix[start:end])
    assert products(blocks, query) == (matrix @ query).tolist()
    kept = np.array([0, 1, 7, 8, 23, 30, 39])
    blocks.keep(kept)
    assert products(blocks, query) == (matrix[kept] @ query).tolist()
    blocks.append(matrix[:5])
    assert products(blocks, query) == (matrix[[*kept, 0, 1, 2, 3, 4]] @ query).tolist()


def test_a_query_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="3 dimensions"):
        VectorBlocks(3).dot(np.ones(2, np.float32), np.zeros(0, np.float32))


def test_missing_and_empty_vectors_are_told_apart_from_real_ones() -> None:
    real = np.array([1.0, 0.0], "<f2").tobytes()
    rows, missing = decode_vectors([real, None, bytes(4)], 2)
    assert rows.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert missing.tolist() == [False, True, True]


def test_blobs_that_only_together_have_the_right_size_are_refused() -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        decode_vectors([bytes(2), bytes(6)], 2)
