"""Threads that are used again at once, never more than allowed, and that outlive what they are given."""

import gc
import logging
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from lamina.database.threads import StoreThreads


@pytest.fixture
def threads() -> Iterator[StoreThreads]:
    made = StoreThreads(3, name="test-store")
    yield made
    made.close()


def run(threads: StoreThreads) -> str:
    """The name of the thread that works next."""
    names: list[str] = []
    done = threading.Event()

    def work() -> None:
        names.append(threading.current_thread().name)
        done.set()

    threads.submit(work)
    assert done.wait(30)
    return names[0]


def settle(threads: StoreThreads, idle: int) -> None:
    """Wait until so many threads wait for work."""
    while len(threads._queue.idle) < idle:
        threading.Event().wait(0.001)


def test_the_thread_that_worked_last_works_next(threads: StoreThreads) -> None:
    for _ in range(5):
        assert run(threads) == "test-store-0"
        settle(threads, 1)
    free, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        free.wait(30)

    threads.submit(hold)
    assert begun.wait(30)
    assert run(threads) == "test-store-1"
    settle(threads, 1)
    assert run(threads) == "test-store-1"
    free.set()
    settle(threads, 2)
    assert run(threads) == "test-store-0"


def test_work_beyond_the_last_thread_waits_and_is_done_before_the_end(threads: StoreThreads) -> None:
    free, gate, names, order = threading.Event(), threading.Lock(), set(), []

    def work(number: int) -> None:
        free.wait(30)
        with gate:
            names.add(threading.current_thread().name)
            order.append(number)

    for number in range(20):
        threads.submit(lambda number=number: work(number))  # type: ignore[misc]
    assert len(threads._workers) == 3
    free.set()
    threads.close()
    assert sorted(order) == list(range(20))
    assert names <= {"test-store-0", "test-store-1", "test-store-2"}
    assert not any(worker.is_alive() for worker in threads._workers)
    threads.close()
    with pytest.raises(RuntimeError, match="ended"):
        threads.submit(lambda: None)


def test_a_thread_outlives_work_that_raises(threads: StoreThreads, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("nobody waits for this")

    with caplog.at_level(logging.ERROR, "lamina.database"):
        threads.submit(fail)
        settle(threads, 1)
        assert run(threads) == "test-store-0"
    assert "told nobody" in caplog.text


def test_what_is_done_is_let_go(threads: StoreThreads) -> None:
    class Large:
        pass

    held = Large()
    gone = weakref.ref(held)
    threads.submit(partial(lambda large: None, held))
    del held
    settle(threads, 1)
    gc.collect()
    assert gone() is None


def test_threads_end_with_their_owner() -> None:
    made = StoreThreads(2, name="orphans")
    run(made)
    (worker,) = made._workers
    del made
    gc.collect()
    worker.join(30)
    assert not worker.is_alive()
