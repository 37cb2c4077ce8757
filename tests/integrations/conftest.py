"""An open app on SQLite for the adapters: what differs by engine is tested where it differs."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from tests.context.opening import context_app


@pytest.fixture
async def app(sqlite_store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store, with knowledge switched on."""
    async with context_app(sqlite_store_url, clock=clock) as opened:
        yield opened
