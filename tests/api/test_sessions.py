"""Conversations over HTTP: appended, listed, read both ways, recalled, deleted."""

from typing import Any
from urllib.parse import quote

import pytest

from lamina.access.types import Right
from tests.api.calls import Answered, Api, Bearers, Caller

pytestmark = pytest.mark.anyio

KEY = "telegram:42:7"
PARKED = {"role": "user", "content": "I parked on the second floor."}


async def say(caller: Caller, *texts: str, key: str = KEY, **more: Any) -> Answered:
    messages = [{"role": "user", "content": text} for text in texts]
    return await caller.post(f"/sessions/{key}/messages", status=201, messages=messages, **more)


async def test_what_was_said_is_stored_in_order_and_read_again(admin: Caller) -> None:
    parts = [
        {"type": "call", "id": "c1", "name": "shell", "arguments": '{"cmd": "ls"}'},
        {"type": "attachment", "media_type": "image/png", "name": "plan.png", "size_bytes": 12},
    ]
    result = {"type": "result", "call_id": "c1", "content": "a.txt", "name": "shell", "is_error": False}
    appended = await admin.post(
        f"/sessions/{KEY}/messages",
        status=201,
        messages=[
            {**PARKED, "author": "Ann", "at": "2026-03-01T12:00:00+01:00", "id": "u1"},
            {"role": "assistant", "parts": parts},
            {"role": "tool", "parts": [result]},
        ],
        user_id="ann",
    )
    stored = (await admin.get(f"/sessions/{KEY}/messages"))["messages"]
    assert stored == appended["messages"]
    assert [(one["sequence"], one["role"]) for one in stored] == [(1, "user"), (2, "assistant"), (3, "tool")]
    assert (stored[0]["id"], stored[0]["at"], stored[0]["author"]) == ("u1", "2026-03-01T11:00:00.000000Z", "Ann")
    assert (stored[1]["parts"], stored[2]["parts"]) == (parts, [result])
    session = (await admin.get(f"/sessions/{KEY}")).document
    assert (session["user_id"], session["channel"], session["message_count"]) == ("ann", "telegram", 3)


async def test_a_message_with_an_id_of_the_caller_is_stored_once(admin: Caller) -> None:
    for _ in range(2):
        await admin.post(f"/sessions/{KEY}/messages", status=201, messages=[{**PARKED, "id": "update-1"}])
    assert len((await admin.get(f"/sessions/{KEY}/messages"))["messages"]) == 1


async def test_messages_sent_twice_with_one_idempotency_key_are_stored_once(admin: Caller) -> None:
    body = {"messages": [PARKED, PARKED]}
    for _ in range(2):
        await admin.call(
            "POST", f"/sessions/{KEY}/messages", status=201, json=body, headers={"idempotency-key": "update 7"}
        )
    stored = (await admin.get(f"/sessions/{KEY}/messages"))["messages"]
    assert [one["sequence"] for one in stored] == [1, 2]


async def test_several_messages_are_stored_all_or_none(admin: Caller) -> None:
    refused = await admin.post(f"/sessions/{KEY}/messages", status=400, messages=[PARKED, {"role": "user"}])
    assert refused.error == "INVALID_INPUT"
    assert (await admin.get(f"/sessions/{KEY}", status=404)).error == "SESSION_NOT_FOUND"


async def test_messages_are_read_page_by_page_both_ways_and_from_the_archive(admin: Caller) -> None:
    await say(admin, *(f"line {number}" for number in range(1, 9)))
    await admin.rooms.sessions.compact_messages(KEY, up_to=4, summary="Eight lines.")

    async def numbers(**wanted: Any) -> list[int]:
        found = await admin.get(f"/sessions/{KEY}/messages", **wanted)
        assert (found["last_sequence"], found["archived_through"]) == (8, 4)
        return [one["sequence"] for one in found["messages"]]

    assert await numbers() == [4, 5, 6, 7, 8]  # the summary has the number of the last one it stands for
    assert await numbers(which="archived") == [1, 2, 3, 4]
    assert await numbers(which="all", after=2, limit=3) == [3, 4, 5]
    assert await numbers(which="all", before=6, limit=3) == [3, 4, 5]
    assert await numbers(which="archived", before=9, limit=1) == [4]


