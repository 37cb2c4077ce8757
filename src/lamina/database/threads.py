"""The threads that read a store: the one that worked last works next.

Its connection still has the pages it read, its processor what it computed with. A pool that takes its threads in turn
gives every unit of work the coldest one.
"""

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable

_log = logging.getLogger("lamina.database")

Work = Callable[[], None]
"""Something to do, which tells whoever waits for it how it went."""


class StoreThreads:
    """Up to so many threads, started when all others are busy. Work beyond that waits its turn.

    Threads whose owner is gone end by themselves, as after `close`.
    """

    def __init__(self, most: int, *, name: str) -> None:
        self._most = most
        self._name = name
        self._queue = _Queue()
        self._workers: list[_Worker] = []
        weakref.finalize(self, self._queue.end)

    def submit(self, work: Work) -> None:
        """Have a thread do it; raises RuntimeError after `close`."""
        queue = self._queue
        with queue.gate:
            if queue.ended:
                raise RuntimeError("the threads of the store have ended")
            if queue.idle:
                queue.idle.pop().give(work)
            elif len(self._workers) < self._most:
                worker = _Worker(queue, work, name=f"{self._name}-{len(self._workers)}")
                worker.start()
                self._workers.append(worker)
            else:
                queue.waiting.append(work)

    def close(self) -> None:
        """Do what was accepted, then end every thread; idempotent."""
        self._queue.end()
        for worker in self._workers:
            worker.join()


class _Queue:
    """What threads know of their owner: what waits to be done, and who waits for something to do."""

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.idle: list[_Worker] = []
        self.waiting: deque[Work] = deque()
        self.ended = False

    def end(self) -> None:
        """Let threads end once nothing waits."""
        with self.gate:
            self.ended = True
            while self.idle:
                self.idle.pop().give(None)

    def next(self, worker: "_Worker") -> bool:
        """Give a worker something more to do, or its end, or let it wait; whether it was given anything."""
        with self.gate:
            if self.waiting:
                worker.work = self.waiting.popleft()
            elif not self.ended:
                self.idle.append(worker)
                return False
            return True


class _Worker(threading.Thread):
    """A daemon, so that a store nobody closed does not keep the process; what it reads is lost to nobody."""

    def __init__(self, queue: _Queue, work: Work, *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._queue = queue
        self._given = threading.Lock()
        self._given.acquire()
        self.work: Work | None = work

    def give(self, work: Work | None) -> None:
        """Wake it with something to do; None ends it."""
        self.work = work
        self._given.release()

    def run(self) -> None:
        while True:
            work, self.work = self.work, None
            if work is None:
                return
            try:
                work()
            except BaseException:  # noqa: BLE001 -- boundary: a thread of the store outlives whatever it is given
                _log.exception("work on a thread of the store failed and told nobody")
            del work  # what it holds is not kept until the next one comes
            if not self._queue.next(self):
                self._given.acquire()
