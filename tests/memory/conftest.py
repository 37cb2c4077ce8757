"""An open app for the tests of memory, its clock moved by hand."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from lamina.memory.service import MemoryService
from tests.stores import CountingEmbedder, app_on


@pytest.fixture
def embedder() -> CountingEmbedder:
    """What the app embeds with; counts what it was asked for."""
    return CountingEmbedder()


@pytest.fixture
async def app(store_url: str, clock: ManualClock, embedder: CountingEmbedder) -> AsyncIterator[App]:
    """An app on an empty store of each engine."""
    async with app_on(store_url, clock=clock, embedder=embedder) as opened:
        embedder.texts.clear()  # a new embedder is calibrated when a store adopts it
        yield opened


@pytest.fixture
def memory(app: App) -> MemoryService:
    """The app's memory."""
    return app.memory
