"""Nobody sees, changes or removes what is another's: not by id, not by search, not through any statement."""

import importlib
import json
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.sql import visitors

import lamina
from lamina.app import App
from lamina.database.link import Link, Prepared
from lamina.database.schema import metadata
from lamina.errors import InvalidCursorError, InvalidInputError, MemoryNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.memory.service import MemoryService
from lamina.memory.transfer import Transfer
from lamina.memory.types import AddResult, Identifiers, NewMemory
from tests.loose_ends import loose_ends
from tests.stores import app_on

SECRET = "The vault opens with the number 4711"
STRANGERS = ["another tenant", "another user", "a project"]


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    async with app_on(store_url, clock=clock) as opened:
        yield opened
    assert loose_ends(store_url) == {}


def stranger(app: App, name: str) -> MemoryService:
    """Memory as somebody sees it who must not see ann's."""
    if name == "another tenant":
        return app.memory.for_tenant("other").scoped(user_id="ann", session_id="s1")
    if name == "another user":
        return app.memory.scoped(user_id="bob", session_id="s1")
    return app.memory.scoped(project_id="p1")


async def ann_adds(app: App) -> list[AddResult]:
    ann = app.memory.scoped(user_id="ann", session_id="s1")
    return [await ann.add(SECRET, metadata={"n": 1}), await ann.add(SECRET, layer="session")]


async def exported(app: App, clock: ManualClock, tenant: str) -> list[bytes]:
    return [line async for line in transfer(app, clock, tenant).export_lines()]


def transfer(app: App, clock: ManualClock, tenant: str) -> Transfer:
    parts, settings = app.parts, app.settings.memory
    return Transfer(database=parts.database, provider=parts.provider, settings=settings, clock=clock, tenant=tenant)


@pytest.mark.anyio
@pytest.mark.parametrize("name", STRANGERS)
async def test_a_stranger_finds_nothing_by_any_verb_and_changes_nothing(
    app: App, clock: ManualClock, name: str
) -> None:
    added = await ann_adds(app)
    before = await exported(app, clock, "default")
    other = stranger(app, name)
    for each in added:
        assert await other.get(each.id) is None
        assert await other.history(each.id) == ()
        with pytest.raises(MemoryNotFoundError) as foreign:
            await other.update(each.id, content="mine now")
        with pytest.raises(MemoryNotFoundError) as absent:
            await other.update("no-such-id", content="mine now")
        shown, wanted = foreign.value.to_dict(), absent.value.to_dict()
        assert {**shown, "details": {}} == {**wanted, "details": {}}
        assert shown["details"] == {"id": each.id}
        assert await other.delete(each.id) == await other.delete("no-such-id")
    assert (await other.bulk_delete([each.id for each in added])).deleted == 0
    hits = await other.search(SECRET, threshold=0)
    assert (len(hits), hits.total_count, hits.duplicates) == (0, 0, ())
    for layer in ("user", "session") if name != "a project" else ("project", "team"):
        page = await other.list(layer=layer)
        assert (page.memories, page.total_count, page.next_cursor) == ((), 0, None)
    assert await exported(app, clock, "default") == before


@pytest.mark.anyio
async def test_a_stranger_with_memories_of_their_own_sees_only_those(app: App) -> None:
    await ann_adds(app)
    for name in STRANGERS[:2]:
        other = stranger(app, name)
        mine = await other.add(SECRET)
        assert [hit.id for hit in await other.search(SECRET, threshold=0)] == [mine.id]
        assert [entry.id for entry in (await other.list()).memories] == [mine.id]
        assert (await other.list(where={"n": 1})).total_count == 0
        assert len(await other.search(SECRET, threshold=0, where={"n": 1})) == 0


@pytest.mark.anyio
async def test_another_session_of_the_same_user_sees_the_user_and_not_the_session(app: App) -> None:
    mine, of_session = await ann_adds(app)
    later = app.memory.scoped(user_id="ann", session_id="s2")
    assert await later.get(mine.id) == mine.memory
    assert await later.get(of_session.id) is None
    assert [hit.id for hit in await later.search(SECRET, threshold=0)] == [mine.id]
    assert (await later.bulk_delete([of_session.id])).deleted == 0
    assert await app.memory.get(of_session.id, user_id="ann", session_id="s1") is not None


