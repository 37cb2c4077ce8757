"""Work that follows what was stored, and makes good what it missed: a queue, its worker and a back-fill.

A queue that lives in memory loses what it drops, what fails and what a killed process held. All of it is found again
from stored state: `missing` yields the work that is not done yet, whoever forgot it. It is asked after the start,
after drops and after failures, never while there is nothing to suspect.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from lamina.kernel.background import BatchWorker, Periodic
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSettings:
    """How much waits, how it is gathered, and how soon what was missed is looked for."""

    queue_size: int = 1024
    batch_size: int = 64
    delay_s: float = 0.5
    backfill_interval_s: float = 300.0
    """Seconds between two looks for missed work; 0 looks only when asked."""

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= self.queue_size:
            raise ValueError("batch_size must be between 1 and queue_size")
        if self.delay_s < 0 or self.backfill_interval_s < 0:
            raise ValueError("delay_s and backfill_interval_s must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """What a back-fill found and what became of it; `left` counts what a stopping worker did not take."""

    found: int
    done: int
    failed: int
    left: int = 0


class Buffer(Generic[T]):
    """A bounded queue in front of a batch handler, with a back-fill. Call its methods on one event loop."""

    def __init__(
        self,
        handler: Callable[[Sequence[T]], Awaitable[None]],
        missing: Callable[[], AsyncIterator[T]],
        *,
        name: str,
        clock: Clock,
        settings: BufferSettings,
        retry: RetryPolicy,
        label: Callable[[T], str],
        key: Callable[[T], Hashable],
        on_drop: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._missing = missing
        self._owed = True
        self._heard = on_drop
        self._filling = anyio.Lock()
        self._worker = BatchWorker(
            handler,
            name=name,
            clock=clock,
            capacity=settings.queue_size,
            batch_size=settings.batch_size,
            max_delay_s=settings.delay_s,
            retry=retry,
            label=label,
            key=key,
            on_drop=self._dropped,
            on_fail=lambda _: self.owe(),
        )
        self._rounds: Periodic | None = None
        if settings.backfill_interval_s > 0:
            self._rounds = Periodic(
                self._backfill_if_owed,
                name=f"{name} back-fill",
                interval_s=settings.backfill_interval_s,
                clock=clock,
            )

    @property
    def dropped_count(self) -> int:
        """Items refused because the queue was full or the buffer was stopping."""
        return self._worker.dropped_count

    @property
    def failed_count(self) -> int:
        """Items whose handling failed for good."""
        return self._worker.failed_count

    @property
    def handled_count(self) -> int:
        """Items handled."""
        return self._worker.handled_count

    @property
    def pending_count(self) -> int:
        """Items accepted and not yet handled."""
        return self._worker.pending_count

    def submit(self, item: T) -> bool:
        """Queue the item and return at once; False when it was dropped and a back-fill has to find it."""
        return self._worker.submit(item)

    def owe(self) -> None:
        """Say that something was missed: the next round looks for it."""
        self._owed = True

    async def drain(self) -> None:
        """Wait until everything accepted has been handled or has failed."""
        await self._worker.drain()

    async def backfill(self) -> BackfillReport:
        """Find and do what was missed, waiting for room in the queue rather than dropping; one at a time."""
        async with self._filling:
            self._owed = False
            found = queued = 0
            done, failed = self.handled_count, self.failed_count
            try:
                async for item in self._missing():
                    found += 1
                    queued += await self._worker.put(item)
                await self.drain()
            except BaseException:  # boundary: whatever ended the search, the work is still owed
                self.owe()
                raise
            failed = self.failed_count - failed
            # Saves that come meanwhile are handled beside what was found, so the counts are capped by it.
            return BackfillReport(
                found=found,
                done=min(queued, self.handled_count - done),
                failed=min(queued, failed),
                left=found - queued,
            )

    def start(self, task_group: TaskGroup) -> None:
        """Begin to work in the given group; call `stop` before the group ends."""
        self._worker.start(task_group)
        if self._rounds is not None:
            self._rounds.start(task_group)

    async def stop(self, deadline_s: float) -> int:
        """Handle what is queued for `deadline_s` seconds of real time; the number of items left undone."""
        async with anyio.create_task_group() as group:
            if self._rounds is not None:
                group.start_soon(self._rounds.stop, deadline_s)
            left = await self._worker.stop(deadline_s)
        return left  # noqa: RET504 -- inside the group mypy sees a path without a return

    def _dropped(self) -> None:
        self.owe()
        if self._heard is not None:
            self._heard()

    async def _backfill_if_owed(self) -> None:
        if self._owed:
            await self.backfill()
