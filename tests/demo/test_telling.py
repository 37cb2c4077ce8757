"""The story: told once, to a store of its own, with something for every room."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.demo.settings import demo_settings
from lamina.demo.story import read_story
from lamina.demo.telling import fill
from lamina.errors import InvalidInputError, LaminaError
from lamina.observability.metrics import Metrics

pytestmark = pytest.mark.anyio


def settings_of(path: Path) -> Settings:
    return Settings(database=DatabaseSettings(url=str(path)))


def opened(path: Path) -> App:
    return App(demo_settings(settings_of(path)), metrics=Metrics(), observing=False)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the story, which tests only read."""
    path = tmp_path_factory.mktemp("told") / "story.db"
    assert asyncio.run(fill(settings_of(path)))
    return path


async def test_every_room_has_something_to_show(told: Path) -> None:
    async with opened(told) as app:
        sessions = (await app.sessions.list()).sessions
        assert {session.user_id for session in sessions} == {"mara", "jonas", "priya"}
        assert {each["id"] for each in await app.hierarchy.all() if each["kind"] == "project"} == {
            "tidewater",
            "orchard",
        }
        timeline = await app.observation.timeline("slack:tidewater:mara")
        assert timeline.observations
        assert timeline.reflections
        assert timeline.archived_through > 50
        assert {skill.status.value for skill in (await app.skills.list()).skills} == {"active", "draft"}
        assert [case.key for case in await app.context.quarantine.list()] == ["vendor-gauge-page"]
        assert len(await app.context.list_receipts()) >= 5
        assert await app.graph.neighbours("Tidewater")
        assert [state.version for state in await app.knowledge.history("retry-limit")] == [2, 1]
        assert (await app.references.get("tide-service")).location.endswith("/v4")
        assert (await app.audit.list(action="tool_call", limit=100)).rows


async def test_confidence_moved_with_what_helped(told: Path) -> None:
    async with opened(told) as app:
        trust = {one.tool: one.confidence for one in (await app.learning.list()).learnings}
        assert trust["deploy"] > trust["pipeline_status"] > 0.5
        known = await app.learning.fix_for("fetch_tides", TimeoutError("the tide service did not answer within 20 s"))
        assert known is not None
        assert "version 4" in (known.fix or "")


async def test_it_happened_in_the_two_weeks_before_today(told: Path) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    async with opened(told) as app:
        page = await app.memory.list(layer="company", company_id="fernhill")
        assert all(today - timedelta(days=15) <= one.created_at < today for one in page.memories)
        assert max(session.updated_at for session in (await app.sessions.list()).sessions) < today


async def test_questions_about_it_are_answered(told: Path) -> None:
    async with opened(told) as app:
        for question, answer, who in (
            ("May I deploy on Friday afternoon?", "Fridays", "priya"),
            ("From where does Mara work?", "Porto", "mara"),
            ("Which gauge is right at Cacilhas?", "2081", "jonas"),
        ):
            found = await app.memory.search(question, user_id=who, project_id="tidewater")
            assert any(answer in hit.content for hit in found), question
        (memory,) = [one for one in (await app.memory.list(user_id="mara")).memories if "Porto" in one.content]
        assert len(await app.memory.history(memory.id, user_id="mara")) == 2


async def test_telling_it_again_changes_nothing(told: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(told, copy)
    assert await fill(settings_of(copy)) is False
    async with opened(copy) as again, opened(told) as first:
        assert (await again.sessions.list()).sessions == (await first.sessions.list()).sessions


async def test_a_store_with_something_else_is_left_alone(tmp_path: Path) -> None:
    async with opened(tmp_path / "mine.db") as app:
        await app.memory.add("Mine", user_id="me")
    with pytest.raises(InvalidInputError, match="place of its own"):
        await fill(settings_of(tmp_path / "mine.db"))


async def test_a_story_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        assert total == len(read_story().events)
        raise LaminaError("enough")

    with pytest.raises(LaminaError, match="enough"):
        await fill(settings_of(tmp_path / "story.db"), progress=interrupt)
    assert list(tmp_path.iterdir()) == []
