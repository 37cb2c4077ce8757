"""The graph over HTTP: added, found, walked, ended, removed, each within the caller's reach."""

from typing import Any

import pytest

from lamina.access.types import Right
from tests.api.calls import Bearers, Caller, api_on

pytestmark = pytest.mark.anyio


async def add(caller: Caller, subject: str, predicate: str, object: str, **more: Any) -> dict[str, Any]:
    triple = {"subject": subject, "predicate": predicate, "object": object}
    stored: dict[str, Any] = (await caller.post("/graph/triples", status=201, **triple, **more)).document
    return stored


async def seen(caller: Caller, **wanted: Any) -> set[tuple[str, str, str]]:
    found = (await caller.get("/graph/triples", **wanted))["triples"]
    return {(one["subject"], one["predicate"], one["object"]) for one in found}


async def test_what_is_added_is_found_and_walked(admin: Caller) -> None:
    added = await add(admin, "Ann", "works_at", "Acme", valid_from="2021-03-01T00:00:00Z")
    await add(admin, "Acme", "uses", "PostgreSQL")
    assert added["source"]["kind"] == "manual"
    assert await seen(admin, subject="ann") == {("Ann", "works_at", "Acme")}
    assert await seen(admin, predicate="uses") == {("Acme", "uses", "PostgreSQL")}
    assert await seen(admin, subject="Ann", at="2020-01-01T00:00:00Z") == set()

    entity = (await admin.get("/graph/entity", name="ACME"))["entity"]
    assert (entity["name"], entity["triples"]) == ("Acme", 2)
    assert (await admin.get("/graph/entity", name="nobody"))["entity"] is None
    neighbours = (await admin.get("/graph/neighbours", name="Acme", direction="out"))["neighbours"]
    assert [one["name"] for one in neighbours] == ["PostgreSQL"]
    only = (await admin.get("/graph/neighbours", name="Acme", predicate=["uses", "owns"]))["neighbours"]
    assert [one["name"] for one in only] == ["PostgreSQL"]
    walk = await admin.get("/graph/traverse", name="Ann", depth=2)
    assert [(one["name"], one["depth"]) for one in walk["visits"]] == [("Acme", 1), ("PostgreSQL", 2)]
    path = (await admin.get("/graph/path", start="Ann", goal="PostgreSQL"))["path"]
    assert [one["name"] for one in path] == ["Acme", "PostgreSQL"]
    assert (await admin.get("/graph/path", start="Ann", goal="nobody"))["path"] is None


async def test_what_ended_is_still_known_and_what_is_removed_is_not(admin: Caller) -> None:
    await add(admin, "Ann", "works_at", "Acme")
    ended = await admin.post("/graph/triples/end", subject="Ann", predicate="works_at", until="2024-01-01T00:00:00Z")
    assert ended["ended"] == 1
    assert await seen(admin, at="2023-01-01T00:00:00Z") == {("Ann", "works_at", "Acme")}
    assert await seen(admin, at="2025-01-01T00:00:00Z") == set()
    assert (await admin.delete("/graph/triples", subject="Ann", predicate="works_at"))["removed"] == 1
    assert await seen(admin) == set()


async def test_everything_from_one_source_goes_together(admin: Caller) -> None:
    source = {"kind": "import", "key": "charts/2026"}
    await add(admin, "Ann", "knows", "Bob", source=source)
    await add(admin, "Ann", "knows", "Cleo", source=source)
    assert (await admin.delete("/graph/sources/import/charts/2026"))["removed"] is True
    assert (await admin.delete("/graph/sources/import/charts/2026"))["removed"] is False
    assert await seen(admin) == set()
    refused = await admin.post(
        "/graph/triples", status=400, subject="A", predicate="is", object="B", source={"kind": "memory", "key": "x"}
    )
    assert refused.error == "INVALID_INPUT"


async def test_aliases_join_and_part(admin: Caller) -> None:
    await add(admin, "Acme", "uses", "PostgreSQL")
    await admin.put("/graph/aliases", name="PostgreSQL", alias="Postgres")
    assert (await admin.get("/graph/entity", name="postgres"))["entity"]["aliases"] == ["Postgres"]
    assert (await admin.delete("/graph/aliases", alias="Postgres"))["removed"] is True
    assert (await admin.get("/graph/entity", name="postgres"))["entity"] is None
    assert (await admin.put("/graph/aliases", name="A", alias="a", status=400)).error == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("POST", "/triples", {"json": {"subject": "A", "predicate": "adores", "object": "B"}}),
        ("POST", "/triples", {"json": {"subject": " ", "predicate": "is", "object": "B"}}),
        ("POST", "/triples", {"json": {"subject": "A", "predicate": "is", "object": "B", "layer": "galaxy"}}),
        ("POST", "/triples", {"json": {"subject": "A", "predicate": "is", "object": "B", "valid_from": "2026-01-01"}}),
        ("POST", "/triples/end", {"json": {"subject": "A", "predicate": "is", "until": "2026-01-01T00:00:00"}}),
        ("GET", "/neighbours", {}),
        ("GET", "/traverse", {"params": {"name": "A", "depth": 99}}),
        ("GET", "/triples", {"params": {"limit": 0}}),
        ("DELETE", "/triples", {}),
    ],
)
async def test_what_makes_no_sense_is_refused(admin: Caller, method: str, path: str, options: dict[str, Any]) -> None:
    refused = await admin.call(method, f"/graph{path}", status=400, **options)
    assert refused.error in ("INVALID_INPUT", "INVALID_LAYER")


