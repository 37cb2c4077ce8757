"""The blocking twin, for scripts and notebooks: the same verbs, no `await`.

One event loop runs in a thread of its own for as long as the app is open; every call is handed to it. The verbs are
the async ones, wrapped: their signatures, types and docstrings are the same by construction.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack

from lamina import app as asynchronous
from lamina.config import Settings
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.kernel.clock import Clock
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService
from lamina.memory.types import IdentifierArguments
from lamina.observability.metrics import Metrics

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Inner = TypeVar("Inner")


class _Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._gate = threading.Lock()
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name="lamina-sync", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether nothing runs here any more."""
        return not self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run to the end and hand back what it returns or raises; an interrupt cancels it.

        Raises ConfigurationError when the loop has ended or ends meanwhile, and on the loop's own thread, which
        would wait for itself.
        """
        future = self._submit(work)
        try:
            return future.result()
        except CancelledError:
            if self._ending:
                raise _closed() from None
            raise
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _submit(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        with self._gate:  # what is taken here is taken before the end, and the end finishes it
            if self._ending:
                work.close()
                raise _closed()
            if threading.current_thread() is self._thread:
                work.close()
                raise ConfigurationError("A blocking call was made from inside another one; use the async API there.")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what still runs, and end; idempotent."""
        with self._gate:
            if not self._ending:
                self._ending = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        with closing(self._loop):
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_others())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _closed() -> ConfigurationError:
    return ConfigurationError("The app is closed; open it again.")


class _Twin(Generic[Inner]):
    """Holds an async object and the loop it lives on."""

    def __init__(self, inner: Inner, loop: _Loop) -> None:
        self._inner = inner
        self._loop = loop


class _HasTwin(Protocol[S]):
    _inner: S
    _loop: _Loop


def _blocking(
    verb: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["_HasTwin[S]", P], R]:
    @functools.wraps(verb)
    def call(self: "_HasTwin[S]", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(verb(self._inner, *args, **kwargs))

    return call


class SyncMemory(_Twin[MemoryService]):
    """`app.memory`, blocking."""

    add = _blocking(MemoryService.add)
    bulk_add = _blocking(MemoryService.bulk_add)
    search = _blocking(MemoryService.search)
    get = _blocking(MemoryService.get)
    history = _blocking(MemoryService.history)
    update = _blocking(MemoryService.update)
    delete = _blocking(MemoryService.delete)
    bulk_delete = _blocking(MemoryService.bulk_delete)
    list = _blocking(MemoryService.list)

    def for_tenant(self, tenant: str) -> "SyncMemory":
        """The same memory for another tenant."""
        return SyncMemory(self._inner.for_tenant(tenant), self._loop)

    def scoped(self, **identifiers: Unpack[IdentifierArguments]) -> "SyncMemory":
        """The same memory with identifiers filled in."""
        return SyncMemory(self._inner.scoped(**identifiers), self._loop)


class SyncHierarchy(_Twin[Hierarchy]):
    """`app.hierarchy`, blocking."""

    set = _blocking(Hierarchy.set)
    remove = _blocking(Hierarchy.remove)
    all = _blocking(Hierarchy.all)


class SyncApp:
    """An app to be used without `await`; a context manager, open from the start."""

    def __init__(self, inner: asynchronous.App) -> None:
        self._loop = _Loop()
        self._inner = inner
        self._closing = threading.Lock()
        try:
            self._loop.run(inner.start())
        except BaseException:  # boundary: whatever went wrong, the thread ends
            self._loop.stop()
            raise
        self.memory = SyncMemory(inner.memory, self._loop)
        self.hierarchy = SyncHierarchy(inner.hierarchy, self._loop)

    sweep = _blocking(asynchronous.App.sweep)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._inner.settings

    @property
    def metrics(self) -> Metrics:
        """The app's instruments."""
        return self._inner.metrics

    def close(self) -> None:
        """Finish accepted writes and close; idempotent."""
        with self._closing:
            if not self._loop.ended:
                try:
                    self._loop.run(self._inner.close())
                finally:
                    self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> SyncApp:
    """Like `lamina.open`, but open when it returns and blocking: `with lamina.sync.open("lamina.db") as app:`."""
    return SyncApp(
        asynchronous.open(target, settings=settings, embedder=embedder, clock=clock, metrics=metrics, **overrides)
    )
