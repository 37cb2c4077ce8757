"""Background workers that begin and end with an app."""

import asyncio
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import anyio
from anyio.abc import TaskGroup


class Worker(Protocol):
    """Something that works in a task group until it is stopped."""

    def start(self, task_group: TaskGroup) -> None: ...

    async def stop(self, deadline_s: float) -> object: ...


@runtime_checkable
class Queueing(Protocol):
    """A worker with a queue."""

    pending_count: int
    dropped_count: int
    failed_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What waits for a worker now, and what it refused or failed at since it began."""

    name: str
    pending: int
    dropped: int
    failed: int


class Crew:
    """Workers, each in a task of its own, because an app may be started and closed from different tasks."""

    def __init__(self, *, stop_s: float) -> None:
        """`stop_s` is how long each may take to finish what it has accepted; create it on the event loop."""
        self._stop_s = stop_s
        self._loop = asyncio.get_running_loop()
        self._members: list[tuple[str, Worker, float, asyncio.Future[None]]] = []

    def start(self, worker: Worker, *, name: str, stop_s: float | None = None) -> None:
        """Let a worker begin, from any thread; `stop_s` is how long this one may take at the end."""
        patience = self._stop_s if stop_s is None else stop_s
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # a thread without a loop
            here = False
        if here:
            self._members.append((name, worker, patience, self._loop.create_task(_host(worker), name=f"lamina {name}")))
            return
        begun = asyncio.run_coroutine_threadsafe(_host(worker), self._loop)
        self._members.append((name, worker, patience, asyncio.wrap_future(begun, loop=self._loop)))

    def queues(self) -> tuple[Queue, ...]:
        """The workers that have a queue, in the order they began."""
        return tuple(
            Queue(name=name, pending=one.pending_count, dropped=one.dropped_count, failed=one.failed_count)
            for name, one, _, _ in self._members
            if isinstance(one, Queueing)
        )

    async def stop(self) -> None:
        """Stop every worker, the last one first, since it may hand work to those before it; idempotent."""
        while self._members:
            _, worker, patience, task = self._members.pop()
            await worker.stop(patience)
            await task


async def _host(worker: Worker) -> None:
    async with anyio.create_task_group() as group:
        worker.start(group)
