"""Work that happens beside the callers: batches of submitted items, and jobs that come round.

Not for work that must not be lost: a queue lives in memory, and what it drops has to be found again from
stored state. A failing handler or job is logged and counted, and never ends the worker.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

import anyio
from anyio.abc import TaskGroup

from lamina.errors import (
    ConfigurationError,
    OperationTimeoutError,
    ProviderError,
    RateLimitedError,
    UnauthorizedError,
)
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy, retry

T = TypeVar("T")
_log = logging.getLogger("lamina.background")
_DROP_WINDOW_S = 60.0
_DROPS_NAMED = 10
_NEVER_AGAIN = RetryPolicy(retries=0)
_NO_ITEMS_FAULT = (
    ConfigurationError,
    OperationTimeoutError,
    ProviderError,
    RateLimitedError,
    UnauthorizedError,
)


class _Worker:
    """A loop in a task group, and an end with a deadline."""

    def __init__(self, *, name: str, stop_deadline_s: float) -> None:
        self.name = name
        self._stop_deadline_s = stop_deadline_s
        self._own_group: TaskGroup | None = None
        self._scope: anyio.CancelScope | None = None
        self._pause: anyio.CancelScope | None = None
        self._ended = anyio.Event()
        self._stopping = False

    def start(self, task_group: TaskGroup) -> None:
        """Begin to work in the given group; call `stop` before the group ends. Raises RuntimeError twice."""
        if self._scope is not None:
            raise RuntimeError(f"background worker {self.name} was started before")
        self._scope = anyio.CancelScope()
        task_group.start_soon(self._run, name=f"lamina {self.name}")

    async def _run(self) -> None:
        assert self._scope is not None
        try:
            with self._scope:
                await self._loop()
        finally:
            self._ended.set()

    async def _loop(self) -> None:
        raise NotImplementedError

    async def _rest(self, clock: Clock, seconds: float) -> None:
        """Wait, unless `_interrupt` comes first or the end has begun."""
        if self._stopping:
            return
        with anyio.CancelScope() as self._pause:
            await clock.idle(seconds)
        self._pause = None

    def _interrupt(self) -> None:
        if self._pause is not None:
            self._pause.cancel()

    async def _finish(self, deadline_s: float) -> None:
        """Let the loop end by itself for `deadline_s` of real time, then cancel it."""
        self._stopping = True
        self._interrupt()
        if self._scope is None:
            return
        # Shielded, because a shutdown that was itself cancelled still has to leave things in order.
        with anyio.move_on_after(deadline_s, shield=True):
            await self._ended.wait()
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()

    async def stop(self, deadline_s: float) -> int:
        """End the work within `deadline_s` seconds of real time; the number of items left undone."""
        await self._finish(deadline_s)
        return 0

    async def __aenter__(self) -> Self:
        self._own_group = anyio.create_task_group()
        await self._own_group.__aenter__()
        self.start(self._own_group)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(self._stop_deadline_s)
        assert self._own_group is not None
        # The body's error is not handed over: a task group would wrap it in an exception group.
        await self._own_group.__aexit__(None, None, None)


class BatchWorker(_Worker, Generic[T]):
    """Collects submitted items and hands them to a handler in batches, one batch at a time.

    A batch is handed over when it is full or when its first item has waited `max_delay_s`. A full queue drops
    the new item; `label` names the item in the log, and `on_drop` hears of every drop, for a metric. An item with
    the `key` of one that waits takes its place. A batch that fails with a retryable error is tried again as
    `retry` says; where an item may be at fault, the batch is then halved until only the bad items are left out, so
    a handler must bear being given an item twice. `on_fail` hears of what is left out.
    """

    def __init__(
        self,
        handler: Callable[[Sequence[T]], Awaitable[None]],
        *,
        name: str,
        clock: Clock,
        capacity: int = 1024,
        batch_size: int = 32,
        max_delay_s: float = 0.0,
        stop_deadline_s: float = 5.0,
        retry: RetryPolicy | None = None,
        label: Callable[[T], str] = lambda _: "an item",
        key: Callable[[T], Hashable] | None = None,
        on_drop: Callable[[], None] | None = None,
        on_fail: Callable[[Sequence[T]], None] | None = None,
    ) -> None:
        if not 1 <= batch_size <= capacity:
            raise ValueError("batch_size must be between 1 and capacity")
        super().__init__(name=name, stop_deadline_s=stop_deadline_s)
        self._handler = handler
        self._clock = clock
        self._capacity = capacity
        self._batch_size = batch_size
        self._max_delay_s = max_delay_s
        self._retry = retry or _NEVER_AGAIN
        self._label = label
        self._key = key or (lambda _: object())
        self._on_drop = on_drop
        self._on_fail = on_fail
        self._queue: OrderedDict[Hashable, T] = OrderedDict()
        self._in_hand = 0
        self._draining = 0
        self._arrived = anyio.Event()
        self._progress = anyio.Event()
        self._drops = DropLog(name, clock)
        self.dropped_count = 0
        """Items refused because the queue was full or the worker was stopping."""
        self.failed_count = 0
        """Items whose handler failed for good."""
        self.handled_count = 0
        """Items whose handler succeeded."""

    @property
    def pending_count(self) -> int:
        """Items accepted and not yet handled, the batch in hand included."""
        return len(self._queue) + self._in_hand

    def submit(self, item: T) -> bool:
        """Queue the item and return at once; False when it was dropped. Call from the event loop's thread."""
        key = self._key(item)
        if self._stopping or (len(self._queue) >= self._capacity and key not in self._queue):
            self.dropped_count += 1
            self._drops.warn(self._label(item), self.dropped_count)
            if self._on_drop is not None:
                self._on_drop()
            return False
        self._queue[key] = item
        self._arrived.set()
        if len(self._queue) >= self._batch_size:
            self._interrupt()
        return True

    async def put(self, item: T) -> bool:
        """Queue the item, waiting for room instead of dropping it; False when the worker is stopping."""
        while len(self._queue) >= self._capacity and self._key(item) not in self._queue:
            if self._stopping:
                return False
            await self._progress.wait()
        return not self._stopping and self.submit(item)

    async def drain(self) -> None:
        """Wait until everything accepted so far, and what comes meanwhile, has been handled or has failed."""
        self._draining += 1
        try:
            self._interrupt()
            while self.pending_count and not self._ended.is_set():
                await self._progress.wait()
        finally:
            self._draining -= 1

    async def stop(self, deadline_s: float) -> int:
        """Refuse new items, handle the queued ones for `deadline_s` seconds of real time, then give up.

        Returns the number of items left undone, and logs it when there are any.
        """
        self._stopping = True
        self._arrived.set()
        await self._finish(deadline_s)
        self._step()
        self._drops.flush()
        if self.pending_count:
            _log.warning("background worker %s stopped with %d items left", self.name, self.pending_count)
        return self.pending_count

    async def _loop(self) -> None:
        while True:
            await self._arrived.wait()
            if not self._queue:
                return
            if len(self._queue) < self._batch_size and self._max_delay_s > 0 and not self._draining:
                await self._rest(self._clock, self._max_delay_s)
            batch = [self._queue.popitem(last=False)[1] for _ in range(min(self._batch_size, len(self._queue)))]
            self._in_hand = len(batch)
            self._step()
            await self._handle(batch)
            # Not in a finally: a batch that was cancelled stays in hand and is counted as left.
            self._in_hand = 0
            self._step()
            if not self._queue and not self._stopping:
                self._arrived = anyio.Event()

    def _step(self) -> None:
        """Wake those who wait for room or for the end."""
        self._progress.set()
        self._progress = anyio.Event()

    async def _handle(self, batch: list[T], *, again: bool = True) -> None:
        policy = self._retry if again else _NEVER_AGAIN
        try:
            await retry(lambda: self._handler(batch), policy=policy, clock=self._clock)
        except Exception as error:  # noqa: BLE001 -- isolation: one bad batch must not end the worker for all that follow
            if len(batch) > 1 and not isinstance(error, _NO_ITEMS_FAULT):
                middle = len(batch) // 2
                await self._handle(batch[:middle], again=False)
                await self._handle(batch[middle:], again=False)
                return
            self.failed_count += len(batch)
            _log.exception("background worker %s failed on %d items", self.name, len(batch))
            if self._on_fail is not None:
                self._on_fail(batch)
        else:
            self.handled_count += len(batch)


