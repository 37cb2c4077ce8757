"""The two clocks."""

from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest

from lamina.kernel.clock import Clock, ManualClock, SystemClock

pytestmark = pytest.mark.anyio


def test_the_system_clock_tells_aware_utc_time() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


async def test_the_system_clock_returns_from_a_sleep_of_no_length() -> None:
    clock: Clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(-1)
    await clock.idle(0)
    assert clock.monotonic() >= before


async def test_a_manual_clock_moves_by_what_was_slept_and_advanced(clock: ManualClock) -> None:
    start = clock.now()
    clock.advance(1.5)
    await clock.sleep(2)
    assert clock.now() - start == timedelta(seconds=3.5)
    assert clock.monotonic() == 3.5
    assert clock.slept == [2]


def test_a_manual_clock_turns_its_start_into_utc() -> None:
    start = datetime(2025, 6, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    now = ManualClock(start).now()
    assert now == datetime(2025, 6, 1, tzinfo=UTC)
    assert now.tzinfo is UTC


def test_a_manual_clock_refuses_naive_time_and_going_back(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(datetime(2025, 1, 1))
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


async def test_idle_work_waits_until_a_manual_clock_was_moved_far_enough(clock: ManualClock) -> None:
    woken: list[float] = []

    async def wait(seconds: float) -> None:
        await clock.idle(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as group:
        for seconds in (0, 5, 10):
            group.start_soon(wait, seconds)
        await anyio.wait_all_tasks_blocked()
        assert woken == [0]
        clock.advance(7)
        await anyio.wait_all_tasks_blocked()
        assert woken == [0, 5]
        clock.advance(7)
    assert woken == [0, 5, 10]
