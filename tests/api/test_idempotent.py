"""Idempotency keys: what is sent twice is done once, and answered twice."""

import asyncio

import pytest

from lamina.errors import ProviderError
from lamina.memory.service import MemoryService
from tests.api.calls import Answered, Caller

pytestmark = pytest.mark.anyio

FACT = {"content": "Prefers dark mode", "identifiers": {"user_id": "ann"}}


async def add(caller: Caller, key: str, *, status: int = 201, path: str = "/memories", **body: object) -> Answered:
    return await caller.call("POST", path, status=status, headers={"idempotency-key": key}, json=body or FACT)


async def count(caller: Caller) -> int:
    return int((await caller.get("/memories", user_id="ann"))["total_count"])


async def test_the_same_request_is_done_once_and_answered_again(admin: Caller) -> None:
    first, second = await add(admin, "k1"), await add(admin, "k1")
    assert first.document == second.document
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert await count(admin) == 1


async def test_another_request_under_the_key_is_a_conflict(admin: Caller) -> None:
    await add(admin, "k1")
    assert (await add(admin, "k1", status=409, content="Other", identifiers={"user_id": "ann"})).error == "CONFLICT"
    refused = await add(admin, "k1", status=409, path="/memories/bulk", memories=[FACT])
    assert refused.error == "CONFLICT"
    assert await count(admin) == 1


async def test_many_at_once_add_one(admin: Caller) -> None:
    headers = {"idempotency-key": "k1"}
    sent = (admin.http.post("/v1/memories", headers=headers, json=FACT) for _ in range(8))
    answers = await asyncio.gather(*sent)
    assert {one.status_code for one in answers} <= {201, 409}
    assert all(one.headers["retry-after"] == "1" for one in answers if one.status_code == 409)
    assert await count(admin) == 1


async def test_a_refused_request_frees_its_key(admin: Caller) -> None:
    await add(admin, "k1", status=400, content="", identifiers={"user_id": "ann"})
    await add(admin, "k1")
    assert await count(admin) == 1


async def test_a_write_whose_answer_was_lost_is_not_done_again(admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk_add = MemoryService.bulk_add

    async def stores_and_dies(self: MemoryService, memories: object) -> object:
        await bulk_add(self, memories)  # type: ignore[arg-type]
        raise ProviderError("The connection is gone.")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryService, "bulk_add", stores_and_dies)
        await add(admin, "k1", status=503)
        await add(admin, "k2", status=503, path="/memories/bulk", memories=[FACT, FACT])
    again = await add(admin, "k1")
    both = await add(admin, "k2", path="/memories/bulk", memories=[FACT, FACT])
    assert await count(admin) == 3
    assert len({again["memory"]["id"], *(one["memory"]["id"] for one in both["memories"])}) == 3


async def test_keys_of_callers_do_not_meet(admin: Caller, ann: Caller, stranger: Caller) -> None:
    ids = [(await add(caller, "k1"))["memory"]["id"] for caller in (admin, ann, stranger)]
    assert len(set(ids)) == 3


async def test_a_key_that_is_none_is_refused(admin: Caller) -> None:
    assert (await add(admin, "k" * 300, status=400)).error == "INVALID_INPUT"


async def test_a_secret_is_never_kept(admin: Caller) -> None:
    first = await add(admin, "k1", path="/keys", name="bot")
    second = await add(admin, "k1", path="/keys", name="bot")
    assert first["secret"] != second["secret"]


async def test_who_is_not_let_in_learns_nothing_of_it(admin: Caller, bob: Caller) -> None:
    await add(admin, "k1")
    assert (await add(bob, "k1", status=403)).error == "FORBIDDEN"
