"""Which failures are tried again, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import (
    EmbeddingFailedError,
    InvalidInputError,
    LaminaError,
    OperationTimeoutError,
    ProviderError,
    RateLimitedError,
)
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryAttempt, RetryPolicy, retry

pytestmark = pytest.mark.anyio


class Flaky:
    """Fails with the given errors in turn, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def middle() -> float:
    """No jitter: the middle of the band."""
    return 0.5


async def test_a_success_is_returned_without_waiting(clock: ManualClock) -> None:
    assert await retry(Flaky(), policy=RetryPolicy(), clock=clock) == "answer"
    assert clock.slept == []


async def test_a_transient_failure_is_tried_again_three_times_after_1_2_and_4_seconds(
    clock: ManualClock,
) -> None:
    call = Flaky(*[ProviderError("locked") for _ in range(9)])
    with pytest.raises(ProviderError) as caught:
        await retry(call, policy=RetryPolicy(), clock=clock, random=middle)
    assert clock.slept == [1, 2, 4]
    assert call.calls == 4
    assert caught.value.retryable
    assert caught.value.details["attempts"] == 4


@pytest.mark.parametrize("kind", [ProviderError, RateLimitedError, EmbeddingFailedError, OperationTimeoutError])
async def test_every_retryable_error_may_succeed_the_next_time(kind: type[LaminaError], clock: ManualClock) -> None:
    heard: list[RetryAttempt] = []
    result = await retry(Flaky(kind(), kind()), policy=RetryPolicy(), clock=clock, random=middle, on_retry=heard.append)
    assert result == "answer"
    assert [(each.number, each.delay_s, type(each.error)) for each in heard] == [(1, 1, kind), (2, 2, kind)]


@pytest.mark.parametrize("error", [InvalidInputError("no"), ValueError("bug"), KeyError("bug")])
async def test_any_other_error_passes_through_at_once(error: Exception, clock: ManualClock) -> None:
    call = Flaky(error)
    with pytest.raises(type(error)) as caught:
        await retry(call, policy=RetryPolicy(), clock=clock)
    assert caught.value is error
    assert call.calls == 1
    assert clock.slept == []


async def test_a_rate_limit_waits_as_long_as_the_provider_asks(clock: ManualClock) -> None:
    call = Flaky(RateLimitedError(details={"retry_after": 7}), RateLimitedError(details={"retry_after": 0.1}))
    assert await retry(call, policy=RetryPolicy(), clock=clock, random=middle) == "answer"
    assert clock.slept == [7, 2]


async def test_a_wait_of_exactly_the_cap_is_honoured(clock: ManualClock) -> None:
    call = Flaky(RateLimitedError(details={"retry_after": 30}))
    assert await retry(call, policy=RetryPolicy(), clock=clock) == "answer"
    assert clock.slept == [30]


@pytest.mark.parametrize("asked", [30.5, 3600, float("inf")])
async def test_a_provider_that_asks_for_more_than_the_cap_ends_the_attempts(asked: float, clock: ManualClock) -> None:
    call = Flaky(RateLimitedError(details={"retry_after": asked}))
    with pytest.raises(RateLimitedError) as caught:
        await retry(call, policy=RetryPolicy(), clock=clock)
    assert caught.value.details == {"retry_after": asked, "attempts": 1, "retry_after_limit": 30.0}
    assert clock.slept == []


async def test_a_policy_without_retries_calls_once(clock: ManualClock) -> None:
    call = Flaky(ProviderError(), ProviderError())
    with pytest.raises(ProviderError):
        await retry(call, policy=RetryPolicy(retries=0), clock=clock)
    assert call.calls == 1


async def test_the_last_error_does_not_drag_the_earlier_ones_along(clock: ManualClock) -> None:
    with pytest.raises(ProviderError) as caught:
        await retry(Flaky(*[ProviderError() for _ in range(4)]), policy=RetryPolicy(), clock=clock)
    assert caught.value.__context__ is None


POLICIES = st.builds(
    RetryPolicy,
    initial_s=st.floats(0, 100),
    factor=st.floats(1, 10),
    cap_s=st.floats(0, 1000),
    jitter=st.floats(0, 0.99),
)


@given(POLICIES, st.integers(1, 2000), st.floats(0, 1))
def test_a_delay_stays_within_the_jitter_band_and_under_the_cap(
    policy: RetryPolicy, number: int, chance: float
) -> None:
    planned = policy.delay(number)
    delay = policy.delay(number, chance)
    assert 0 <= delay <= policy.cap_s
    assert planned * (1 - policy.jitter) * 0.999 <= delay <= planned * (1 + policy.jitter) * 1.001


@given(POLICIES, st.integers(1, 50))
def test_planned_delays_never_shrink(policy: RetryPolicy, number: int) -> None:
    assert policy.delay(number) <= policy.delay(number + 1)


def test_the_default_delays_are_1_2_4_seconds_and_stop_at_30() -> None:
    assert [RetryPolicy().delay(number) for number in (1, 2, 3, 6, 5000)] == [1, 2, 4, 30, 30]


@pytest.mark.parametrize(
    "wrong",
    [{"retries": -1}, {"initial_s": -1}, {"factor": 0.5}, {"cap_s": -1}, {"jitter": 1}, {"jitter": -0.1}],
)
def test_a_policy_that_cannot_work_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        RetryPolicy(**wrong)  # type: ignore[arg-type]