@pytest.mark.anyio
async def test_the_same_id_in_two_tenants_is_two_memories(app: App) -> None:
    new = NewMemory(content="one", identifiers=Identifiers(user_id="ann"), id="shared")
    here, there = app.memory.scoped(user_id="ann"), app.memory.for_tenant("other").scoped(user_id="ann")
    await here.bulk_add([new])
    await there.bulk_add([new])
    await there.update("shared", content="two")
    await there.update("shared", expires_at=None, tags=["x"])
    assert [state.content for state in await here.history("shared")] == ["one"]
    await there.delete("shared")
    kept = await here.get("shared")
    assert kept is not None
    assert (kept.content, kept.version) == ("one", 1)
    assert [hit.id for hit in await here.search("one", threshold=0)] == ["shared"]


@pytest.mark.anyio
async def test_a_cursor_is_of_no_use_to_anybody_else(app: App) -> None:
    ann = app.memory.scoped(user_id="ann")
    for number in range(3):
        await ann.add(f"entry {number}")
    cursor = (await ann.list(limit=1)).next_cursor
    assert cursor is not None
    for other in (app.memory.for_tenant("other").scoped(user_id="ann"), app.memory.scoped(user_id="bob")):
        await other.add("an entry")
        with pytest.raises(InvalidCursorError):
            await other.list(limit=1, cursor=cursor)


@pytest.mark.anyio
async def test_an_export_holds_one_tenant_and_an_import_touches_one(app: App, clock: ManualClock) -> None:
    added = await ann_adds(app)
    await app.hierarchy.set(tenant="default", project_id="web", team_id="ui")
    before = await exported(app, clock, "default")
    assert [json.loads(line) for line in await exported(app, clock, "other")] == [{"lamina_export": 1, "memories": 0}]
    await transfer(app, clock, "other").import_lines(before, on_conflict="error")
    await transfer(app, clock, "other").import_lines(before, on_conflict="replace")
    there = app.memory.for_tenant("other")
    await there.update(added[0].id, content="another story", user_id="ann")
    assert await app.hierarchy.remove(tenant="other", kind="project", id="web")
    assert await exported(app, clock, "default") == before


@pytest.mark.anyio
async def test_the_hierarchy_of_one_tenant_opens_nothing_in_another(app: App) -> None:
    await app.hierarchy.set(tenant="default", project_id="web", team_id="ui", org_id="labs")
    theirs = await app.memory.add(SECRET, layer="team", team_id="ui")
    assert await app.memory.get(theirs.id, project_id="web") is not None
    other = app.memory.for_tenant("other")
    added = await other.add("A rule of the team", layer="team", project_id="web")
    assert added.memory.identifiers.team_id == "default"
    assert await other.get(theirs.id, project_id="web") is None
    assert await app.hierarchy.all(tenant="other") == []
    assert await app.hierarchy.remove(tenant="other", kind="project", id="web") is False
    assert len(await app.hierarchy.all(tenant="default")) == 2
    for call in (
        app.hierarchy.set(tenant="\0", project_id="a", team_id="b"),
        app.hierarchy.all(tenant=""),
        app.hierarchy.remove(tenant="\0", kind="project", id="web"),
        app.hierarchy.remove(tenant="default", kind="project", id="\0"),
    ):
        with pytest.raises(InvalidInputError):
            await call


@pytest.mark.anyio
async def test_a_sweep_takes_what_expired_and_nothing_else_of_any_tenant(app: App, clock: ManualClock) -> None:
    soon = clock.now() + timedelta(minutes=1)
    tenants = [app.memory, app.memory.for_tenant("other")]
    kept = [await memory.add("stays", user_id="ann") for memory in tenants]
    for memory in tenants:
        await memory.add("goes", user_id="ann", expires_at=soon)
    clock.advance(61)
    assert await app.sweep() == 2
    for memory, entry in zip(tenants, kept, strict=True):
        assert [each.id for each in (await memory.list(user_id="ann")).memories] == [entry.id]
    assert await app.parts.provider.drop_tombstones("other") == 1
    assert await app.parts.provider.drop_tombstones("other") == 0
    assert await app.parts.provider.drop_tombstones("default") == 1
    for memory, entry in zip(tenants, kept, strict=True):
        assert [hit.id for hit in await memory.search("stays or goes", user_id="ann", threshold=0)] == [entry.id]


