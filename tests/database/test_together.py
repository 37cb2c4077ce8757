"""Reads that share a thread: each has its own result or failure, and none waits long for another."""

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial

import pytest
import sqlalchemy as sa

from lamina.database import together
from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.errors import LaminaError
from lamina.memory.tables import hierarchy

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    opened = Database(DatabaseSettings(url=store_url, pool_size=3))
    await opened.open()
    yield opened
    await opened.close()


def put(link: Link, id: str) -> None:
    link.execute(sa.insert(hierarchy).values(tenant="t", kind="project", id=id, parent_id="x"))


def ids(link: Link) -> list[str]:
    return list(link.execute(sa.select(hierarchy.c.id).where(hierarchy.c.tenant == "t").order_by("id")).scalars())


def thread(_: Link) -> int:
    return threading.get_ident()


async def test_everybody_gets_their_own_result(database: Database) -> None:
    await database.write(lambda link: put(link, "one"))

    def numbered(at: int, link: Link) -> tuple[int, list[str]]:
        return at, ids(link)

    with database.together():
        found = await asyncio.gather(*(database.read(partial(numbered, at)) for at in range(9)))
    assert found == [(at, ["one"]) for at in range(9)]


async def test_reads_asked_for_together_share_a_thread_of_sqlite(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "_PATIENCE_S", 60.0)  # a busy machine must not look like a long read
    all_asked = threading.Event()

    def first(link: Link) -> int:
        assert all_asked.wait(60)
        return thread(link)

    async def say_so() -> int | None:
        all_asked.set()
        return None

    with database.together():
        reads = [database.read(first), *(database.read(thread) for _ in range(8))]
        *threads, _ = await asyncio.gather(*reads, say_so())
    assert len(set(threads)) == 1 or database.name == "postgresql"


async def test_a_read_that_fails_fails_alone(database: Database) -> None:
    def divide(_: Link) -> int:
        return 1 // 0

    def nonsense(link: Link) -> object:
        return link.raw.execute("SELECT nonsense FROM nowhere")

    with database.together():
        found = await asyncio.gather(*map(database.read, (ids, divide, ids, nonsense, ids)), return_exceptions=True)
    assert found[::2] == [[], [], []]
    assert isinstance(found[1], ZeroDivisionError)
    assert isinstance(found[3], LaminaError)


async def test_a_long_read_holds_nobody_up(database: Database) -> None:
    free = threading.Event()
    with database.together():
        before = asyncio.ensure_future(database.read(ids))
        long = asyncio.ensure_future(database.read(lambda _: free.wait()))
        after = [asyncio.ensure_future(database.read(ids)) for _ in range(3)]
        assert await before == []
        assert await asyncio.gather(*after) == [[], [], []]
        assert not long.done()
        free.set()
        assert await long


async def test_a_read_that_was_given_up_is_not_made(database: Database) -> None:
    free = threading.Event()
    made: list[int] = []
    with database.together():
        long = asyncio.ensure_future(database.read(lambda _: free.wait()))
        given_up = asyncio.ensure_future(database.read(lambda _: made.append(1)))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        free.set()
        await long
        assert await database.read(ids) == []
    assert not made or database.name == "postgresql"


async def test_a_read_sees_what_was_written_before_it(database: Database) -> None:
    with database.together():
        assert await database.read(ids) == []
        await database.write(lambda link: put(link, "one"))
        assert await database.read(ids) == ["one"]


async def test_a_task_that_outlives_the_block_reads_on(database: Database) -> None:
    ended = asyncio.Event()

    async def later() -> list[str]:
        await ended.wait()
        return await database.read(ids)

    with database.together():
        task = asyncio.ensure_future(later())
        await database.read(ids)
    ended.set()
    assert await task == []


async def test_a_block_of_one_store_leaves_another_alone(database: Database) -> None:
    other = Database(DatabaseSettings(url=":memory:"))
    await other.open()
    await other.write(lambda link: put(link, "theirs"))
    with database.together():
        mine, theirs = await asyncio.gather(database.read(ids), other.read(ids))
    assert (mine, theirs) == ([], ["theirs"])
    await other.close()


async def test_a_closed_store_refuses_reads_of_a_block(database: Database) -> None:
    await database.close()
    with database.together(), pytest.raises(LaminaError):
        await database.read(ids)
