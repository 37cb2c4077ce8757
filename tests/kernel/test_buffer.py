"""A buffer does what it is given and finds again what it missed."""

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

import anyio
import pytest

from lamina.errors import ProviderError
from lamina.kernel.buffer import BackfillReport, Buffer, BufferSettings
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy

pytestmark = pytest.mark.anyio


class Ledger:
    """Stored state: what is there, and what has been done with it."""

    def __init__(self, *names: str) -> None:
        self.stored = list(names)
        self.done: list[str] = []
        self.looks = 0
        self.broken = False

    async def handle(self, batch: Sequence[str]) -> None:
        if self.broken:
            raise ProviderError
        self.done += batch

    async def missing(self) -> AsyncIterator[str]:
        self.looks += 1
        for name in [name for name in self.stored if name not in self.done]:
            yield name


def buffer(ledger: Ledger, clock: ManualClock, **settings: float) -> Buffer[str]:
    chosen = {"queue_size": 2, "batch_size": 2, "delay_s": 0, "backfill_interval_s": 300, **settings}
    return Buffer(
        ledger.handle,
        ledger.missing,
        name="test",
        clock=clock,
        settings=BufferSettings(**chosen),  # type: ignore[arg-type]
        retry=RetryPolicy(retries=0),
        label=str,
        key=str,
    )


async def test_what_a_full_queue_dropped_is_found_again_after_the_interval(clock: ManualClock) -> None:
    ledger = Ledger(*"abcdef")
    made = buffer(ledger, clock)
    assert [made.submit(name) for name in "abcdef"] == [True, True, False, False, False, False]
    assert made.dropped_count == 4
    async with anyio.create_task_group() as group:
        made.start(group)
        await made.drain()
        assert ledger.done == ["a", "b"]
        clock.advance(300)
        await anyio.wait_all_tasks_blocked()
        assert sorted(ledger.done) == list("abcdef")
        await made.stop(5)


async def test_the_store_is_searched_after_the_start_and_then_only_after_a_miss(clock: ManualClock) -> None:
    ledger = Ledger("left by a killed process")
    made = buffer(ledger, clock)
    async with anyio.create_task_group() as group:
        made.start(group)
        for looks in (1, 1, 1):
            await anyio.wait_all_tasks_blocked()
            clock.advance(300)
            await anyio.wait_all_tasks_blocked()
            assert ledger.looks == looks
        assert ledger.done == ["left by a killed process"]
        ledger.broken = True
        ledger.stored.append("new")
        made.submit("new")
        await made.drain()
        assert made.failed_count == 1
        ledger.broken = False
        clock.advance(300)
        await anyio.wait_all_tasks_blocked()
        assert (ledger.looks, ledger.done[-1]) == (2, "new")
        await made.stop(5)


async def test_a_back_fill_larger_than_the_queue_drops_nothing_and_reports(clock: ManualClock) -> None:
    ledger = Ledger(*map(str, range(50)))
    made = buffer(ledger, clock, backfill_interval_s=0)
    async with anyio.create_task_group() as group:
        made.start(group)
        assert await made.backfill() == BackfillReport(found=50, done=50, failed=0)
        assert await made.backfill() == BackfillReport(found=0, done=0, failed=0)
        await made.stop(5)
    assert made.dropped_count == 0


async def test_a_back_fill_that_cannot_search_is_owed_again(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger("a")
    made = buffer(ledger, clock)
    with unreadable(ledger), caplog.at_level(logging.ERROR):
        async with anyio.create_task_group() as group:
            made.start(group)
            await anyio.wait_all_tasks_blocked()
            clock.advance(300)
            await anyio.wait_all_tasks_blocked()
            assert ledger.done == []
            ledger.stored = ["a"]
            clock.advance(300)
            await anyio.wait_all_tasks_blocked()
            assert ledger.done == ["a"]
            await made.stop(5)
    assert "back-fill failed" in caplog.text


@contextmanager
def unreadable(ledger: Ledger) -> Iterator[None]:
    """The list of what is stored breaks the search until somebody replaces it."""
    ledger.stored = None  # type: ignore[assignment]
    yield


async def test_stopping_in_the_middle_of_a_back_fill_says_what_is_left(clock: ManualClock) -> None:
    ledger = Ledger(*map(str, range(10)))
    reports: list[BackfillReport] = []
    gate = anyio.Event()

    async def slow(batch: Sequence[str]) -> None:
        await gate.wait()

    ledger.handle = slow  # type: ignore[method-assign]
    made = buffer(ledger, clock, backfill_interval_s=0)

    async def fill() -> None:
        reports.append(await made.backfill())

    async with anyio.create_task_group() as group:
        made.start(group)
        group.start_soon(fill)
        await anyio.wait_all_tasks_blocked()
        assert await made.stop(0) == 4
    assert reports == [BackfillReport(found=10, done=0, failed=0, left=6)]


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"batch_size": 3, "queue_size": 2}, {"delay_s": -1}, {"backfill_interval_s": -1}]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        BufferSettings(**wrong)
