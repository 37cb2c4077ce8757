"""Time as a port: the real clock, and one that a test moves by hand."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio
import anyio.lowlevel


class Clock(Protocol):
    """Where time comes from; nothing else in the house asks the system for it."""

    def now(self) -> datetime:
        """The current moment, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go backwards; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when `seconds` have passed; cancellable; zero or less only yields to other tasks."""
        ...

    async def idle(self, seconds: float) -> None:
        """Like `sleep`, for background work that waits for its next turn rather than for a result."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The current moment, timezone-aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Suspend this task for `seconds`."""
        await anyio.sleep(max(0.0, seconds))

    async def idle(self, seconds: float) -> None:
        """Suspend this task for `seconds`."""
        await anyio.sleep(max(0.0, seconds))


class ManualClock:
    """A clock that moves only when told, for tests without waiting.

    `sleep` moves the clock forward by what was asked, records it in `slept` and lets other tasks run once.
    `idle` stays put until somebody moves the clock far enough, so that background work never runs away with
    time. Move it from the event loop's own thread.
    """

    def __init__(self, start: datetime = datetime(2025, 1, 1, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError("start must be timezone-aware")
        self._start = start.astimezone(UTC)
        self._elapsed = 0.0
        self._idle: list[tuple[float, anyio.Event]] = []
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The start plus everything advanced and slept so far."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds advanced and slept so far."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move forward; raises ValueError for a negative step, because time does not go back."""
        if seconds < 0:
            raise ValueError("a clock does not go back")
        self._elapsed += seconds
        for until, due in self._idle:
            if until <= self._elapsed:
                due.set()

    async def sleep(self, seconds: float) -> None:
        """Advance by `seconds` and return at once."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))
        await anyio.lowlevel.checkpoint()

    async def idle(self, seconds: float) -> None:
        """Return once the clock has been moved by `seconds` in all."""
        waiting = (self._elapsed + seconds, anyio.Event())
        if seconds <= 0:
            waiting[1].set()
        self._idle.append(waiting)
        try:
            await waiting[1].wait()
        finally:
            self._idle.remove(waiting)
