"""The story, told once a module."""

import asyncio
from pathlib import Path

import pytest

from lamina.demo.telling import fill
from tests.house.story import exported, opened, settings_of


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the story, which tests only read."""
    path = tmp_path_factory.mktemp("told") / "story.db"
    assert asyncio.run(fill(settings_of(path)))
    return path


@pytest.fixture(scope="session")
def story(told: Path) -> list[bytes]:
    """The story as the lines of an export."""

    async def read() -> list[bytes]:
        async with opened(told) as app:
            return await exported(app)

    return asyncio.run(read())