async def test_sessions_are_listed_page_by_page_and_by_user(admin: Caller) -> None:
    for number in range(3):
        await say(admin, "hello", key=f"cli:{number}", user_id="ann" if number else "bob")
    first = await admin.get("/sessions", limit=2)
    assert ([one["key"] for one in first["sessions"]], first["total_count"]) == (["cli:2", "cli:1"], 3)
    rest = await admin.get("/sessions", limit=2, cursor=first["next_cursor"])
    assert ([one["key"] for one in rest["sessions"]], rest["next_cursor"]) == (["cli:0"], None)
    assert (await admin.get("/sessions", user_id="bob"))["total_count"] == 1
    assert (await admin.get("/sessions", cursor="nonsense", status=400)).error == "INVALID_CURSOR"


async def test_messages_are_recalled_by_words_by_place_and_across_a_users_sessions(admin: Caller) -> None:
    await say(admin, PARKED["content"], "The weather is fine.", user_id="ann")
    await say(admin, "The car is red.", key="cli:9", user_id="ann")
    by_words = await admin.post("/sessions/recall", query="Where did I park?", session_key=KEY)
    assert by_words["results"][0]["content"] == PARKED["content"]
    assert by_words["results"][0]["signals"]
    by_place = await admin.post("/sessions/recall", session_key=KEY, first=2, last=2)
    assert [(one["sequence"], one["score"]) for one in by_place["results"]] == [(2, 1.0)]
    everywhere = await admin.post("/sessions/recall", query="red car", user_id="ann", limit=1)
    assert (everywhere["results"][0]["session_key"], everywhere["searched_sessions"]) == ("cli:9", 2)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "MISSING_IDENTIFIER"),
        ({"query": "x"}, "MISSING_IDENTIFIER"),
        ({"session_key": KEY}, "INVALID_INPUT"),
        ({"query": "x", "session_key": KEY, "threshold": 2}, "INVALID_INPUT"),
        ({"query": "x", "session_key": KEY, "limit": 0}, "INVALID_INPUT"),
        ({"query": "x", "session_key": KEY, "note": "no-such-note"}, "INVALID_INPUT"),
        ({"query": "x", "session_key": KEY, "treshold": 0.5}, "INVALID_INPUT"),
    ],
)
async def test_a_recall_that_makes_no_sense_is_told_so(admin: Caller, asked: dict[str, Any], code: str) -> None:
    await say(admin, "hello")
    assert (await admin.post("/sessions/recall", status=400, **asked)).error == code


async def test_deleting_says_what_it_removed(admin: Caller) -> None:
    await say(admin, "one", "two")
    gone = (await admin.delete(f"/sessions/{KEY}")).document
    assert (gone["deleted"], gone["removed"]["messages"]) == (KEY, 2)
    assert (await admin.delete(f"/sessions/{KEY}", status=404)).error == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("key", ["a/b/c", "über:münchen 🚗", "50%", "a?b#c", "recall", "messages", "x/messages/y"])
async def test_any_key_is_found_in_a_path(admin: Caller, key: str) -> None:
    await say(admin, "hello", key=quote(key, safe=""))
    assert (await admin.get(f"/sessions/{quote(key, safe='')}"))["key"] == key
    assert (await admin.delete(f"/sessions/{quote(key, safe='')}"))["deleted"] == key


