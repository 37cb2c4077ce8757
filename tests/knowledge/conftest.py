"""An open app with knowledge switched on, on each engine in turn, its clock moved by hand."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from tests.knowledge.opening import knowing_app


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store."""
    async with knowing_app(store_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def knowledge(app: App) -> KnowledgeService:
    """The app's knowledge."""
    return app.knowledge


@pytest.fixture
def references(app: App) -> ReferenceService:
    """The app's references."""
    return app.references
