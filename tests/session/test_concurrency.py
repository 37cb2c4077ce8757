"""Many tasks and several processes at once: every sequence number is used once, none is missing."""

import asyncio

import pytest

from lamina.app import App
from lamina.errors import InvalidInputError, SessionNotFoundError
from lamina.session.cut import safe_cut
from lamina.session.service import SessionService
from tests.session.opening import loose_ends, numbers, said, talking_app
from tests.session.processes import start_worker

pytestmark = pytest.mark.anyio

TASKS = 64


async def test_many_tasks_use_every_number_once(app: App, sessions: SessionService) -> None:
    stored = await asyncio.gather(
        *(sessions.append(role="user", content=f"line {number}", session_key="s") for number in range(TASKS))
    )
    assert sorted(numbers(stored)) == list(range(1, TASKS + 1))
    read = await sessions.messages("s", limit=1000)
    assert {one.id for one in read} == {one.id for one in stored}
    assert (await sessions.recall("line", session_key="s", threshold=0, limit=100)).total_count == TASKS


async def test_many_batches_stay_together(sessions: SessionService) -> None:
    batches = await asyncio.gather(
        *(sessions.append_many(said("a", "b", "c"), session_key="s") for _ in range(TASKS // 4))
    )
    for batch in batches:
        first = batch[0].sequence
        assert numbers(batch) == [first, first + 1, first + 2]


async def test_the_same_id_at_the_same_time_is_stored_once(sessions: SessionService) -> None:
    stored = await asyncio.gather(
        *(sessions.append(role="user", content=f"copy {n}", id="only", session_key="s") for n in range(TASKS))
    )
    assert len({(one.sequence, one.content) for one in stored}) == 1
    assert (await sessions.get("s")).last_sequence == 1


async def test_processes_share_a_session(store_url: str) -> None:
    async with talking_app(store_url) as app:
        workers = [start_worker(store_url, "append", name, 20) for name in ("ann", "bob")]
        mine = [
            (await app.sessions.append(role="user", content=f"me {n}", session_key="shared")).sequence
            for n in range(20)
        ]
        theirs = [[int(line) for line in worker.communicate(timeout=120)[0].split()] for worker in workers]
        assert [len(one) for one in theirs] == [20, 20]
        assert sorted([*mine, *theirs[0], *theirs[1]]) == list(range(1, 61))
        assert all(one == sorted(one) for one in (mine, *theirs))
        read = await app.sessions.messages("shared", limit=1000)
        assert numbers(read) == list(range(1, 61))
        hits = await app.sessions.recall("line", session_key="shared", threshold=0, limit=100)
        assert hits.total_count == 60
        assert await loose_ends(app) == {}


async def test_processes_append_and_compact_the_same_session(store_url: str) -> None:
    async with talking_app(store_url) as app:
        workers = [start_worker(store_url, "churn", name, 15) for name in ("ann", "bob")]
        for number in range(15):
            await app.sessions.append(role="user", content=f"me {number}", session_key="shared")
        for worker in workers:
            worker.communicate(timeout=120)
            assert worker.returncode == 0
        assert numbers(await app.sessions.messages("shared", limit=1000, archived=None)) == list(range(1, 46))
        found = await app.sessions.get("shared")
        assert found.message_count + found.archived_count == 45
        assert found.archived_count >= 1
        assert await loose_ends(app) == {}


async def test_appends_compactions_and_deletions_at_once_leave_nothing_loose(
    app: App, sessions: SessionService
) -> None:
    refused: list[int] = []

    async def churn(number: int) -> None:
        try:
            await sessions.append_many(said(f"a {number}", f"b {number}"), session_key="s")
            live = await sessions.messages("s", limit=1000)
            await sessions.compact_messages("s", up_to=safe_cut(live), summary="so far")
            if number % 5 == 0:
                await sessions.delete("s")
        except (SessionNotFoundError, InvalidInputError):
            refused.append(number)  # deleted or cut by another task meanwhile

    await asyncio.gather(*(churn(number) for number in range(30)))
    assert len(refused) < 30
    assert await loose_ends(app) == {}
    await sessions.append(role="user", content="the end", session_key="s")
    live = await sessions.messages("s", limit=1000, archived=None)
    assert numbers(live) == list(range(1, len(live) + 1))
