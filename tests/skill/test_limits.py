"""New skills of a day are counted exactly, on both engines and under concurrency."""

from datetime import timedelta

import anyio
import pytest

from lamina.app import App
from lamina.errors import InvalidInputError, RateLimitedError, ScriptRefusedError
from lamina.kernel.clock import ManualClock
from lamina.skill.service import SkillService
from tests.skill.opening import loose_ends, skilled_app

pytestmark = pytest.mark.anyio


async def _create(skills: SkillService, name: str) -> None:
    await skills.create(name, description=f"Says {name}", type="template", definition={"template": "Hi"})


async def test_the_limit_of_a_day_is_named_when_it_is_reached_and_free_the_next_day(
    store_url: str, clock: ManualClock
) -> None:
    async with skilled_app(store_url, clock=clock) as app:
        for at in range(5):
            await _create(app.skills, f"s{at}")
        with pytest.raises(RateLimitedError) as caught:
            await _create(app.skills, "s5")
        assert caught.value.details["limit"] == "skill.max_per_day"
        await app.skills.update("s0", description="Changing one takes no slot")
        assert await app.skills.created_today() == 5
        (row,) = [
            row
            for row in (await app.audit.list(tenant=app.skills.tenant, action="skill_create")).rows
            if "refused" in row.details
        ]
        assert row.target == "s5"
        await _create(app.skills.for_tenant("other"), "s5")
        clock.advance(timedelta(days=1).total_seconds())
        await _create(app.skills, "s5")


async def test_what_is_refused_takes_no_slot(store_url: str, clock: ManualClock) -> None:
    async with skilled_app(store_url, clock=clock, max_per_day=2) as app:
        await _create(app.skills, "one")
        with pytest.raises(InvalidInputError):
            await _create(app.skills, "one")
        with pytest.raises(ScriptRefusedError):
            await app.skills.create("bad", description="x", type="script", definition={"script": "rm -rf /"})
        assert await app.skills.created_today() == 1


async def test_concurrent_creators_get_exactly_the_limit(store_url: str, clock: ManualClock) -> None:
    async with skilled_app(store_url, clock=clock, max_per_day=3) as app:
        outcomes = await _race(app, [f"s{at}" for at in range(64)])
        assert (outcomes.count("created"), outcomes.count("RATE_LIMITED")) == (3, 61)
        assert (await app.skills.list()).total_count == 3
        assert await loose_ends(app) == {}


async def test_concurrent_creators_of_one_name_make_one_skill_and_take_one_slot(
    store_url: str, clock: ManualClock
) -> None:
    async with skilled_app(store_url, clock=clock, max_per_day=5) as app:
        outcomes = await _race(app, ["same"] * 16)
        assert (outcomes.count("created"), outcomes.count("INVALID_INPUT")) == (1, 15)
        assert await app.skills.created_today() == 1
        assert await loose_ends(app) == {}


async def _race(app: App, names: list[str]) -> list[str]:
    outcomes: list[str] = []

    async def attempt(name: str) -> None:
        try:
            await _create(app.skills, name)
            outcomes.append("created")
        except (RateLimitedError, InvalidInputError) as error:
            outcomes.append(error.code)

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(attempt, name)
    return outcomes


async def test_concurrent_runs_lose_no_count(store_url: str, clock: ManualClock) -> None:
    async with skilled_app(store_url, clock=clock, auto_approve=True) as app:
        await _create(app.skills, "hi")
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(app.skills.run, "hi")
        found = await app.skills.get("hi")
        assert (found.use_count, found.success_count) == (30, 30)