async def test_a_key_for_a_user_sees_what_is_shared_and_their_own_and_changes_only_the_latter(
    admin: Caller, ann: Caller, bob: Caller
) -> None:
    await add(admin, "Ann", "works_at", "Acme")
    await add(ann, "Ann", "prefers", "tea", layer="user")
    await add(bob, "Ann", "knows", "Bob", layer="user")
    assert await seen(ann) == {("Ann", "works_at", "Acme"), ("Ann", "prefers", "tea")}
    assert await seen(bob) == {("Ann", "works_at", "Acme"), ("Ann", "knows", "Bob")}
    assert await seen(admin) == {("Ann", "works_at", "Acme")}
    assert len(await seen(admin, user_id="bob")) == 2
    names = [one["name"] for one in (await ann.get("/graph/neighbours", name="Ann"))["neighbours"]]
    assert sorted(names) == ["Acme", "tea"]

    assert (await ann.post("/graph/triples/end", subject="Ann", predicate="works_at"))["ended"] == 0
    assert (await ann.delete("/graph/triples", subject="Ann"))["removed"] == 1
    assert await seen(bob) == {("Ann", "works_at", "Acme"), ("Ann", "knows", "Bob")}


async def test_a_key_for_somebody_changes_nothing_of_the_whole_tenant(
    bearer: Bearers, admin: Caller, ann: Caller
) -> None:
    await add(admin, "Acme", "uses", "PostgreSQL", source={"kind": "import", "key": "one"})
    triple = {"subject": "A", "predicate": "is", "object": "B"}
    project = await bearer(project_id="web")
    for refused in (
        await ann.post("/graph/triples", status=403, **triple),
        await ann.post("/graph/triples", status=403, **triple, layer="user", identifiers={"user_id": "bob"}),
        await ann.post("/graph/triples", status=403, **triple, layer="user", source={"kind": "import", "key": "one"}),
        await ann.put("/graph/aliases", status=403, name="Acme", alias="PostgreSQL"),
        await ann.delete("/graph/aliases", status=403, alias="PostgreSQL"),
        await ann.delete("/graph/sources/import/one", status=403),
        await ann.get("/graph/triples", status=403, user_id="bob"),
    ):
        assert refused.error == "FORBIDDEN"
    assert (await project.post("/graph/triples", status=400, **triple, layer="team")).error == "MISSING_IDENTIFIER"
    assert await seen(admin) == {("Acme", "uses", "PostgreSQL")}


async def test_what_belongs_to_anothers_session_is_out_of_reach(ann: Caller, bob: Caller) -> None:
    await bob.post(
        "/sessions/cli:bob/messages", status=201, messages=[{"role": "user", "content": "Acme uses PostgreSQL."}]
    )
    await bob.rooms.graph.settled()
    for path, named in (("triples", {}), ("entity", {"name": "Acme"}), ("traverse", {"name": "Acme"})):
        assert (
            await ann.get(f"/graph/{path}", session_key="cli:bob", status=404, **named)
        ).error == "SESSION_NOT_FOUND"
    assert await seen(bob, session_key="cli:bob") != set()
    assert await seen(ann) == set()


async def test_another_tenant_has_a_graph_of_its_own(admin: Caller, stranger: Caller) -> None:
    await add(admin, "Ann", "knows", "Bob", source={"kind": "import", "key": "one"})
    assert await seen(stranger) == set()
    assert (await stranger.delete("/graph/triples", subject="Ann"))["removed"] == 0
    assert (await stranger.delete("/graph/sources/import/one"))["removed"] is False
    assert await seen(admin) == {("Ann", "knows", "Bob")}


async def test_a_key_that_may_only_read_changes_nothing(bearer: Bearers) -> None:
    reader = await bearer(Right.READ)
    assert await seen(reader) == set()
    for refused in (
        await reader.post("/graph/triples", status=403, subject="A", predicate="is", object="B"),
        await reader.post("/graph/triples/end", status=403, subject="A", predicate="is"),
        await reader.delete("/graph/triples", status=403, subject="A"),
        await reader.put("/graph/aliases", status=403, name="A", alias="B"),
    ):
        assert refused.error == "FORBIDDEN"


async def test_a_triple_that_is_sent_twice_with_one_idempotency_key_is_added_once(admin: Caller) -> None:
    triple = {"subject": "Ann", "predicate": "knows", "object": "Bob"}
    headers = {"idempotency-key": "k1"}
    first = await admin.call("POST", "/graph/triples", status=201, json=triple, headers=headers)
    again = await admin.call("POST", "/graph/triples", status=201, json=triple, headers=headers)
    assert first.document == again.document
    assert len((await admin.get("/graph/triples"))["triples"]) == 1


async def test_while_it_is_switched_off_changes_say_what_to_set(sqlite_store_url: str) -> None:
    async with api_on(sqlite_store_url, graph={"enabled": False}) as api:
        local = await api.caller()
        assert await seen(local) == set()
        refused = await local.post("/graph/triples", status=503, subject="A", predicate="is", object="B")
        assert (refused.error, refused["error"]["details"]["setting"]) == ("CONFIGURATION_ERROR", "graph.enabled")
