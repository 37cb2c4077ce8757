"""Memories over HTTP: added, found, read, changed, listed, deleted; by whom they may be."""

import pytest

from lamina.access.types import Right
from tests.api.calls import Bearers, Caller

pytestmark = pytest.mark.anyio

ANN = {"user_id": "ann"}
DARK = {"content": "Prefers dark mode", "identifiers": ANN, "tags": ["ui"], "metadata": {"topic": "editor"}}


async def test_what_is_added_is_found_by_the_next_search(admin: Caller) -> None:
    added = await admin.post("/memories", status=201, **DARK)
    found = await admin.post("/memories/search", query="Which theme does she prefer?", identifiers=ANN, explain=True)
    assert [one["id"] for one in found["results"]] == [added["memory"]["id"]]
    assert found["results"][0]["explain"]
    assert found["searched_layers"] == ["user"]


async def test_a_memory_keeps_every_field(admin: Caller) -> None:
    said = {
        "kind": "conversation",
        "conversation": "c1",
        "sequence": 3,
        "author": "Ann",
        "said_at": "2026-03-01T11:00Z",
    }
    sent = {**DARK, "source": said, "expires_at": "2999-01-01T00:00:00+01:00"}
    id = (await admin.post("/memories", status=201, **sent))["memory"]["id"]
    stored = (await admin.get(f"/memories/{id}", user_id="ann")).document
    assert stored["source"] == {**said, "said_at": "2026-03-01T11:00:00.000000Z"}
    assert stored["expires_at"] == "2998-12-31T23:00:00.000000Z"
    assert (stored["metadata"], stored["tags"], stored["layer"]) == ({"topic": "editor"}, ["ui"], "user")


async def test_many_are_added_together_or_not_at_all(admin: Caller) -> None:
    good = [{"content": f"Fact {number}", "identifiers": ANN} for number in range(3)]
    added = await admin.post("/memories/bulk", status=201, memories=good)
    assert [one["memory"]["content"] for one in added["memories"]] == ["Fact 0", "Fact 1", "Fact 2"]
    await admin.post("/memories/bulk", status=400, memories=[*good, {"content": "", "identifiers": ANN}])
    assert (await admin.get("/memories", user_id="ann"))["total_count"] == 3


async def test_a_change_touches_what_it_names_and_leaves_a_history(admin: Caller) -> None:
    id = (await admin.post("/memories", status=201, **DARK, expires_at="2999-01-01T00:00:00Z"))["memory"]["id"]
    changed = await admin.patch(f"/memories/{id}", content="Prefers light mode", metadata={"since": 5}, identifiers=ANN)
    assert changed["embedding_regenerated"] is True
    assert changed["memory"]["metadata"] == {"since": 5, "topic": "editor"}
    assert changed["memory"]["expires_at"] is not None
    cleared = await admin.patch(f"/memories/{id}", expires_at=None, identifiers=ANN)
    assert cleared["memory"]["expires_at"] is None
    states = (await admin.get(f"/memories/{id}/history", user_id="ann"))["revisions"]
    assert [one["content"] for one in states] == ["Prefers dark mode", "Prefers light mode", "Prefers light mode"]


async def test_a_listing_goes_on_where_the_page_before_ended(admin: Caller) -> None:
    for number in range(3):
        tags = ["odd"] if number % 2 else ["even"]
        await admin.post("/memories", status=201, content=f"Fact {number}", identifiers=ANN, tags=tags)
    first = await admin.get("/memories", user_id="ann", limit=2)
    second = await admin.get("/memories", user_id="ann", limit=2, cursor=first["next_cursor"])
    assert [one["content"] for one in (*first["memories"], *second["memories"])] == ["Fact 2", "Fact 1", "Fact 0"]
    assert second["next_cursor"] is None
    assert (await admin.get("/memories", user_id="ann", tag="odd"))["total_count"] == 1
    refused = await admin.get("/memories", user_id="ann", where="{", status=400)
    assert refused.error == "INVALID_FILTER"


async def test_a_deleted_memory_is_gone_and_deleting_it_again_is_fine(admin: Caller) -> None:
    id = (await admin.post("/memories", status=201, **DARK))["memory"]["id"]
    for _ in range(2):
        assert (await admin.delete(f"/memories/{id}", user_id="ann")).document == {"success": True}
    assert (await admin.get(f"/memories/{id}", user_id="ann", status=404)).error == "MEMORY_NOT_FOUND"
    assert (await admin.get(f"/memories/{id}/history", user_id="ann", status=404)).error == "MEMORY_NOT_FOUND"
    assert (await admin.patch(f"/memories/{id}", status=404, tags=[], identifiers=ANN)).error == "MEMORY_NOT_FOUND"


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ({"identifiers": ANN}, "INVALID_INPUT", "content: Field required"),
        ({**DARK, "contnet": "x"}, "INVALID_INPUT", "contnet"),
        ({**DARK, "layer": "attic"}, "INVALID_LAYER", "attic"),
        ({**DARK, "identifiers": {}}, "MISSING_IDENTIFIER", "user_id"),
        ({**DARK, "expires_at": "soon"}, "INVALID_INPUT", "expires_at"),
    ],
)
async def test_bad_input_is_named_and_not_repeated(
    admin: Caller, body: dict[str, object], code: str, told: str
) -> None:
    refused = await admin.post("/memories", status=400, **body)
    assert refused.error == code
    assert told in refused["error"]["message"]
    assert "dark mode" not in str(refused.document)


async def test_a_text_that_is_too_long_is_too_large(admin: Caller) -> None:
    refused = await admin.post("/memories", status=413, content="a " * 600_000, identifiers=ANN)
    assert refused.error == "CONTENT_TOO_LONG"


async def test_who_may_read_may_not_write(bearer: Bearers) -> None:
    reader = await bearer(Right.READ)
    refused = await reader.post("/memories", status=403, **DARK)
    assert refused.error == "FORBIDDEN"
    assert (await reader.get("/memories", user_id="ann"))["total_count"] == 0


async def test_a_key_of_one_user_reaches_no_other(ann: Caller, bob: Caller, stranger: Caller) -> None:
    id = (await ann.post("/memories", status=201, content="Ann's own"))["memory"]["id"]
    assert (await ann.get(f"/memories/{id}"))["identifiers"] == ANN
    for path in (f"/memories/{id}", f"/memories/{id}/history"):
        await bob.get(path, status=404)
        assert (await bob.get(path, status=403, user_id="ann")).error == "FORBIDDEN"
        await stranger.get(path, status=404, user_id="ann")
    await bob.delete(f"/memories/{id}")
    await stranger.delete(f"/memories/{id}", user_id="ann")
    assert (await bob.post("/memories/search", query="own"))["results"] == []
    await ann.get(f"/memories/{id}")


async def test_a_bound_key_reads_what_is_above_it_and_does_not_change_it(admin: Caller, bearer: Bearers) -> None:
    await admin.rooms.hierarchy.set(project_id="web", team_id="core")
    added = await admin.post(
        "/memories", status=201, content="We deploy on Mondays", layer="team", identifiers={"team_id": "core"}
    )
    id = added["memory"]["id"]
    web = await bearer(project_id="web")
    await web.get(f"/memories/{id}")
    await web.patch(f"/memories/{id}", status=403, tags=["mine"])
    await web.delete(f"/memories/{id}", status=403)
    await web.post("/memories", status=403, content="We deploy on Fridays", layer="team")
    await web.post("/memories", status=201, content="The web team deploys itself", layer="project")
