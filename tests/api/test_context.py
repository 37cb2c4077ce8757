"""Context over HTTP: retrieved, assembled into prompts and turns, with receipts that stay among those they are of."""

from typing import Any

import pytest

from lamina.access.types import Right
from tests.api.calls import Bearers, Caller

pytestmark = pytest.mark.anyio

QUESTION = "When do we deploy the billing service?"


@pytest.fixture
async def known(admin: Caller) -> None:
    """Something everybody in the tenant knows, and something of each user."""
    await admin.rooms.knowledge.save("deploy", "The billing service is deployed on Fridays.", category="fact")
    for user in ("ann", "bob"):
        await admin.rooms.memory.add(f"{user.title()} deploys the billing service at noon.", user_id=user)


@pytest.mark.usefixtures("known")
async def test_layers_are_retrieved_for_a_query(admin: Caller) -> None:
    found = await admin.post("/context/retrieve", query=QUESTION)
    (item,) = found["items"]["user_knowledge"]
    assert (item["key"], item["trust"], found["total_count"], found["failures"]) == ("deploy", "medium", 1, [])
    assert "deploy" in found["keywords"]
    assert (await admin.post("/context/retrieve", query=QUESTION, layers=["skill_patterns"]))["items"] == {}


@pytest.mark.usefixtures("known")
async def test_a_prompt_is_assembled_with_what_the_user_knows_and_a_receipt(admin: Caller) -> None:
    made = await admin.post(
        "/context/assemble", base="You help.", query=QUESTION, identifiers={"user_id": "ann"}, session_key="cli:1"
    )
    assert made["text"].startswith("You help.")
    assert "on Fridays" in made["text"]
    assert "Ann deploys" in made["text"]
    assert "Bob" not in made["text"]
    assert {item["layer"] for item in made["items"]} >= {"user_knowledge", "memory"}
    stored = (await admin.get(f"/context/receipts/{made['receipt']['id']}")).document
    assert stored == made["receipt"]
    assert (await admin.get("/context/receipts", session_key="cli:1"))["receipts"] == [stored]
    assert (await admin.get("/context/receipts", session_key="cli:2"))["receipts"] == []


@pytest.mark.usefixtures("known")
async def test_a_budget_cuts_and_the_receipt_says_what(admin: Caller) -> None:
    made = await admin.post("/context/assemble", query=QUESTION, identifiers={"user_id": "ann"}, budget_tokens=60)
    assert made["receipt"]["added_tokens"] <= 60
    assert made["receipt"]["cut"]


@pytest.mark.usefixtures("known")
async def test_a_turn_is_ready_to_be_sent_to_a_model(ann: Caller) -> None:
    said = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "On Fridays."}]
    await ann.post("/sessions/cli:1/messages", status=201, messages=[*said, {"role": "user", "content": "Sure?"}])
    turn = await ann.post("/context/turn", session_key="cli:1", base="You help.", query=QUESTION)
    assert [one["role"] for one in turn["messages"]] == ["system", "user", "assistant", "user"]
    assert "Ann deploys" in turn["messages"][0]["content"]
    assert turn["receipt"]["session_key"] == "cli:1"
    assert turn["tokens"] > turn["receipt"]["total_tokens"]
    (empty,) = (await ann.post("/context/turn", session_key="cli:not-begun"))["messages"]
    assert empty["role"] == "system"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("retrieve", {}),
        ("retrieve", {"query": 7}),
        ("retrieve", {"query": "x", "layers": ["basement"]}),
        ("retrieve", {"query": "x", "max_per_layer": 0}),
        ("assemble", {"query": "x", "budget_tokens": -1}),
        ("assemble", {"query": "x", "session_key": "\0"}),
        ("assemble", {"query": "x", "identifiers": {"user": "ann"}}),
        ("turn", {}),
        ("turn", {"session_key": " "}),
    ],
)
async def test_what_makes_no_sense_is_refused(admin: Caller, path: str, body: dict[str, Any]) -> None:
    assert (await admin.post(f"/context/{path}", status=400, **body)).error == "INVALID_INPUT"


