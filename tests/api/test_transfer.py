"""Import and export over HTTP: the lines of `lamina export`, as a stream in both directions."""

import json
from collections.abc import AsyncIterator

import pytest

from lamina.access.types import Right
from tests.api.calls import Bearers, Caller

pytestmark = pytest.mark.anyio


async def exported(caller: Caller) -> bytes:
    answer = await caller.http.get("/v1/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return answer.content


async def test_what_is_exported_arrives_elsewhere_word_for_word(admin: Caller, stranger: Caller) -> None:
    await admin.rooms.hierarchy.set(project_id="web", team_id="core")
    facts = [{"content": f"Tatsächlich {number}", "identifiers": {"user_id": "ann"}} for number in range(600)]
    lines = "\n".join(map(json.dumps, facts))  # more than a batch
    report = await admin.call("POST", "/import", content=lines.encode())
    assert (report["stored"], report["expected"]) == (600, None)
    everything = await exported(admin)
    assert everything.count(b"\n") == 602

    async def in_odd_pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(everything), 777):
            yield everything[start : start + 777]

    arrived = await stranger.call("POST", "/import", content=in_odd_pieces())
    assert (arrived["stored"], arrived["expected"]) == (600, 600)
    assert await exported(stranger) == everything


async def test_what_is_there_is_skipped_or_replaced_as_asked(admin: Caller) -> None:
    line = {"id": "m-1", "content": "Fact", "identifiers": {"user_id": "ann"}}
    for conflict, outcome in (("skip", "stored"), ("skip", "skipped"), ("replace", "replaced")):
        content = json.dumps(line).encode()
        report = await admin.call("POST", "/import", params={"on_conflict": conflict}, content=content)
        assert report[outcome] == 1
    refused = await admin.call("POST", "/import", params={"on_conflict": "error"}, content=content, status=400)
    assert refused["error"]["details"]["line"] == 1
    await admin.call("POST", "/import", params={"on_conflict": "ask"}, content=content, status=400)


async def test_a_bad_line_is_named_and_what_was_stored_before_it_is_counted(admin: Caller) -> None:
    good = [json.dumps({"content": f"Fact {number}", "identifiers": {"user_id": "ann"}}) for number in range(500)]
    lines = "\n".join([*good, "not JSON"]).encode()
    refused = await admin.call("POST", "/import", content=lines, status=400)
    assert (refused["error"]["details"]["line"], refused["error"]["details"]["done"]) == (501, 500)


async def test_every_room_travels_or_those_that_are_named(admin: Caller, stranger: Caller) -> None:
    await admin.rooms.memory.add("Prefers dark mode", user_id="ann")
    await admin.rooms.knowledge.save("retry-limit", "Five times", category="fact")
    await admin.rooms.sessions.append(role="user", content="Where did I park?", session_key="telegram:42:7")
    answer = await admin.http.get("/v1/export", params={"only": "knowledge,sessions"})
    report = await stranger.call("POST", "/import", content=answer.content)
    assert report["kinds"] == {"knowledge": 1, "session": 1, "message": 1}
    assert (await stranger.rooms.knowledge.get("retry-limit")).content == "Five times"
    assert await stranger.rooms.sessions.messages("telegram:42:7") == await admin.rooms.sessions.messages(
        "telegram:42:7"
    )
    assert (await stranger.rooms.audit.list(action="tenant_import")).rows[0].details["stored"] == 3
    await admin.get("/export", only="keys", status=400)


async def test_only_an_admin_of_the_tenant_moves_it(bearer: Bearers, ann: Caller) -> None:
    writer = await bearer(Right.WRITE)
    bound = await bearer(Right.ADMIN, user_id="ann")
    for caller in (writer, ann, bound):
        await caller.get("/export", status=403)
        await caller.call("POST", "/import", content=b"{}", status=403)