@pytest.mark.parametrize("key", ["%00", "%20", "a%09b", "k" * 1025])
async def test_a_key_that_cannot_be_is_refused(admin: Caller, key: str) -> None:
    for method, path, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/messages", {"messages": [PARKED]})):
        answer = await admin.call(method, f"/sessions/{key}{path}", status=400, json=body)
        assert answer.error == "INVALID_INPUT"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{}],
        [{"role": "owner", "content": "x"}],
        [{"role": "user", "content": "a\0b"}],
        [{"role": "user", "content": "x", "at": "2026-03-01T12:00:00"}],
        [{"role": "user", "content": "x", "at": "yesterday"}],
        [{"role": "user", "content": "x", "id": ""}],
        [{"role": "user", "parts": [{"type": "thought"}]}],
        [{"role": "user", "content": "x", "colour": "red"}],
        "hello",
        None,
    ],
)
async def test_messages_that_cannot_be_stored_are_refused(admin: Caller, messages: object) -> None:
    refused = await admin.post(f"/sessions/{KEY}/messages", status=400, messages=messages)
    assert refused.error == "INVALID_INPUT"
    assert (await admin.get("/sessions"))["total_count"] == 0


async def test_a_message_that_is_too_long_is_told_how_long_it_may_be(api: Api, admin: Caller) -> None:
    longest = api.app.settings.session.max_message_length
    content = "x" * (longest + 1)
    refused = await admin.post(f"/sessions/{KEY}/messages", status=413, messages=[{"role": "user", "content": content}])
    assert (refused.error, refused["error"]["details"]["max_length"]) == ("CONTENT_TOO_LONG", longest)


async def test_another_tenant_has_no_such_session_and_may_have_one_of_the_same_key(
    admin: Caller, stranger: Caller
) -> None:
    await say(admin, "ours")
    for path in ("", "/messages", "/notes", "/reflections", "/timeline", "/status"):
        assert (await stranger.get(f"/sessions/{KEY}{path}", status=404)).error == "SESSION_NOT_FOUND"
    await stranger.post("/sessions/recall", session_key=KEY, first=1, status=404)
    await stranger.post(f"/sessions/{KEY}/observe", status=404)
    await stranger.delete(f"/sessions/{KEY}", status=404)
    await say(stranger, "theirs")
    assert (await admin.get(f"/sessions/{KEY}/messages"))["messages"][0]["content"] == "ours"
    assert (await stranger.get("/sessions"))["total_count"] == 1


async def test_a_key_for_a_user_begins_sessions_of_that_user_and_sees_only_those(
    admin: Caller, ann: Caller, bob: Caller
) -> None:
    await say(ann, PARKED["content"], key="cli:ann")
    await say(bob, PARKED["content"], key="cli:bob")
    await say(admin, PARKED["content"], key="cli:nobody")
    assert (await admin.get("/sessions/cli:ann"))["user_id"] == "ann"
    assert [one["key"] for one in (await ann.get("/sessions"))["sessions"]] == ["cli:ann"]
    assert (await ann.get("/sessions", user_id="bob", status=403)).error == "FORBIDDEN"
    recalled = await ann.post("/sessions/recall", query="Where did I park?")
    assert {one["session_key"] for one in recalled["results"]} == {"cli:ann"}
    assert (await ann.post("/sessions/recall", query="park", user_id="bob", status=403)).error == "FORBIDDEN"


async def test_whoever_takes_a_sessions_name_later_deletes_nothing_that_others_keep_under_it(
    admin: Caller, ann: Caller, bob: Caller
) -> None:
    kept = {"content": "Ann's tide table", "layer": "session", "identifiers": {"session_id": KEY}}
    memory = await ann.post("/memories", status=201, **kept)
    hers = (await ann.post("/context/assemble", query="tide table", session_key=KEY))["receipt"]["id"]
    await say(bob, "mine now")
    await bob.post("/memories", status=201, **{**kept, "content": "Bob's own"})
    await bob.post("/context/assemble", query="what is mine", session_key=KEY)
    removed = (await bob.call("DELETE", f"/sessions/{KEY}"))["removed"]
    assert (removed["memories"], removed["receipts"]) == (1, 1)
    assert (await ann.get(f"/memories/{memory['memory']['id']}", session_id=KEY))["content"] == "Ann's tide table"
    assert [one["id"] for one in (await admin.get("/context/receipts", session_key=KEY))["receipts"]] == [hers]
    (row,) = (await admin.get("/audit", action="session_delete"))["rows"]
    assert row["actor"].startswith("key:")


