"""Notes on conversations over HTTP: written now, read, and what they save."""

import pytest

from tests.api.calls import Api, Caller, api_on

pytestmark = pytest.mark.anyio

TALK = (
    ("user", "We decided to use PostgreSQL for the billing service, and never MySQL."),
    ("assistant", "Noted: PostgreSQL it is for the billing service."),
    ("user", "I prefer short answers, and my deadline is the 3rd of May 2026."),
    ("assistant", "Short answers, deadline on the 3rd of May 2026."),
    ("user", "Thanks, see you tomorrow."),
)


async def talk(caller: Caller, key: str) -> None:
    messages = [{"role": role, "content": content} for role, content in TALK]
    await caller.post(f"/sessions/{key}/messages", status=201, messages=messages)


async def test_observing_now_writes_notes_whose_entries_lead_back_to_the_messages(ann: Caller) -> None:
    await talk(ann, "cli:1")
    before = await ann.get("/sessions/cli:1/timeline")
    assert (before["watermark"], before["observations"]) == (0, [])

    report = await ann.post("/sessions/cli:1/observe", force=True)
    assert (report["sessions"], report["observed"], report["failures"]) == (1, 1, [])

    (note,) = (await ann.get("/sessions/cli:1/notes"))["notes"]
    assert any("PostgreSQL" in entry["text"] and 1 in entry["sources"] for entry in note["entries"])
    recalled = await ann.post("/sessions/recall", session_key="cli:1", note=note["entries"][0]["id"])
    assert [one["sequence"] for one in recalled["results"]] == note["entries"][0]["sources"]

    after = await ann.get("/sessions/cli:1/timeline")
    assert after["watermark"] > 0
    assert [one["id"] for one in after["observations"]] == [note["id"]]
    assert (await ann.get("/sessions/cli:1/reflections"))["reflections"] == []
    status = (await ann.get("/sessions/cli:1/status")).document
    assert (status["session_key"], status["observations"]) == ("cli:1", 1)
    assert status["raw_tokens"] == status["observed_tokens"] + status["pending_tokens"]


async def test_only_the_newest_notes_are_listed_where_asked(ann: Caller) -> None:
    for key in ("cli:1", "cli:1"):
        await talk(ann, key)
        await ann.post(f"/sessions/{key}/observe", force=True)
    both = (await ann.get("/sessions/cli:1/notes"))["notes"]
    assert len(both) == 2
    assert (await ann.get("/sessions/cli:1/notes", limit=1))["notes"] == both[-1:]
    assert (await ann.get("/sessions/cli:1/notes", limit=-1, status=400)).error == "INVALID_INPUT"


async def test_while_it_is_switched_off_observing_says_what_to_set(sqlite_store_url: str) -> None:
    async with api_on(sqlite_store_url, observational_memory={"enabled": False}) as api:
        local = await api.caller()
        await talk(local, "cli:1")
        refused = await local.post("/sessions/cli:1/observe", status=503)
        assert (refused.error, refused["error"]["retryable"]) == ("CONFIGURATION_ERROR", False)
        assert "observational_memory.enabled" in refused["error"]["message"]
        assert (await local.get("/sessions/cli:1/notes"))["notes"] == []


async def test_deleting_a_session_takes_its_notes_along(api: Api, ann: Caller) -> None:
    await talk(ann, "cli:1")
    await ann.post("/sessions/cli:1/observe", force=True)
    assert (await ann.delete("/sessions/cli:1"))["removed"]["observations"] == 1
    await talk(ann, "cli:1")
    assert (await ann.get("/sessions/cli:1/notes"))["notes"] == []
