"""Many tasks and several processes at once: nothing is lost, nothing is counted twice."""

import asyncio
from collections import Counter

import pytest

from lamina.app import App
from lamina.errors import RateLimitedError
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from tests.knowledge.opening import knowing_app, loose_ends, row_counts
from tests.knowledge.processes import start_worker

pytestmark = pytest.mark.anyio

TASKS = 64


@pytest.mark.requirement("knowledge.store.concurrent-saves")
async def test_concurrent_saves_of_one_key_use_every_version_number_once(app: App, knowledge: KnowledgeService) -> None:
    results = await asyncio.gather(
        *(knowledge.save("shared", f"text {number}", category="fact") for number in range(TASKS))
    )
    assert sorted(result.entry.version for result in results) == list(range(1, TASKS + 1))
    assert Counter(result.outcome for result in results) == {"created": 1, "changed": TASKS - 1}
    history = await knowledge.history("shared")
    assert {one.content for one in history} == {f"text {number}" for number in range(TASKS)}
    assert await loose_ends(app) == {}
    (hit,) = await knowledge.search("text", threshold=0)
    assert hit.entry.version == TASKS


@pytest.mark.requirement("knowledge.store.concurrent-saves")
async def test_two_processes_save_one_key_and_no_version_is_lost(store_url: str) -> None:
    async with knowing_app(store_url) as app:
        workers = [start_worker(store_url, "versions", name, 15) for name in ("ann", "bob")]
        mine = [(await app.knowledge.save("shared", f"me {n}", category="fact")).entry.version for n in range(15)]
        theirs = [int(line) for worker in workers for line in worker.communicate(timeout=120)[0].split()]
        assert sorted(mine + theirs) == list(range(1, 46))
        assert len(await app.knowledge.history("shared")) == 45
        assert await loose_ends(app) == {}
        (hit,) = await app.knowledge.search("ann bob me", threshold=0)
        assert hit.entry == await app.knowledge.get("shared")


@pytest.mark.requirement("knowledge.limits.reserve")
async def test_of_many_saves_at_once_exactly_one_gets_the_last_slot(store_url: str) -> None:
    async with knowing_app(store_url, max_saves_per_session=3) as app:
        for number in range(2):
            await app.knowledge.save(f"k{number}", "text", category="fact", session_key="s")
        saves = (
            app.knowledge.save(f"new{number}", "text", category="fact", session_key="s") for number in range(TASKS)
        )
        results = await asyncio.gather(*saves, return_exceptions=True)
        refused = [result for result in results if isinstance(result, RateLimitedError)]
        assert len(refused) == TASKS - 1
        assert (await app.knowledge.list()).total_count == 3
        assert await app.knowledge.saves_taken("s") == 3
        assert await loose_ends(app) == {}


@pytest.mark.requirement("knowledge.limits.reserve")
async def test_two_processes_share_the_slots_of_a_session(store_url: str) -> None:
    async with knowing_app(store_url, max_saves_per_session=10) as app:
        workers = [start_worker(store_url, "slots", name, 15) for name in ("ann", "bob")]
        answers = [line for worker in workers for line in worker.communicate(timeout=120)[0].split()]
        assert Counter(answers) == {"1": 10, "RATE_LIMITED": 20}
        assert (await app.knowledge.list()).total_count == 10


async def test_deletes_and_saves_of_one_key_leave_no_loose_ends(app: App, knowledge: KnowledgeService) -> None:
    async def churn(number: int) -> None:
        await knowledge.save("shared", f"text {number}", category="fact")
        await asyncio.gather(knowledge.delete("shared"), knowledge.used(["shared"]), return_exceptions=True)

    await asyncio.gather(*(churn(number) for number in range(24)))
    assert await loose_ends(app) == {}
    stored = (await knowledge.list()).total_count
    assert stored in (0, 1)
    assert len(await knowledge.search("text", threshold=0)) == stored


@pytest.mark.requirement("knowledge.store.use-feedback")
async def test_no_use_is_lost_when_many_are_counted_at_once(knowledge: KnowledgeService) -> None:
    keys = [f"k{number}" for number in range(4)]
    for key in keys:
        await knowledge.save(key, "text", category="fact")
    orders = [keys, keys[::-1]]
    await asyncio.gather(*(knowledge.used(orders[number % 2]) for number in range(TASKS)))
    assert [(await knowledge.get(key)).use_count for key in keys] == [TASKS] * 4
    assert (await knowledge.get("k0")).relevance == pytest.approx(1 + TASKS * 0.05)


@pytest.mark.requirement("knowledge.references.upsert")
async def test_concurrent_saves_of_one_reference_leave_one(app: App, references: ReferenceService) -> None:
    await asyncio.gather(
        *(references.save("docs", type="api", location=f"at {n}", summary=f"text {n}") for n in range(24))
    )
    counts = await row_counts(app, "external_reference", "index_entry", "index_vector")
    assert set(counts.values()) == {1}
    (hit,) = await references.search("text", threshold=0)
    assert hit.reference == await references.get("docs")
