"""Reading answers and waits, without a network."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.embedding.openai_wire import Endpoint, Refusal, read_vectors, refusal_error, retry_after
from lamina.errors import EmbeddingFailedError, LaminaError

NOON = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sun, 01 Jun 2025 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Jun 2025 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 01 Jun 2025 11:00:00 GMT"}, 0.0),
        # The endpoint's clock is an hour ahead: what counts is its own date.
        ({"retry-after": "Sun, 01 Jun 2025 13:00:05 GMT", "date": "Sun, 01 Jun 2025 13:00:00 GMT"}, 5.0),
        ({"retry-after": "Sun, 01 Jun 2025 12:00:05 GMT", "date": "today"}, 5.0),
    ],
)
def test_a_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOON) == seconds


@given(st.text())
def test_any_header_is_a_wait_or_none(value: str) -> None:
    waited = retry_after({"retry-after": value, "date": value, "retry-after-ms": value}, now=NOON)
    assert waited is None or waited >= 0


@given(st.integers(min_value=300, max_value=599), JSON_VALUES)
def test_every_refusal_has_a_typed_error_that_can_be_retried_only_where_that_may_help(
    status: int, body: object
) -> None:
    error = refusal_error(
        Refusal(status=status, headers={}, body=body),
        endpoint=Endpoint(host="h", model="m"),
        purpose="document",
        secret="k",
        now=NOON,
    )
    assert isinstance(error, LaminaError)
    assert error.retryable == (status < 400 or status >= 500 or status in (408, 409, 421, 425, 429))
