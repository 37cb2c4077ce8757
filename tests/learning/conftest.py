"""An open app that learns, on each engine in turn, its clock moved by hand."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from lamina.learning.service import LearningService
from tests.learning.opening import learning_app


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store."""
    async with learning_app(store_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def learning(app: App) -> LearningService:
    """The app's learning."""
    return app.learning
