"""The directory of scopes: who is there, and what somebody in particular sees of it."""

import pytest

from lamina.app import App
from lamina.house.tenant import Tenant
from lamina.memory.scopes import ScopeCount
from lamina.memory.types import Identifiers, MemoryLayer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def tenant(app: App) -> Tenant:
    """A tenant with memories in several scopes, beside another tenant's."""
    rooms = app.for_tenant("t")
    for user in ("ana", "ana", 'b"en_%'):
        await rooms.memory.add(f"{user} likes tea", user_id=user)
    await rooms.memory.add("Answers in short sentences", layer="agent", agent_id="helper", user_id="ana")
    await rooms.memory.add("Answers at length", layer="agent", agent_id="helper", user_id='b"en_%')
    await rooms.memory.add("Two spaces", layer="project", project_id="shop")
    await rooms.memory.add("Tabs", layer="team", team_id="default")
    gone = await rooms.memory.add("Soon gone", user_id="carl")
    await rooms.memory.delete(gone.id, user_id="carl")
    await app.for_tenant("other").memory.add("Not theirs", user_id="dora")
    return rooms


def names(found: tuple[ScopeCount, ...]) -> list[tuple[str, dict[str, str], int]]:
    return [(one.layer.value, one.identifiers.to_dict(), one.entries) for one in found]


async def test_scopes_with_memories_are_listed_strongest_and_fullest_first(tenant: Tenant) -> None:
    found = names(await tenant.scopes.list())
    assert [layer for layer, _, _ in found] == ["agent", "agent", "user", "user", "project", "team"]
    assert found[2:4] == [("user", {"user_id": "ana"}, 2), ("user", {"user_id": 'b"en_%'}, 1)]
    assert names(await tenant.scopes.list(layer="project")) == [("project", {"project_id": "shop"}, 1)]
    assert len(await tenant.scopes.list(limit=1)) == 1


async def test_a_scope_is_found_by_part_of_an_identifier_and_not_by_its_name(tenant: Tenant) -> None:
    assert names(await tenant.scopes.list(text="SHO")) == [("project", {"project_id": "shop"}, 1)]
    assert len(await tenant.scopes.list(text='b"EN_%')) == 2
    assert await tenant.scopes.list(text="user_id") == ()
    assert await tenant.scopes.list(text="%") == await tenant.scopes.list(text="_%")


async def test_somebody_sees_their_own_scopes_and_those_above_them(tenant: Tenant) -> None:
    mine = await tenant.scopes.list(reach=Identifiers(user_id="ana"))
    assert names(mine) == [("agent", {"agent_id": "helper", "user_id": "ana"}, 1), ("user", {"user_id": "ana"}, 2)]
    of_project = await tenant.scopes.list(reach=Identifiers(project_id="shop", team_id="default"))
    assert [one.layer.value for one in of_project] == ["project", "team"]
    assert await tenant.scopes.list(reach=Identifiers(user_id="an")) == ()
    with_another_agent = await tenant.scopes.list(reach=Identifiers(user_id="ana", agent_id="other"))
    assert [one.layer.value for one in with_another_agent] == ["user"]


async def test_memories_are_counted_by_layer_and_tenant(tenant: Tenant) -> None:
    counts = await tenant.scopes.counts()
    assert counts[MemoryLayer.USER] == 3
    assert counts[MemoryLayer.COMPANY] == 0
    assert sum(counts.values()) == 7