# What follows looks at tables and statements, not at behaviour: a room that forgets its tenant is found at once.


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(lamina.__path__, "lamina."):
        if ".migrations" not in found.name and not found.name.startswith(("lamina.cli.__main__", "lamina.__main__")):
            yield importlib.import_module(found.name)


def test_every_table_has_a_tenant_that_cannot_be_missing() -> None:
    assert len(list(modules())) > 20
    for table in metadata.sorted_tables:
        if "store_wide" in table.info:
            continue
        assert "tenant" in table.c, table.name
        assert not table.c.tenant.nullable, table.name
    store_wide = {table.name for table in metadata.sorted_tables if "store_wide" in table.info}
    assert store_wide == {"embedding_model"}


def names_its_tenant(statement: Any, dialect: sa.Dialect) -> bool:
    """Whether an insert sets the tenant, and whatever else reads or changes a tenant's rows asks for one."""
    tables = {each for each in visitors.iterate(statement) if isinstance(each, sa.Table) and "tenant" in each.c}
    compiled = statement.compile(dialect=dialect)
    if isinstance(statement, sa.Insert):
        return not tables or "tenant" in compiled.params
    _, _, asked = str(compiled).partition("WHERE")
    return not tables or "tenant" in asked


DIALECTS = {
    name: sa.make_url(f"{driver}://").get_dialect()()
    for name, driver in (("sqlite", "sqlite"), ("postgresql", "postgresql+psycopg"))
}


def test_every_prepared_statement_names_its_tenant() -> None:
    found: set[tuple[str, str]] = set()
    careless: set[tuple[str, str]] = set()
    for module in modules():
        for name, value in vars(module).items():
            variants = value if isinstance(value, dict) else {"sqlite": value}
            for dialect, each in variants.items():
                if isinstance(each, Prepared):
                    found.add((module.__name__, name))
                    if not names_its_tenant(each.statement, DIALECTS[dialect]):
                        careless.add((module.__name__, name))
    assert len(found) > 15
    assert not careless


class Watch:
    """Looks at every statement that passes a link."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen = 0
        self.careless: set[str] = set()
        for name in ("run", "run_many", "execute"):
            monkeypatch.setattr(Link, name, self._watched(getattr(Link, name)))

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(link: Link, given: Any, *rest: Any) -> Any:
            statement: Any = given.statement if isinstance(given, Prepared) else given
            self.seen += 1
            if not names_its_tenant(statement, link.dialect):
                self.careless.add(str(statement.compile(dialect=link.dialect)))
            return original(link, given, *rest)

        return call


@pytest.mark.anyio
async def test_every_statement_of_every_verb_names_its_tenant(
    app: App, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch)
    memory = app.memory.scoped(user_id="ann", project_id="web")
    await app.hierarchy.set(tenant="default", project_id="web", team_id="ui")
    added = await memory.add(SECRET, metadata={"n": 1}, tags=["t"])
    (bulk,) = await memory.bulk_add([NewMemory(content="more", layer="project")])
    await memory.search("vault", threshold=0)
    await memory.search("vault", threshold=0, tags=["t"], where={"n": 1})
    await memory.get(added.id)
    await memory.update(added.id, content="The vault is closed")
    await memory.update(added.id, expires_at=clock.now() + timedelta(days=1))
    await memory.history(added.id)
    await memory.list(tags=["t"], limit=1)
    await transfer(app, clock, "copy").import_lines(await exported(app, clock, "default"), on_conflict="replace")
    await memory.bulk_delete([bulk.id])
    await memory.delete(added.id)
    await app.parts.provider.drop_tombstones("default")
    await app.hierarchy.all(tenant="default")
    await app.hierarchy.remove(tenant="default", kind="project", id="web")
    assert watch.seen > 40
    assert not watch.careless
