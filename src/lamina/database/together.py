"""Reads that belong together share a thread: one hop there and back for all of them instead of one each.

A search of the index is mostly Python, so threads that run several at once only hand the interpreter to and fro. A
read that takes long, such as one that loads a large index, holds up nobody for more than a moment: its thread is left
to it, and another one takes the rest.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, TypeVar

from lamina.database.link import Link

T = TypeVar("T")
_Work = Callable[[Link], Any]

_PATIENCE_S = 0.02


class ReadsTogether:
    """The reads of one block, run in turn; one that fails fails alone."""

    def __init__(
        self,
        view: Callable[[], AbstractContextManager[Callable[[_Work], Any]]],
        submit: Callable[[Callable[[], None]], object],
    ) -> None:
        """`view` does reads on one view of the store, `submit` has a thread of the store call something."""
        self._view = view
        self._submit = submit
        self._loop = asyncio.get_running_loop()
        self._gate = threading.Lock()
        self._waiting: deque[tuple[_Work, asyncio.Future[Any]]] = deque()
        self._finished: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._draining = False
        self._watch = self._loop.call_later(_PATIENCE_S, self._look_after)
        self.is_open = True

    async def read(self, work: Callable[[Link], T]) -> T:
        """What `work` gives. Raises what it raises."""
        future: asyncio.Future[T] = self._loop.create_future()
        with self._gate:
            if not self._draining:
                self._submit(self._drain)
                self._draining = True
            self._waiting.append((work, future))
        return await future

    def close(self) -> None:
        """End the block: reads that begin later are on their own."""
        self.is_open = False
        self._watch.cancel()

    def _drain(self) -> None:
        """Do what is waiting, on a thread of the store."""
        while self._count_waiting():
            # What comes while a view is open gets the next one, so that everybody sees what was there when they asked.
            with self._view() as run:
                for _ in range(self._count_waiting()):
                    self._do_next(run)
        self._loop.call_soon_threadsafe(self._deliver)

    def _count_waiting(self) -> int:
        with self._gate:
            self._draining = bool(self._waiting)
            return len(self._waiting)

    def _do_next(self, run: Callable[[_Work], Any]) -> None:
        try:
            work, future = self._waiting.popleft()
        except IndexError:  # another thread was faster
            return
        if future.cancelled():
            return
        try:
            self._finished.append((future, run(work), None))
        except BaseException as error:  # noqa: BLE001 -- boundary: whatever it is, it belongs to who asked
            self._finished.append((future, None, error))

    def _deliver(self) -> None:
        while self._finished:
            future, result, error = self._finished.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _look_after(self) -> None:
        """Hand out what is done, and have another thread go on with what waits behind a long read."""
        self._deliver()
        with self._gate:
            if self._waiting:
                self._submit(self._drain)
        self._watch = self._loop.call_later(_PATIENCE_S, self._look_after)


current_reads: ContextVar[tuple[object, ReadsTogether] | None] = ContextVar("current_reads", default=None)
"""The block that the running task is in, and the store it belongs to."""
