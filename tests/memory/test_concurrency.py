"""Fifty tasks on two apps attack one store; afterwards everything adds up."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import anyio
import pytest

from lamina.app import App
from lamina.errors import MemoryNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.memory.service import MemoryService
from lamina.memory.types import SearchResults
from tests.loose_ends import loose_ends
from tests.stores import app_on

pytestmark = pytest.mark.anyio

TASKS = 50
STEPS = 8
USERS = ("ann", "bob", "cem")
THINGS = ("harbour", "kitchen", "garden", "library", "station", "market")


@dataclass
class Ledger:
    """What the store acknowledged."""

    owners: dict[str, str] = field(default_factory=dict)
    updates: Counter[tuple[str, str]] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)


async def attack(memory: MemoryService, ledger: Ledger, number: int) -> None:
    random = Random(number)
    for step in range(STEPS):
        await act(memory, ledger, random, f"note {number}-{step} about the {random.choice(THINGS)}")


async def act(memory: MemoryService, ledger: Ledger, random: Random, text: str) -> None:
    verb = random.choice(["add", "add", "add", "update", "update", "delete", "search", "history"])
    if verb == "add" or not ledger.owners:
        owner = random.choice(USERS)
        added = await memory.add(text, user_id=owner)
        ledger.owners[added.id] = owner
        return
    id, owner = random.choice(list(ledger.owners.items()))
    mine = memory.scoped(user_id=owner)
    if verb == "update":
        try:
            await mine.update(id, content=text)
        except MemoryNotFoundError:
            assert id in ledger.deleted
        else:
            ledger.updates[id, text] += 1
    elif verb == "delete":
        ledger.deleted.add(id)
        await mine.delete(id)
    elif verb == "search":
        hits = await mine.search(f"the {random.choice(THINGS)}", threshold=0, limit=100)
        assert {hit.memory.identifiers.user_id for hit in hits} <= {owner}
        assert len({hit.id for hit in hits}) == len(hits) > 0 or ledger.deleted
    else:
        versions = [state.version for state in await mine.history(id)]
        assert versions == list(range(1, len(versions) + 1))
        assert versions or id in ledger.deleted


def scored(hits: SearchResults) -> dict[str, float]:
    return {hit.content: hit.score for hit in hits}


async def check(app: App, ledger: Ledger) -> None:
    living = {id: owner for id, owner in ledger.owners.items() if id not in ledger.deleted}
    assert len(living) > 20
    assert len(ledger.deleted) > 10
    for id, owner in living.items():
        states = await app.memory.history(id, user_id=owner)
        assert [state.version for state in states] == list(range(1, len(states) + 1))
        assert Counter((id, state.content) for state in states[1:]) == Counter(
            {key: count for key, count in ledger.updates.items() if key[0] == id}
        )
        entry = await app.memory.get(id, user_id=owner)
        assert entry is not None
        assert (entry.content, entry.version) == (states[-1].content, states[-1].version)
    for id in ledger.deleted:
        assert await app.memory.get(id, user_id=ledger.owners[id]) is None


async def test_everything_adds_up_after_fifty_tasks_on_two_apps(store_url: str, clock: ManualClock) -> None:
    ledger = Ledger()
    async with app_on(store_url, clock=clock) as one, app_on(store_url, clock=clock) as two:
        async with anyio.create_task_group() as group:
            for number in range(TASKS):
                group.start_soon(attack, (one, two)[number % 2].memory, ledger, number)
        await check(one, ledger)
        async with app_on(store_url, clock=clock) as fresh:
            for user in USERS:
                mine = [app.memory.scoped(user_id=user) for app in (fresh, one, two)]
                total = (await mine[0].list()).total_count
                assert total == sum(o == user and id not in ledger.deleted for id, o in ledger.owners.items())
                found = [await each.search("a note about the garden", threshold=0, limit=100) for each in mine]
                assert [each.total_count + len(each.duplicates) for each in found] == [total] * 3
                assert scored(found[1]) == pytest.approx(scored(found[0]), abs=1e-5)
                assert scored(found[2]) == pytest.approx(scored(found[0]), abs=1e-5)
    assert loose_ends(store_url) == {}


async def test_concurrent_changes_of_one_memory_all_count(store_url: str, clock: ManualClock) -> None:
    async with app_on(store_url, clock=clock) as one, app_on(store_url, clock=clock) as two:
        added = await one.memory.add("version 0", user_id="u")

        async def change(number: int) -> None:
            app = (one, two)[number % 2]
            await app.memory.update(added.id, content=f"version {number}", metadata={str(number): number}, user_id="u")

        async with anyio.create_task_group() as group:
            for number in range(1, 31):
                group.start_soon(change, number)
        states = await one.memory.history(added.id, user_id="u")
        assert [state.version for state in states] == list(range(1, 32))
        assert {state.content for state in states} == {f"version {number}" for number in range(31)}
        assert states[-1].metadata == {str(number): number for number in range(1, 31)}
        (hit,) = await two.memory.search(states[-1].content, user_id="u", threshold=0)
        assert hit.content == states[-1].content
    assert loose_ends(store_url) == {}


async def test_history_is_one_view_while_the_memory_changes(store_url: str, clock: ManualClock) -> None:
    async with app_on(store_url, clock=clock) as app:
        added = await app.memory.add("version 1", user_id="u")
        done = anyio.Event()

        async def change() -> None:
            for number in range(2, 42):
                await app.memory.update(added.id, content=f"version {number}", user_id="u")
            done.set()

        async def look() -> None:
            while not done.is_set():
                states = await app.memory.history(added.id, user_id="u")
                assert [state.content for state in states] == [f"version {n + 1}" for n in range(len(states))]

        async with anyio.create_task_group() as group:
            group.start_soon(change)
            for _ in range(4):
                group.start_soon(look)


async def test_the_total_of_a_page_is_that_of_its_entries(store_url: str, clock: ManualClock) -> None:
    async with app_on(store_url, clock=clock) as app:
        done = anyio.Event()

        async def grow() -> None:
            for number in range(40):
                await app.memory.add(f"entry {number}", user_id="u")
            done.set()

        async def look() -> None:
            while not done.is_set():
                page = await app.memory.list(user_id="u")
                assert page.total_count == len(page.memories)

        async with anyio.create_task_group() as group:
            group.start_soon(grow)
            for _ in range(4):
                group.start_soon(look)
