"""Batches, drops, failures and endings of background work."""

import logging
from collections.abc import Sequence

import anyio
import pytest

from lamina.errors import ProviderError
from lamina.kernel.background import BatchWorker, Periodic
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy

pytestmark = pytest.mark.anyio


class Recorder:
    """A handler that keeps its batches, fails on "bad" and waits while `gate` is closed."""

    def __init__(self, *, closed: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.gate = anyio.Event()
        if not closed:
            self.gate.set()

    async def __call__(self, batch: Sequence[str]) -> None:
        await self.gate.wait()
        if "bad" in batch:
            raise ValueError("bad item")
        self.batches.append(list(batch))


async def test_items_are_handled_in_order_and_in_batches_of_the_given_size(clock: ManualClock) -> None:
    handler = Recorder()
    worker = BatchWorker(handler, name="test", clock=clock, batch_size=2)
    async with worker:
        assert all(worker.submit(item) for item in "abcde")
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == [["a", "b"], ["c", "d"], ["e"]]
    assert (worker.handled_count, worker.pending_count, worker.dropped_count) == (5, 0, 0)


async def test_a_batch_waits_for_company_until_its_delay_has_passed(clock: ManualClock) -> None:
    handler = Recorder()
    async with BatchWorker(handler, name="test", clock=clock, batch_size=3, max_delay_s=10) as worker:
        worker.submit("a")
        await anyio.wait_all_tasks_blocked()
        clock.advance(9)
        worker.submit("b")
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == []
        clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == [["a", "b"]]


async def test_a_full_batch_does_not_wait(clock: ManualClock) -> None:
    handler = Recorder()
    async with BatchWorker(handler, name="test", clock=clock, batch_size=2, max_delay_s=10) as worker:
        for item in "ab":
            worker.submit(item)
            await anyio.wait_all_tasks_blocked()
        assert handler.batches == [["a", "b"]]
        worker.submit("c")
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == [["a", "b"]]
    assert handler.batches == [["a", "b"], ["c"]]


async def test_a_full_queue_drops_the_new_item_counts_it_and_warns_with_its_name(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []
    worker = BatchWorker(
        Recorder(),
        name="embedding",
        clock=clock,
        capacity=2,
        batch_size=2,
        label=lambda item: f"request {item}",
        on_drop=lambda: heard.append(1),
    )
    with caplog.at_level(logging.WARNING, "lamina.background"):
        assert [worker.submit(item) for item in "abcd"] == [True, True, False, False]
    assert worker.dropped_count == 2
    assert heard == [1, 1]
    assert caplog.messages == [
        "background worker embedding dropped request c (1 so far)",
        "background worker embedding dropped request d (2 so far)",
    ]
    assert await worker.stop(0) == 2


async def test_a_failing_batch_is_counted_and_logged_and_the_next_one_still_handled(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Recorder()
    with caplog.at_level(logging.ERROR, "lamina.background"):
        async with BatchWorker(handler, name="test", clock=clock, batch_size=1) as worker:
            worker.submit("bad")
            worker.submit("good")
    assert handler.batches == [["good"]]
    assert (worker.failed_count, worker.handled_count) == (1, 1)
    assert "failed on 1 items" in caplog.text


async def test_many_drops_are_all_counted_and_named_only_a_few_times_a_minute(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []
    worker = BatchWorker(
        Recorder(), name="graph", clock=clock, capacity=1, batch_size=1, label=str, on_drop=lambda: heard.append(1)
    )
    worker.submit("first")
    with caplog.at_level(logging.WARNING, "lamina.background"):
        for number in range(100):
            worker.submit(f"request {number}")
        assert len(caplog.messages) == 10
        clock.advance(60)
        worker.submit("request 100")
        assert caplog.messages[10:] == [
            "background worker graph dropped 90 more (101 so far)",
            "background worker graph dropped request 100 (101 so far)",
        ]
        for number in range(101, 120):
            worker.submit(f"request {number}")
        await worker.stop(0)
    assert "background worker graph dropped 10 more (120 so far)" in caplog.messages
    assert (worker.dropped_count, len(heard)) == (120, 120)


async def test_a_retryable_failure_is_tried_again_and_then_given_up(clock: ManualClock) -> None:
    calls: list[list[str]] = []
    left_out: list[str] = []

    async def handler(batch: Sequence[str]) -> None:
        calls.append(list(batch))
        if len(calls) != 2:
            raise ProviderError

    policy = RetryPolicy(retries=2, jitter=0)
    async with BatchWorker(
        handler, name="test", clock=clock, batch_size=2, retry=policy, on_fail=left_out.extend
    ) as worker:
        worker.submit("a")
        await worker.drain()
        assert (worker.handled_count, clock.slept) == (1, [1])
        for item in "bc":
            worker.submit(item)
        await worker.drain()
    assert clock.slept == [1, 1, 2]
    assert (worker.failed_count, worker.handled_count, left_out) == (2, 1, ["b", "c"])
    assert calls == [["a"], ["a"], ["b", "c"], ["b", "c"], ["b", "c"]]


async def test_one_bad_item_does_not_cost_the_others_of_its_batch(clock: ManualClock) -> None:
    handler = Recorder()
    left_out: list[str] = []
    async with BatchWorker(handler, name="test", clock=clock, batch_size=8, on_fail=left_out.extend) as worker:
        for item in ["a", "b", "c", "bad", "d", "e"]:
            worker.submit(item)
    assert sorted(item for batch in handler.batches for item in batch) == ["a", "b", "c", "d", "e"]
    assert (worker.handled_count, worker.failed_count, left_out) == (5, 1, ["bad"])


async def test_an_item_takes_the_place_of_a_waiting_one_with_its_key_even_when_the_queue_is_full(
    clock: ManualClock,
) -> None:
    handler = Recorder()
    worker = BatchWorker(handler, name="test", clock=clock, capacity=2, batch_size=2, key=lambda item: item[0])
    assert [worker.submit(item) for item in ("a1", "b1", "a2")] == [True, True, True]
    async with worker:
        await worker.drain()
    assert handler.batches == [["a2", "b1"]]


async def test_put_waits_for_room_and_drops_nothing(clock: ManualClock) -> None:
    handler = Recorder()
    async with BatchWorker(handler, name="test", clock=clock, capacity=2, batch_size=2) as worker:
        assert [await worker.put(str(number)) for number in range(20)] == [True] * 20
        await worker.drain()
    assert [item for batch in handler.batches for item in batch] == [str(number) for number in range(20)]
    assert worker.dropped_count == 0
    assert not await worker.put("late")


async def test_who_waits_for_room_is_let_go_when_the_worker_stops(clock: ManualClock) -> None:
    answers: list[bool] = []
    worker = BatchWorker(Recorder(closed=True), name="test", clock=clock, capacity=1, batch_size=1)

    async def put() -> None:
        answers.append(await worker.put("c"))

    async with anyio.create_task_group() as group:
        worker.start(group)
        worker.submit("a")
        await anyio.wait_all_tasks_blocked()
        worker.submit("b")
        group.start_soon(put)
        group.start_soon(worker.drain)
        await anyio.wait_all_tasks_blocked()
        assert await worker.stop(0) == 2
    assert answers == [False]


async def test_draining_does_not_wait_for_company(clock: ManualClock) -> None:
    handler = Recorder()
    async with BatchWorker(handler, name="test", clock=clock, batch_size=8, max_delay_s=60) as worker:
        worker.submit("a")
        await anyio.wait_all_tasks_blocked()
        await worker.drain()
        assert handler.batches == [["a"]]


async def test_stopping_drains_the_queue_and_refuses_what_comes_later(clock: ManualClock) -> None:
    handler = Recorder()
    async with anyio.create_task_group() as group:
        worker = BatchWorker(handler, name="test", clock=clock, batch_size=2, max_delay_s=60)
        worker.start(group)
        for item in "abc":
            worker.submit(item)
        assert await worker.stop(5) == 0
        assert handler.batches == [["a", "b"], ["c"]]
        assert not worker.submit("late")
    assert worker.dropped_count == 1


async def test_stopping_gives_up_at_its_deadline_and_says_how_many_are_left(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with anyio.create_task_group() as group:
        worker = BatchWorker(Recorder(closed=True), name="test", clock=clock, batch_size=2)
        worker.start(group)
        for item in "abc":
            worker.submit(item)
        await anyio.wait_all_tasks_blocked()
        with caplog.at_level(logging.WARNING, "lamina.background"):
            assert await worker.stop(0) == 3
    assert "stopped with 3 items left" in caplog.text


async def test_an_idle_worker_stops_at_once_and_stopping_twice_is_harmless(clock: ManualClock) -> None:
    async with BatchWorker(Recorder(), name="test", clock=clock) as worker:
        await anyio.wait_all_tasks_blocked()
        assert await worker.stop(5) == 0
        assert await worker.stop(5) == 0


async def test_an_error_of_the_body_comes_out_as_it_is(clock: ManualClock) -> None:
    with pytest.raises(KeyError):
        async with BatchWorker(Recorder(), name="test", clock=clock):
            raise KeyError("body")


async def test_a_cancelled_body_still_ends_the_worker(clock: ManualClock) -> None:
    worker = BatchWorker(Recorder(), name="test", clock=clock)
    with anyio.CancelScope() as scope:
        async with worker:
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert not worker.submit("late")


async def test_a_worker_starts_only_once(clock: ManualClock) -> None:
    async with (
        BatchWorker(Recorder(), name="test", clock=clock) as worker,
        anyio.create_task_group() as group,
    ):
        with pytest.raises(RuntimeError, match="started before"):
            worker.start(group)


def test_a_batch_larger_than_the_queue_is_refused(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        BatchWorker(Recorder(), name="test", clock=clock, capacity=2, batch_size=3)


async def test_a_periodic_job_runs_once_each_interval_and_survives_its_failures(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    ran_at: list[float] = []

    async def job() -> None:
        ran_at.append(clock.monotonic())
        if len(ran_at) == 1:
            raise ValueError("first run")

    with caplog.at_level(logging.ERROR, "lamina.background"):
        async with Periodic(job, name="sweep", interval_s=300, clock=clock) as periodic:
            await anyio.wait_all_tasks_blocked()
            assert ran_at == []
            for _ in range(3):
                clock.advance(300)
                await anyio.wait_all_tasks_blocked()
    assert ran_at == [300, 600, 900]
    assert (periodic.run_count, periodic.failed_count) == (3, 1)
    assert "background job sweep failed" in caplog.text


async def test_stopping_a_periodic_job_waits_for_the_run_under_way(clock: ManualClock) -> None:
    release = anyio.Event()
    finished: list[bool] = []

    async def job() -> None:
        await release.wait()
        finished.append(True)

    async with anyio.create_task_group() as group:
        periodic = Periodic(job, name="sweep", interval_s=1, clock=clock)
        periodic.start(group)
        await anyio.wait_all_tasks_blocked()
        clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(periodic.stop, 60)
        await anyio.wait_all_tasks_blocked()
        assert finished == []
        release.set()
    assert finished == [True]
    assert periodic.run_count == 1


def test_an_interval_of_nothing_is_refused(clock: ManualClock) -> None:
    async def job() -> None: ...

    with pytest.raises(ValueError, match="interval_s"):
        Periodic(job, name="sweep", interval_s=0, clock=clock)
