"""An open app on each engine in turn, its clock moved by hand."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from tests.context.opening import context_app


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store."""
    async with context_app(store_url, clock=clock) as opened:
        yield opened