@pytest.mark.usefixtures("known")
async def test_a_key_for_a_user_gets_what_is_shared_and_their_own_and_speaks_for_nobody_else(ann: Caller) -> None:
    made = await ann.post("/context/assemble", query=QUESTION)
    assert "on Fridays" in made["text"]
    assert "Ann deploys" in made["text"]
    for path in ("retrieve", "assemble"):
        refused = await ann.post(f"/context/{path}", query=QUESTION, identifiers={"user_id": "bob"}, status=403)
        assert refused.error == "FORBIDDEN"
    await ann.post("/context/assemble", query=QUESTION, identifiers={"project_id": "web"}, status=403)


@pytest.mark.usefixtures("known")
async def test_what_was_said_in_anothers_session_enters_no_prompt_of_mine(ann: Caller, bob: Caller) -> None:
    await bob.post("/sessions/cli:bob/messages", status=201, messages=[{"role": "user", "content": "secret plan"}])
    for body in ({"session_key": "cli:bob"}, {"identifiers": {"session_id": "cli:bob"}}):
        for path in ("retrieve", "assemble"):
            assert (await ann.post(f"/context/{path}", query="plan", status=404, **body)).error == "SESSION_NOT_FOUND"
    await ann.post("/context/turn", session_key="cli:bob", status=404)
    assert (await bob.post("/context/turn", session_key="cli:bob"))["messages"][1]["content"] == "secret plan"


@pytest.mark.usefixtures("known")
async def test_receipts_of_others_are_out_of_reach(admin: Caller, ann: Caller, bob: Caller, stranger: Caller) -> None:
    await bob.post("/sessions/cli:bob/messages", status=201, messages=[{"role": "user", "content": "hello"}])
    his = (await bob.post("/context/turn", session_key="cli:bob", query=QUESTION))["receipt"]["id"]
    nobodys = (await admin.post("/context/assemble", query=QUESTION))["receipt"]["id"]
    assert (await bob.get(f"/context/receipts/{his}"))["id"] == his
    assert (await bob.get("/context/receipts", session_key="cli:bob"))["receipts"][0]["id"] == his
    for id in (his, nobodys):
        assert (await ann.get(f"/context/receipts/{id}", status=404)).error == "RECEIPT_NOT_FOUND"
        assert (await stranger.get(f"/context/receipts/{id}", status=404)).error == "RECEIPT_NOT_FOUND"
    await ann.get("/context/receipts", session_key="cli:bob", status=404)
    assert (await ann.get("/context/receipts", status=403)).error == "FORBIDDEN"
    assert (await stranger.get("/context/receipts"))["receipts"] == []
    assert {one["id"] for one in (await admin.get("/context/receipts"))["receipts"]} == {his, nobodys}


@pytest.mark.usefixtures("known")
async def test_whoever_takes_a_sessions_name_later_does_not_read_what_was_asked_under_it(
    admin: Caller, ann: Caller, bob: Caller
) -> None:
    hers = (await ann.post("/context/assemble", session_key="cli:1", query=QUESTION))["receipt"]
    assert hers["user_id"] == "ann"
    await bob.post("/sessions/cli:1/messages", status=201, messages=[{"role": "user", "content": "hello"}])
    his = (await bob.post("/context/assemble", session_key="cli:1", query=QUESTION))["receipt"]["id"]
    await bob.get(f"/context/receipts/{hers['id']}", status=404)
    assert [one["id"] for one in (await bob.get("/context/receipts", session_key="cli:1"))["receipts"]] == [his]
    assert len((await admin.get("/context/receipts", session_key="cli:1"))["receipts"]) == 2


async def test_a_key_that_may_only_read_can_ask_for_prompts(bearer: Bearers) -> None:
    reader = await bearer(Right.READ)
    assert (await reader.post("/context/assemble", query=QUESTION, base="You help."))["receipt"]["error"] is None
