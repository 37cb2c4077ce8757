"""Try again what may succeed the next time: exponential delays, jitter, and the wait a provider asked for.

A `Retry-After` up to the cap is waited for in full, even where the schedule would be shorter. One above the
cap ends the attempts at once: waiting less would only be refused again, more would block the caller.
"""

import random as _random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from lamina.errors import LaminaError, RateLimitedError
from lamina.kernel.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and after which delays, a retryable failure is tried again."""

    retries: int = 3
    """Attempts after the first one; 0 never retries."""
    initial_s: float = 1.0
    """Seconds before the first retry."""
    factor: float = 2.0
    """What each further delay is multiplied by."""
    cap_s: float = 30.0
    """The longest delay, in seconds."""
    jitter: float = 0.15
    """The share by which a delay may be shorter or longer, so that clients do not return all at once."""

    def __post_init__(self) -> None:
        if self.retries < 0 or self.initial_s < 0 or self.factor < 1 or self.cap_s < 0:
            raise ValueError("retries, initial_s and cap_s must not be negative, factor not below 1")
        if not 0 <= self.jitter < 1:
            raise ValueError("jitter must be at least 0 and below 1")

    def delay(self, retry_number: int, chance: float = 0.5) -> float:
        """Seconds before retry 1, 2, ...; `chance` from 0 to 1 places it in the jitter band."""
        try:
            planned = min(self.cap_s, self.initial_s * self.factor ** (retry_number - 1))
        except OverflowError:
            planned = self.cap_s
        return min(self.cap_s, planned * (1 + self.jitter * (2 * chance - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAttempt:
    """What is about to happen after a failure: which retry, after how long, because of what."""

    number: int
    """1 for the first retry."""
    delay_s: float
    """Seconds that will be waited before it."""
    error: LaminaError
    """The failure that caused it."""


async def retry(
    call: Callable[[], Awaitable[T]],
    *,
    policy: RetryPolicy,
    clock: Clock,
    random: Callable[[], float] = _random.random,
    on_retry: Callable[[RetryAttempt], None] | None = None,
) -> T:
    """Await `call()` until it succeeds, fails for good, or the policy is exhausted.

    Only a LaminaError with `retryable` is tried again; anything else, and cancellation, passes through
    untouched. The last error is raised with `attempts` in its details, and with `retry_after_limit` where the
    provider asked for a longer wait than the cap. `on_retry` hears of each retry before its delay begins.
    """
    number = 0
    while True:
        try:
            return await call()
        except LaminaError as error:
            number += 1
            delay = _next_delay(error, number, policy, random)
            if delay is None:
                raise
            attempt = RetryAttempt(number=number, delay_s=delay, error=error)
        # Outside the handler, so that a later failure does not drag every earlier one along as its context.
        if on_retry is not None:
            on_retry(attempt)
        await clock.sleep(attempt.delay_s)


def _next_delay(error: LaminaError, number: int, policy: RetryPolicy, random: Callable[[], float]) -> float | None:
    """Seconds to wait before this retry, or None when the error is final; then its details say why."""
    if not error.retryable:
        return None
    asked = error.retry_after if isinstance(error, RateLimitedError) else None
    if number > policy.retries:
        error.details["attempts"] = number
        return None
    if asked is not None and asked > policy.cap_s:
        error.details.update(attempts=number, retry_after_limit=policy.cap_s)
        return None
    return max(policy.delay(number, random()), asked or 0.0)
