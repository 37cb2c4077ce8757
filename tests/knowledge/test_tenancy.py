"""What belongs to another tenant reads as absent, whatever verb asks."""

from collections.abc import Awaitable, Callable

import pytest

from lamina.app import App
from lamina.database.schema import metadata
from lamina.errors import InvalidInputError, KnowledgeNotFoundError, LaminaError, ReferenceNotFoundError
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from tests.knowledge.opening import ROOM

pytestmark = pytest.mark.anyio

KNOWLEDGE_VERBS: dict[str, Callable[[KnowledgeService], Awaitable[object]]] = {
    "get": lambda other: other.get("theme"),
    "history": lambda other: other.history("theme"),
    "delete": lambda other: other.delete("theme"),
    "boost": lambda other: other.boost("theme", 1),
}
REFERENCE_VERBS: dict[str, Callable[[ReferenceService], Awaitable[object]]] = {
    "get": lambda other: other.get("docs"),
    "delete": lambda other: other.delete("docs"),
}


async def told(work: Awaitable[object]) -> dict[str, object]:
    with pytest.raises(LaminaError) as failed:
        await work
    return failed.value.to_dict()


@pytest.mark.parametrize("verb", KNOWLEDGE_VERBS)
async def test_a_verb_tells_nothing_of_another_tenants_key(knowledge: KnowledgeService, verb: str) -> None:
    other = knowledge.for_tenant("other")
    absent = await told(KNOWLEDGE_VERBS[verb](other))
    mine = (await knowledge.save("theme", "Prefers dark mode", category="preference")).entry
    assert await told(KNOWLEDGE_VERBS[verb](other)) == absent
    assert absent["code"] == KnowledgeNotFoundError.code
    assert await knowledge.get("theme") == mine


@pytest.mark.parametrize("verb", REFERENCE_VERBS)
async def test_a_verb_tells_nothing_of_another_tenants_reference(references: ReferenceService, verb: str) -> None:
    other = references.for_tenant("other")
    absent = await told(REFERENCE_VERBS[verb](other))
    mine = await references.save("docs", type="api", location="here", summary="pods")
    assert await told(REFERENCE_VERBS[verb](other)) == absent
    assert absent["code"] == ReferenceNotFoundError.code
    assert await references.get("docs") == mine


async def test_listings_searches_and_use_stay_within_the_tenant(app: App) -> None:
    mine, other = app.knowledge, app.knowledge.for_tenant("other")
    await mine.save("theme", "Prefers dark mode", category="preference", session_key="s")
    await app.references.save("docs", type="api", location="here", summary="pods")
    before = await mine.get("theme")
    assert (await other.list()).total_count == 0
    assert await other.search("dark mode", threshold=0) == ()
    assert await other.search("dark mode", threshold=0, category="preference") == ()
    assert await other.used(["theme"]) == 0
    assert await other.decay(1) == 0
    assert await other.saves_taken("s") == 0
    await other.reset_saves("s")
    assert await mine.saves_taken("s") == 1
    assert (await app.references.for_tenant("other").list()).total_count == 0
    assert await app.references.for_tenant("other").search("pods", threshold=0) == ()
    assert (await app.audit.list(tenant="other")).rows == ()
    assert await mine.get("theme") == before


async def test_two_tenants_keep_the_same_key_apart(app: App) -> None:
    mine, other = app.knowledge, app.knowledge.for_tenant("other")
    await mine.save("theme", "Prefers dark mode", category="preference")
    theirs = await other.save("theme", "Prefers light mode", category="preference")
    assert theirs.outcome == "created"
    await other.delete("theme")
    assert [hit.content for hit in await mine.search("mode")] == ["Prefers dark mode"]
    assert await other.search("mode", threshold=0) == ()
    assert [row.action for row in (await app.audit.list(tenant="other")).rows] == ["knowledge_delete", "knowledge_save"]


def test_every_table_of_the_room_carries_its_tenant() -> None:
    assert [name for name in ROOM if "tenant" not in metadata.tables[name].c] == []


async def test_a_tenant_without_a_name_is_refused(app: App) -> None:
    for tenant in ("", " ", "a\0"):
        with pytest.raises(InvalidInputError):
            app.knowledge.for_tenant(tenant)
        with pytest.raises(InvalidInputError):
            app.references.for_tenant(tenant)
        with pytest.raises(InvalidInputError):
            await app.audit.list(tenant=tenant)
