"""Reading answers, without a network."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.embedding.openai_wire import read_vectors
from lamina.errors import EmbeddingFailedError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["data", "index", "embedding", "error"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.permutations(range(5)))
def test_rows_follow_the_index_in_any_order(order: list[int]) -> None:
    data = [{"index": index, "embedding": [float(index), 1.0]} for index in order]
    rows = read_vectors(json.dumps({"data": data}).encode(), count=5)
    assert rows.tolist() == [[float(index), 1.0] for index in range(5)]


def test_rows_without_an_index_follow_their_position() -> None:
    body = json.dumps({"data": [{"embedding": [1, 2]}, {"embedding": [3, 4]}]}).encode()
    assert read_vectors(body, count=2).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("index", [True, 0.0, "0", None, -1, 1])
def test_an_index_that_is_not_a_position_is_refused(index: object) -> None:
    body = json.dumps({"data": [{"index": index, "embedding": [1.0]}]}).encode()
    with pytest.raises(EmbeddingFailedError, match="index"):
        read_vectors(body, count=1)


@given(JSON_VALUES, st.integers(min_value=1, max_value=3))
def test_any_json_is_read_or_refused_and_nothing_else(value: object, count: int) -> None:
    body = json.dumps({"data": value} if isinstance(value, list) else value).encode()
    try:
        rows = read_vectors(body, count=count)
    except EmbeddingFailedError:
        return
    assert rows.shape[0] == count
    assert rows.dtype == np.float64


@given(st.binary())
def test_any_bytes_are_read_or_refused_and_nothing_else(body: bytes) -> None:
    with pytest.raises(EmbeddingFailedError):
        read_vectors(body, count=1)
