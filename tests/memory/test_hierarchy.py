"""The stored hierarchy: links, walks, and how soon a change counts."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import InvalidInputError
from lamina.kernel.clock import ManualClock
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.types import Identifiers
from tests.stores import app_on

pytestmark = pytest.mark.anyio

WEB = Identifiers(project_id="web")


@pytest.fixture
async def elsewhere(app: App, store_url: str, clock: ManualClock) -> AsyncIterator[Hierarchy]:
    """The hierarchy as another process sees it."""
    async with app_on(store_url, clock=clock, embedder=app.parts.embedder) as opened:
        yield opened.hierarchy


async def teams(hierarchy: Hierarchy) -> str | None:
    return (await hierarchy.complete("t", WEB)).team_id


async def test_links_are_stored_replaced_listed_and_removed(app: App) -> None:
    hierarchy = app.hierarchy
    await hierarchy.set(tenant="t", project_id="web", team_id="ui", org_id="labs", company_id="acme")
    await hierarchy.set(tenant="t", project_id="web", team_id="backend")
    assert await hierarchy.all(tenant="t") == [
        {"kind": "org", "id": "labs", "parent_id": "acme"},
        {"kind": "project", "id": "web", "parent_id": "backend"},
        {"kind": "team", "id": "ui", "parent_id": "labs"},
    ]
    assert await hierarchy.remove(tenant="t", kind="team", id="ui") is True
    assert await hierarchy.remove(tenant="t", kind="team", id="ui") is False
    assert len(await hierarchy.all(tenant="t")) == 2
    with pytest.raises(InvalidInputError, match="neighbouring"):
        await hierarchy.set(tenant="t", project_id="web", org_id="labs")


async def test_a_walk_fills_in_every_level_above(app: App) -> None:
    hierarchy = app.hierarchy
    await hierarchy.set(tenant="t", project_id="web", team_id="ui", org_id="labs")
    walked = await hierarchy.complete("t", WEB)
    wanted = Identifiers(project_id="web", team_id="ui", org_id="labs", company_id="default")
    assert walked == wanted
    named = await hierarchy.complete("t", Identifiers(user_id="u", team_id="ui"))
    assert named == Identifiers(user_id="u", team_id="ui", org_id="labs", company_id="default")
    assert await hierarchy.complete("t", Identifiers(user_id="u")) == Identifiers(user_id="u")


async def test_a_change_counts_at_once_here_and_within_a_second_elsewhere(
    app: App, elsewhere: Hierarchy, clock: ManualClock
) -> None:
    assert (await teams(app.hierarchy), await teams(elsewhere)) == ("default", "default")
    await app.hierarchy.set(tenant="t", project_id="web", team_id="ui")
    assert await teams(app.hierarchy) == "ui"
    clock.advance(1)
    assert await teams(elsewhere) == "ui"
    await elsewhere.remove(tenant="t", kind="project", id="web")
    assert await teams(elsewhere) == "default"
    clock.advance(1)
    assert await teams(app.hierarchy) == "default"


async def test_a_walk_that_a_change_overtook_is_not_remembered(app: App, clock: ManualClock) -> None:
    class Overtaken:
        """Hands a walk over only after somebody stored a link."""

        async def read(self, work: Callable[[Link], Any]) -> Any:
            walked = await app.parts.database.read(work)
            await hierarchy.set(tenant="t", project_id="web", team_id="ui")
            return walked

        async def write(self, work: Callable[[Link], Any]) -> Any:
            return await app.parts.database.write(work)

    hierarchy = Hierarchy(Overtaken(), clock)  # type: ignore[arg-type]
    assert await teams(hierarchy) == "default"
    assert await teams(hierarchy) == "ui"