class DropLog:
    """Warns of drops by name, a few a minute; the ones in between are counted in the next warning."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._since = 0.0
        self._named = 0
        self._unnamed = 0
        self._total = 0

    def warn(self, label: str, total: int) -> None:
        """Name one drop, or count it when there were many lately."""
        now = self._clock.monotonic()
        self._total = total
        if not self._named or now - self._since >= _DROP_WINDOW_S:
            self.flush()
            self._since, self._named = now, 0
        if self._named < _DROPS_NAMED:
            self._named += 1
            _log.warning("background worker %s dropped %s (%d so far)", self._name, label, total)
        else:
            self._unnamed += 1

    def flush(self) -> None:
        """Say how many drops went unnamed."""
        if self._unnamed:
            _log.warning("background worker %s dropped %d more (%d so far)", self._name, self._unnamed, self._total)
            self._unnamed = 0


class Periodic(_Worker):
    """Runs a job each `interval_s`, counted from the end of the run before; the first after one interval."""

    def __init__(
        self,
        job: Callable[[], Awaitable[object]],
        *,
        name: str,
        interval_s: float,
        clock: Clock,
        stop_deadline_s: float = 5.0,
    ) -> None:
        if interval_s <= 0:
            raise ValueError("interval_s must be above 0")
        super().__init__(name=name, stop_deadline_s=stop_deadline_s)
        self._job = job
        self._interval_s = interval_s
        self._clock = clock
        self.run_count = 0
        """Runs that ended, well or badly."""
        self.failed_count = 0
        """Runs that failed."""

    async def _loop(self) -> None:
        while True:
            await self._rest(self._clock, self._interval_s)
            if self._stopping:
                return
            try:
                await self._job()
            except Exception:  # noqa: BLE001 -- isolation: one failed run must not end the runs that follow
                self.failed_count += 1
                _log.exception("background job %s failed", self.name)
            self.run_count += 1
