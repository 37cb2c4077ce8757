"""An open app on each engine in turn, its clock moved by hand; afterwards the store must be in order."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from lamina.session.service import SessionService
from tests.session.opening import loose_ends, talking_app


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store."""
    async with talking_app(store_url, clock=clock) as opened:
        yield opened
        assert await loose_ends(opened) == {}


@pytest.fixture
def sessions(app: App) -> SessionService:
    """The app's conversations."""
    return app.sessions
