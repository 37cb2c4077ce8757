"""An event loop in a thread of its own, and how a blocking verb is made from an async one."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import closing
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from lamina.errors import ConfigurationError

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Inner = TypeVar("Inner")


class Loop:
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


class Twin(Generic[Inner]):
    """Holds an async object and the loop it lives on."""

    def __init__(self, inner: Inner, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop


class HasTwin(Protocol[S]):
    _inner: S
    _loop: Loop


def blocking(
    verb: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["HasTwin[S]", P], R]:
    @functools.wraps(verb)
    def call(self: "HasTwin[S]", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(verb(self._inner, *args, **kwargs))

    return call
