"""What refusals and waits mean, without a network."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.endpoint.refusal import Endpoint, Refusal, Service, refusal_error, retry_after
from lamina.errors import EmbeddingFailedError, LaminaError

NOON = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)
SERVICE = Service(
    noun="embedding", offers="embeddings", failed=EmbeddingFailedError, smaller="lower batch_size", settings="model"
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["code", "message", "detail", "error"]), inner, max_size=3)
    ),
    max_leaves=12,
)


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
        endpoint=Endpoint(service=SERVICE, host="h", model="m"),
        secret="k",
        now=NOON,
    )
    assert isinstance(error, LaminaError)
    assert error.retryable == (status < 400 or status >= 500 or status in (408, 409, 421, 425, 429))
