"""An open app with skills switched on, on each engine in turn, its clock moved by hand."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App
from lamina.kernel.clock import ManualClock
from lamina.skill.service import SkillService
from tests.skill.opening import skilled_app


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store, without a limit on new skills."""
    async with skilled_app(store_url, clock=clock, max_per_day=0) as opened:
        yield opened


@pytest.fixture
def skills(app: App) -> SkillService:
    """The app's skills."""
    return app.skills
