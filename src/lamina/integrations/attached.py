"""The app that an integration works with: opened by whoever made it, or by the first turn that needs it.

Frameworks build agents at import, before any event loop runs, so an app may be handed over that is not open yet. An
open app is asked on the loop it was opened on, wherever a turn runs. What the owner opened, the owner closes.
"""

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from lamina.app import App
from lamina.app import open as open_app
from lamina.errors import ConfigurationError

T = TypeVar("T")
Work = Callable[[App], Coroutine[Any, Any, T]]

_attached: "weakref.WeakValueDictionary[int, AttachedApp]" = weakref.WeakValueDictionary()
_gate = threading.Lock()
_own_loop: asyncio.AbstractEventLoop | None = None


class AttachedApp:
    """An app that is opened when it is first needed; get one from `attach`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._starting: Future[App] | None = None
        self._theirs = False

    async def run(self, work: Work[T]) -> T:
        """Do something with the app, open, on its own loop and in the caller's context; raises what that raises.

        Raises ConfigurationError once its owner, or the loop it was opened on, has closed.
        """
        await self._opened()
        loop = self.app.loop
        if loop is asyncio.get_running_loop():
            return await work(self.app)
        if loop.is_closed():
            raise ConfigurationError("The event loop that the app was opened on has ended; open the app again.")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(self.app), loop))

    def block(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something with the app for code that cannot await, in the caller's context; raises what that raises.

        Raises ConfigurationError where the app's loop could not answer: it does not run, or this thread would block it.
        """
        if self.app.is_open and (not self.app.loop.is_running() or self.app.loop is _running_loop()):
            raise ConfigurationError(
                "The event loop that the app was opened on cannot answer a blocking call; await instead."
            )
        # In a thread of its own: this one may run a loop, and no app may be opened on a loop that ends with the call.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="lamina-integrations") as pool:
            return pool.submit(contextvars.copy_context().run, lambda: asyncio.run(work())).result()

    async def _opened(self) -> None:
        if self.app.is_open:
            self._theirs = self._theirs or self._starting is None
            return
        if self._theirs:
            raise ConfigurationError("The app was closed; open it again.")
        with _gate:
            if self._starting is None or self._starting.done():
                self._starting = asyncio.run_coroutine_threadsafe(self.app.start(), _chosen_loop())
            starting = self._starting
        # Shielded: a turn that gives up waiting does not stop the opening that others wait for.
        await asyncio.shield(asyncio.wrap_future(starting))

    async def close(self) -> None:
        """Close the app, unless its owner opened it; idempotent."""
        if self._starting is not None and not self._theirs and self.app.is_open:
            await self.run(App.close)


def attach(app: App | str | Path) -> AttachedApp:
    """The app to work with, the same for all who name it; a path or an address opens a store of its own."""
    if not isinstance(app, App):
        return AttachedApp(open_app(app or None))
    with _gate:
        known = _attached.get(id(app))
        if known is None:
            known = _attached[id(app)] = AttachedApp(app)
        return known


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _chosen_loop() -> asyncio.AbstractEventLoop:
    """Where an app is opened that nobody opened; call it with the gate held.

    On the loop of the turn that needs it, where tools can use the app as well; but loops outside of the main thread
    often last for one turn only, so there it gets one of its own, in a daemon thread, made once a process.
    """
    global _own_loop
    if threading.current_thread() is threading.main_thread():
        return asyncio.get_running_loop()
    if _own_loop is None:
        _own_loop = asyncio.new_event_loop()
        threading.Thread(target=_own_loop.run_forever, name="lamina-integrations", daemon=True).start()
    return _own_loop