@pytest.mark.parametrize("key", ["cli:bob", "cli:nobody", "cli:none"])
async def test_anothers_session_is_to_a_user_as_if_it_were_not_there(
    admin: Caller, ann: Caller, bob: Caller, key: str
) -> None:
    await say(bob, PARKED["content"], key="cli:bob")
    await say(admin, PARKED["content"], key="cli:nobody")
    told = [
        await ann.get(f"/sessions/{key}", status=404),
        await ann.delete(f"/sessions/{key}", status=404),
        await ann.post("/sessions/recall", query="park", session_key=key, status=404),
        await ann.post(f"/sessions/{key}/observe", status=404),
    ]
    told += [
        await ann.get(f"/sessions/{key}/{what}", status=404)
        for what in ("messages", "notes", "reflections", "timeline", "status")
    ]
    missing = await ann.get("/sessions/cli:none", status=404)
    for one in told:
        assert str(one.document).replace(key, "cli:none") == str(missing.document)
    assert (await admin.get("/sessions"))["total_count"] == 2


async def test_a_user_says_nothing_in_anothers_session(admin: Caller, ann: Caller, bob: Caller) -> None:
    await say(bob, "mine", key="cli:bob")
    await say(admin, "nobody's", key="cli:nobody")
    for key in ("cli:bob", "cli:nobody"):
        refused = await ann.post(f"/sessions/{key}/messages", status=404, messages=[PARKED])
        assert refused.error == "SESSION_NOT_FOUND"
        assert (await admin.get(f"/sessions/{key}"))["message_count"] == 1
    refused = await ann.post("/sessions/cli:new/messages", status=403, messages=[PARKED], user_id="bob")
    assert refused.error == "FORBIDDEN"


async def test_a_key_for_one_session_reaches_no_other_of_the_same_user(bearer: Bearers, ann: Caller) -> None:
    narrow = await bearer(user_id="ann", session_id="cli:1")
    assert (await narrow.get("/sessions")).document == {"sessions": [], "next_cursor": None, "total_count": 0}
    await say(narrow, PARKED["content"], key="cli:1")
    await say(ann, PARKED["content"], key="cli:2")
    assert [one["key"] for one in (await narrow.get("/sessions"))["sessions"]] == ["cli:1"]
    assert len((await narrow.post("/sessions/recall", query="park"))["results"]) == 1
    await narrow.get("/sessions/cli:2", status=404)
    for key in ("cli:2", "cli:3"):
        await narrow.post(f"/sessions/{key}/messages", status=404, messages=[PARKED])


async def test_a_key_for_a_project_has_no_conversations(bearer: Bearers, admin: Caller) -> None:
    project = await bearer(project_id="web")
    await say(admin, "hello")
    assert (await project.get("/sessions", status=403)).error == "FORBIDDEN"
    await project.post(f"/sessions/{KEY}/messages", status=403, messages=[PARKED])
    await project.get(f"/sessions/{KEY}", status=404)


async def test_a_key_that_may_only_read_changes_nothing(bearer: Bearers, admin: Caller) -> None:
    reader = await bearer(Right.READ)
    await say(admin, "hello")
    await reader.get(f"/sessions/{KEY}/messages")
    for refused in (
        await reader.post(f"/sessions/{KEY}/messages", status=403, messages=[PARKED]),
        await reader.post(f"/sessions/{KEY}/observe", status=403),
        await reader.delete(f"/sessions/{KEY}", status=403),
    ):
        assert refused.error == "FORBIDDEN"
    assert (await admin.get(f"/sessions/{KEY}"))["message_count"] == 1
