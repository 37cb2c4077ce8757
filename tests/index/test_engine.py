"""The search engine on a real store: always current, bounded in memory, and the same by index and by scan."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, cast

import anyio
import pytest
import sqlalchemy as sa

from lamina.database.link import Link
from lamina.errors import ConfigurationError
from lamina.index import engine as engine_module
from lamina.index.engine import SearchEngine
from lamina.index.models import add_model, set_state
from lamina.index.query import prepare_query
from lamina.index.ranking import Ranked
from lamina.index.search import Search, Wanted
from lamina.index.settings import IndexSettings
from lamina.index.store import indexable
from lamina.observability.metrics import Metrics
from tests.index.scopes import Row, index_of
from tests.index.stored import DIMENSIONS, Stored, key, stored, talk, vector
from tests.instruments import points

pytestmark = pytest.mark.anyio

MEGABYTE = 1024 * 1024


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Stored]:
    async with stored(store_url) as opened:
        yield opened


@pytest.fixture
async def other(store: Stored, store_url: str) -> AsyncIterator[Stored]:
    """Another process on the same store."""
    async with stored(store_url) as opened:
        yield opened


def count(store: Stored, name: str) -> float:
    return points(store.metrics, name).get((), 0)


async def test_an_add_is_found_by_the_very_next_search_here_and_elsewhere(store: Stored, other: Stored) -> None:
    assert await store.search("s", "harbour") is None
    for number in range(1, 6):
        await store.add("s", [(number, indexable(f"harbour {number}", None))])
        assert await store.found("s", "harbour") == set(range(1, number + 1))
        assert await other.found("s", "harbour") == set(range(1, number + 1))
    assert (count(store, "index.loads"), count(other, "index.loads")) == (1, 1)


async def test_everybody_finds_what_they_just_added_while_all_add(store: Stored, other: Stored) -> None:
    async def add_and_look(number: int) -> None:
        mine, theirs = (store, other) if number % 2 else (other, store)
        await mine.add("s", [(number, indexable(f"word{number} of the harbour", vector(number)))])
        for each in (mine, theirs):
            ranked = await each.search("s", f"word{number}", limit=1)
            assert ranked is not None
            assert ranked.entries.tolist() == [number]

    async with anyio.create_task_group() as group:
        for number in range(1, 41):
            group.start_soon(add_and_look, number)
    assert await store.found("s", "harbour") == await other.found("s", "harbour") == set(range(1, 41))


async def test_changes_deletions_and_expiry_are_seen_at_once(store: Stored, other: Stored) -> None:
    await store.add("s", [(number, indexable(f"harbour {number}", vector(number))) for number in range(1, 6)])
    assert len(await other.found("s", "harbour")) == 5
    await store.remove("s", [2, 4])
    await store.change("s", 3, indexable("kitchen", vector(3)))
    await store.expire("s", 5, 100.0)
    for each in (store, other):
        assert await each.found("s", "harbour", now=99) == {1, 3, 5}
        assert await each.found("s", "harbour", now=100) == {1, 3}
        ranked = await each.search("s", "kitchen", limit=1)
        assert ranked is not None
        assert (ranked.entries.tolist(), ranked.total) == ([3], 3)
    await store.expire("s", 5, None)
    assert await other.found("s", "harbour", now=100) == {1, 3, 5}


async def test_an_index_that_missed_dropped_tombstones_loads_anew(store: Stored, other: Stored) -> None:
    await store.add("s", [(number, talk(number)) for number in range(1, 30)])
    await store.add("calm", [(number, talk(number)) for number in range(100, 110)])
    for name in ("s", "calm"):
        await other.found(name, "harbour")
    await store.remove("s", list(range(1, 10)))
    assert await store.drop_tombstones() == 9
    assert await store.drop_tombstones() == 0
    assert await other.found("s", "harbour") == set(range(10, 30))
    assert count(other, "index.loads") == 3
    await other.found("calm", "harbour")
    assert count(other, "index.loads") == 3


async def test_reopening_gives_the_same_ranking(store: Stored, store_url: str) -> None:
    await store.add("s", [(number, talk(number)) for number in range(1, 60)])
    await store.search("s", "harbour and garden", 5)
    await store.remove("s", [7, 8, 9])
    await store.change("s", 10, talk(1000))
    here = await store.search("s", "harbour and garden", 5)
    async with stored(store_url) as reopened:
        same(await reopened.search("s", "harbour and garden", 5), here)


async def test_an_entry_number_that_comes_back_is_the_new_entry(store: Stored, other: Stored) -> None:
    await store.add("s", [(1, indexable("harbour", None)), (2, indexable("garden", None))])
    assert await other.found("s", "harbour") == {1, 2}
    await store.remove("s", [2])
    await store.add("s", [(2, indexable("kitchen", None))])
    for each in (store, other):
        ranked = await each.search("s", "kitchen", threshold=0.7)
        assert ranked is not None
        assert ranked.entries.tolist() == [2]
        assert await each.search("s", "garden", threshold=0.7) is not None
        assert (await each.found("s", "garden")) == {1, 2}


async def test_scopes_and_tenants_are_apart(store: Stored) -> None:
    await store.add("s", [(1, indexable("harbour", None))])
    await store.add("s", [(2, indexable("harbour", None))], tenant="other")
    await store.add("s2", [(3, indexable("harbour", None))])
    assert await store.found("s", "harbour") == {1}
    assert await store.found("s", "harbour", tenant="other") == {2}
    assert await store.found("s2", "harbour") == {3}
    assert await store.search("s", "harbour", tenant="nobody") is None


# The memory that indexes may take.


async def fill(store: Stored, scopes: int, entries: int) -> None:
    for scope in range(scopes):
        first = scope * entries + 1
        await store.add(f"s{scope}", [(number, talk(number)) for number in range(first, first + entries)])


async def test_indexes_stay_within_the_limit_and_the_least_used_leave(store_url: str) -> None:
    async with stored(store_url, memory_limit_mb=1) as store:
        await fill(store, scopes=10, entries=300)
        most = 0
        for scope in range(10):
            assert len(await store.found(f"s{scope}", "harbour")) == 300
            assert 0 < store.engine.nbytes <= MEGABYTE
            most = max(most, store.engine.cached_scopes)
        assert 2 <= most < 10
        assert count(store, "index.evictions") == 10 - store.engine.cached_scopes
        assert count(store, "index.bytes") == store.engine.nbytes
        assert count(store, "index.loads") == 10
        await store.found("s9", "harbour")
        assert count(store, "index.loads") == 10
        await store.found("s0", "harbour")  # left long ago, comes back whole
        assert count(store, "index.loads") == 11
        assert len(await store.found("s0", "harbour")) == 300


async def test_what_is_used_again_outlives_what_is_not(store_url: str) -> None:
    async with stored(store_url, memory_limit_mb=1) as store:
        await fill(store, scopes=8, entries=300)
        for scope in range(1, 8):
            await store.found("s0", "harbour")
            await store.found(f"s{scope}", "harbour")
        assert count(store, "index.evictions") > 0
        assert count(store, "index.loads") == 8


async def test_an_index_that_grows_pushes_others_out(store_url: str) -> None:
    async with stored(store_url, memory_limit_mb=1) as store:
        await fill(store, scopes=2, entries=300)
        for scope in range(2):
            await store.found(f"s{scope}", "harbour")
        assert store.engine.cached_scopes == 2
        for first in range(10_000, 11_300, 100):
            await store.add("s1", [(number, talk(number)) for number in range(first, first + 100)])
            await store.found("s1", "harbour")
            assert store.engine.nbytes <= MEGABYTE
        assert len(await store.found("s1", "harbour")) == 1600
        assert count(store, "index.evictions") >= 1


async def test_searches_at_once_stay_within_the_limit_as_well(store_url: str) -> None:
    async with stored(store_url, memory_limit_mb=1) as store:
        await fill(store, scopes=10, entries=200)

        async def look(number: int) -> None:
            assert len(await store.found(f"s{number % 10}", "harbour")) == 200

        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(look, number)
        assert store.engine.nbytes <= MEGABYTE
        held = sum(each.index.nbytes for each in store.engine._cache.values())
        assert store.engine.nbytes == held


# A scope too large for memory: the same answers, read as they stream by.


def same(found: Ranked | None, wanted: Ranked | None) -> None:
    assert found is not None
    assert wanted is not None
    assert found.entries.tolist() == wanted.entries.tolist()
    assert found.scores.tolist() == wanted.scores.tolist()
    assert found.signals == wanted.signals
    assert found.total == wanted.total


QUERIES: list[dict[str, Any]] = [
    {"text": "harbour"},
    {"text": "where is the library of the island", "seed": 12},
    {"text": "number77 at the station", "seed": 77, "limit": 5},
    {"text": "what did Ann say about the bridge", "seed": 3, "threshold": 0.3},
    {"text": "the market in March 2024", "limit": 20},
    {"text": "nothing of the kind", "seed": 9, "threshold": 0.7},
    {"text": "river tower", "now": 1_800_000_000.0, "limit": 50},
    {"text": "school", "allowed": list(range(1, 2000, 7)), "limit": 10},
    {"text": "forest", "allowed": [5], "now": 1_800_000_000.0},
]


async def test_a_scan_finds_exactly_what_an_index_finds(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_CHUNK", 700)
    async with stored(store_url, memory_limit_mb=1) as small, stored(store_url) as large:
        await small.add("s", [(number, talk(number)) for number in range(1, 1800)])
        await small.remove("s", list(range(100, 200)))
        for number in range(300, 320):
            await small.change("s", number, talk(number + 5000))
        await small.expire("s", 400, 1_700_000_000.0)
        for query in QUERIES:
            same(await small.search("s", **query), await large.search("s", **query))
        assert (small.engine.cached_scopes, small.engine.nbytes) == (0, 0)
        assert count(small, "index.loads") == 0
        assert large.engine.cached_scopes == 1
        await small.add("s", [(5000, indexable("zebra", vector(1)))])
        ranked = await small.search("s", "zebra", limit=1)
        assert ranked is not None
        assert ranked.entries.tolist() == [5000]


async def test_few_entries_with_long_texts_are_scanned_as_well(store_url: str) -> None:
    async with stored(store_url, memory_limit_mb=1) as small, stored(store_url) as large:
        await small.add("talk", [(number, talk(number)) for number in range(1, 50)])
        await small.found("talk", "harbour")
        held = small.engine.nbytes
        words = [" ".join(f"w{number}x{word}" for word in range(2000)) for number in range(100)]
        await small.add("long", [(1000 + at, indexable(text, vector(at))) for at, text in enumerate(words)])
        for text in ("w7x3 w7x4 w8x1", "harbour"):
            same(await small.search("long", text, 7), await large.search("long", text, 7))
        assert large.engine.nbytes > MEGABYTE
        assert (small.engine.nbytes, small.engine.cached_scopes) == (held, 1)
        loads = count(small, "index.loads")
        await small.search("long", "harbour")
        assert count(small, "index.loads") == loads  # not tried again while it is as large
        await small.remove("long", [1000 + number for number in range(95)])
        same(await small.search("long", "w97x3"), await large.search("long", "w97x3"))
        assert small.engine.cached_scopes == 2


async def test_a_load_that_fails_leaves_nothing_behind(store: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_CHUNK", 20)
    await store.add("s", [(number, talk(number)) for number in range(1, 100)])
    run, calls = Link.run, [0]

    def failing(link: Link, *args: Any) -> Any:
        calls[0] += 1
        if calls[0] == 4:
            raise ZeroDivisionError
        return run(link, *args)

    monkeypatch.setattr(Link, "run", failing)
    with pytest.raises(ZeroDivisionError):
        await store.search("s", "harbour")
    assert (store.engine.cached_scopes, store.engine.nbytes) == (0, 0)
    monkeypatch.setattr(Link, "run", run)
    assert len(await store.found("s", "harbour")) == 99


async def test_a_store_with_another_model_is_not_searched_with_the_old_one(store: Stored) -> None:
    await store.add("s", [(1, indexable("harbour", vector(1)))])
    await store.search("s", "harbour")

    def switch(link: Link) -> None:
        set_state(link, store.model.id, "retired")
        add_model(link, name="new", dimensions=3, state="active", now=0)

    await store.database.write(switch)
    with pytest.raises(ConfigurationError, match="another model"):
        await store.search("s", "harbour")
    with pytest.raises(ConfigurationError, match="re-embedded"):
        await store.add("s", [(2, indexable("garden", vector(2)))])


async def test_an_engine_without_a_model_says_so(store: Stored) -> None:
    await store.add("s", [(1, indexable("harbour", None))])
    store.engine = SearchEngine(IndexSettings(), Metrics())
    with pytest.raises(ConfigurationError, match="not given"):
        await store.search("s", "harbour")


async def test_a_filter_that_lets_nothing_through_reads_no_index(store: Stored) -> None:
    await store.add("s", [(1, indexable("harbour", None))])
    assert await store.search("s", "harbour", allowed=[]) is None
    assert count(store, "index.loads") == 0
    ranked = await store.search("s", "harbour", allowed=[1, 99])
    assert ranked is not None
    assert ranked.entries.tolist() == [1]


async def test_a_load_looks_each_vector_up_once_even_without_statistics(fresh_postgres_url: str) -> None:
    async with stored(fresh_postgres_url) as store:
        await store.add("s", [(number, talk(number)) for number in range(1, 500)])
        text, fixed = engine_module._ROWS.compiled(sa.make_url(fresh_postgres_url).get_dialect()())
        place = {"tenant": "t", "scope_id": 1, "model_id": store.model.id, "version": 0, "entry": 0, "chunk": 8192}
        plan = await store.database.read(
            lambda link: link.raw.execute(f"EXPLAIN (ANALYZE, COSTS OFF) {text}", {**fixed, **place}).fetchall()
        )
    shown = "\n".join(row[0] for row in plan)
    assert "rows=499" in shown
    assert "Rows Removed" not in shown


# Several rooms that search at once.


def entries(_: Link, rankings: Sequence[Ranked | None]) -> list[list[int] | None]:
    return [None if ranked is None else ranked.entries.tolist() for ranked in rankings]


def refuse(_: Link, rankings: Sequence[Ranked | None]) -> list[list[int] | None]:
    raise ValueError("a room that fails")


def searching(*names: str, finish: Any = entries) -> Search[list[list[int] | None]]:
    return Search(wanted=tuple(Wanted(scope=key(name), limit=5, threshold=0.2) for name in names), finish=finish)


async def test_searches_of_several_rooms_give_what_each_gives_alone(store: Stored) -> None:
    await fill(store, scopes=4, entries=40)
    rooms = [searching("s0", "s1"), searching("s2"), searching("nowhere", "s3")]
    query = prepare_query("What did Ann say about the harbour?", vector(3))
    alone = [
        await store.database.read(partial(store.engine.search, search=room, query=query, now=0.0)) for room in rooms
    ]
    together = await store.database.read(partial(store.engine.search_loaded, searches=rooms, query=query, now=0.0))
    assert together == alone
    assert all(found is None or found for room in alone for found in room)


async def test_a_room_that_fails_costs_the_others_nothing(store: Stored) -> None:
    await fill(store, scopes=2, entries=5)
    await store.search("s0", "harbour")
    await store.search("s1", "harbour")
    rooms = [searching("s0"), searching("s1", finish=refuse), searching("s1")]
    query = prepare_query("harbour", None)
    found = await store.database.read(partial(store.engine.search_loaded, searches=rooms, query=query, now=0.0))
    assert isinstance(found[1], ValueError)
    assert isinstance(found[0], list)
    assert isinstance(found[2], list)


async def test_an_index_that_must_be_read_first_keeps_nobody_waiting(store: Stored, other: Stored) -> None:
    await fill(store, scopes=2, entries=5)
    await store.search("s0", "harbour")
    rooms = [searching("s0"), searching("s0", "s1")]
    read = partial(store.engine.search_loaded, searches=rooms, query=prepare_query("harbour", None), now=0.0)
    found = await store.database.read(read)
    assert isinstance(found[0], list)
    assert found[1] is None
    assert count(store, "index.loads") == 1
    other.indexed = store.indexed
    for number in range(100, 100 + 3):
        await other.add("s0", [(number, indexable(f"harbour {number}", None))])
    ((few,), _) = cast(Any, await store.database.read(read))
    assert {101, 102} <= set(few)
    for number in range(200, 200 + 40):
        await other.add("s0", [(number, indexable(f"harbour {number}", None))])
    assert await store.database.read(read) == [None, None]


async def test_an_index_of_ones_own_is_ranked_beside_scopes_of_the_store(store: Stored) -> None:
    await fill(store, scopes=1, entries=5)
    await store.search("s0", "harbour")
    mine = index_of([Row(7, "the harbour at night"), Row(8, "a kitchen")], dimensions=DIMENSIONS)
    wanted = [Wanted(scope=scope, limit=5, threshold=0.0) for scope in (mine, key("s0"))]
    query = prepare_query("harbour", None)
    ranked = await store.database.read(partial(store.engine.rank_all, wanted=wanted, query=query, now=0.0))
    assert ranked[0] is not None
    assert ranked[0].entries.tolist() == [7, 8]
    assert ranked[1] is not None
    assert len(ranked[1].entries) == 5
