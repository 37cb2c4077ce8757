"""The app that an integration works with: opened by whoever made it, or by the first turn that needs it.

Frameworks build agents at import, before any event loop runs, so an app may be handed over that is not open yet. What
the caller opened, the caller closes.
"""

import asyncio
import threading
import weakref
from concurrent.futures import Future
from pathlib import Path

from lamina.app import App
from lamina.app import open as open_app
from lamina.errors import ConfigurationError

_attached: "weakref.WeakValueDictionary[int, AttachedApp]" = weakref.WeakValueDictionary()
_gate = threading.Lock()


class AttachedApp:
    """An app that is opened when it is first needed; get one from `attach`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._starting: Future[None] | None = None
        self._theirs = False

    async def opened(self) -> App:
        """The app, open. Raises what opening raises, and ConfigurationError once its owner has closed it."""
        if self.app.is_open:
            self._theirs = self._theirs or self._starting is None
            return self.app
        if self._theirs:
            raise ConfigurationError("The app was closed; open it again.")
        with _gate:
            starting = self._starting
            mine = starting is None or starting.done()
            if starting is None or mine:
                starting = self._starting = Future()
        if mine:
            # A task of its own: a turn that gives up waiting does not stop the opening that others wait for.
            self._opening = asyncio.create_task(self._open(starting), name="lamina opening")
        await asyncio.shield(asyncio.wrap_future(starting))
        return self.app

    async def _open(self, started: "Future[None]") -> None:
        try:
            await self.app.start()
        except BaseException as error:  # noqa: BLE001 -- boundary: whoever waits for the opening is told why it failed
            started.set_exception(error)
        else:
            started.set_result(None)

    async def close(self) -> None:
        """Close the app, unless its owner opened it; idempotent."""
        if self._starting is not None and not self._theirs:
            await self.app.close()


def attach(app: App | str | Path) -> AttachedApp:
    """The app to work with, the same for all who name it; a path or an address opens a store of its own."""
    if not isinstance(app, App):
        return AttachedApp(open_app(app or None))
    with _gate:
        known = _attached.get(id(app))
        if known is None:
            known = _attached[id(app)] = AttachedApp(app)
        return known
