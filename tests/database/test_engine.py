"""A store as the rooms see it, on both engines: units of work, failures, connections that break, closing."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError, LaminaError, ProviderError
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


async def test_a_write_is_whole_or_not_at_all(database: Database) -> None:
    def half(link: Link) -> None:
        put(link, "first")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(half)
    assert await database.read(ids) == []
    await database.write(lambda link: put(link, "second"))
    assert await database.read(ids) == ["second"]


async def test_a_driver_error_becomes_ours_and_shows_no_content(database: Database) -> None:
    await database.write(lambda link: put(link, "a secret"))
    with pytest.raises(ProviderError) as caught:
        await database.write(lambda link: put(link, "a secret"))
    assert "secret" not in str(caught.value.to_dict())
    with pytest.raises(LaminaError):
        await database.read(lambda link: link.raw.execute("SELECT nonsense FROM nowhere"))
    assert await database.read(ids) == ["a secret"]


async def test_concurrent_writes_are_all_made(database: Database) -> None:
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(database.write, lambda link, number=number: put(link, f"{number:02}"))
    assert await database.read(ids) == [f"{number:02}" for number in range(40)]


async def test_a_read_keeps_its_view_while_others_write(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def twice(link: Link) -> tuple[list[str], list[str]]:
        with link.snapshot():
            before = ids(link)
            begun.set()
            assert go_on.wait(30)
            return before, ids(link)

    async def write() -> None:
        await anyio.to_thread.run_sync(begun.wait, 30)
        await database.write(lambda link: put(link, "new"))
        go_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        before, after = await database.read(twice)
    assert before == after == []
    assert await database.read(ids) == ["new"]


async def test_more_work_than_connections_waits_its_turn(database: Database) -> None:
    most, here, gate = [0], [0], threading.Lock()

    def work(link: Link) -> list[str]:
        with gate:
            here[0] += 1
            most[0] = max(most[0], here[0])
        try:
            return ids(link)
        finally:
            with gate:
                here[0] -= 1

    async with anyio.create_task_group() as group:
        for _ in range(30):
            group.start_soon(database.read, work)
    assert 1 <= most[0] <= 3


async def test_a_broken_connection_is_replaced(fresh_postgres_url: str) -> None:
    database = Database(DatabaseSettings(url=fresh_postgres_url, pool_size=1))
    await database.open()
    await database.write(lambda link: put(link, "kept"))
    for use in (database.read, database.write):
        with pytest.raises(ProviderError) as caught:
            await use(lambda link: link.raw.execute("SELECT pg_terminate_backend(pg_backend_pid())"))
        assert caught.value.retryable
        assert await database.read(ids) == ["kept"]
    await database.close()


async def test_a_closed_store_takes_nothing_and_closing_again_does_nothing(database: Database) -> None:
    await database.close()
    await database.close()
    for use in (database.read, database.write):
        with pytest.raises(ConfigurationError, match="closed"):
            await use(ids)
    with pytest.raises(ConfigurationError, match="closed"):
        database.read_now(ids)


async def test_a_write_whose_caller_gave_up_leaves_the_store_in_order(database: Database) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await database.write(lambda link: put(link, "given up"))
    await database.write(lambda link: put(link, "next"))
    assert "next" in await database.read(ids)


async def test_a_store_in_memory_is_gone_after_closing(tmp_path: Path) -> None:
    database = Database(DatabaseSettings(url=":memory:"))
    await database.open()
    await database.write(lambda link: put(link, "brief"))
    folder = database.address.path
    assert folder is not None
    assert folder.exists()
    await database.close()
    assert not folder.parent.exists()


async def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist; create it"):
        await Database(DatabaseSettings(url=str(tmp_path / "none" / "lamina.db"))).open()
    with pytest.raises(ConfigurationError, match="no store at"):
        await Database(DatabaseSettings(url=str(tmp_path / "lamina.db"))).open(create=False)
    assert not (tmp_path / "lamina.db").exists()
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one to a casual reader\n" * 20)
    with pytest.raises(ProviderError, match="not a Lamina store"):
        await Database(DatabaseSettings(url=str(tmp_path / "text.db"))).open()
    with pytest.raises(ConfigurationError, match="is a folder"):
        await Database(DatabaseSettings(url=str(tmp_path))).open()
    with pytest.raises(ConfigurationError, match="SQLite or PostgreSQL"):
        Database(DatabaseSettings(url="mysql://host/name"))


async def test_a_file_that_was_removed_or_replaced_takes_no_more_writes(tmp_path: Path) -> None:
    path = tmp_path / "lamina.db"
    database = Database(DatabaseSettings(url=str(path)))
    await database.open()
    await database.write(lambda link: put(link, "kept"))
    path.rename(tmp_path / "aside.db")
    for again in (False, True):
        if again:
            path.write_bytes(b"")
        with pytest.raises(ConfigurationError, match="removed or replaced"):
            await database.write(lambda link: put(link, "lost"))
    path.unlink()
    (tmp_path / "aside.db").rename(path)
    await database.write(lambda link: put(link, "later"))
    assert await database.read(ids) == ["kept", "later"]
    await database.close()


async def test_a_relative_path_stays_the_same_file_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    database = Database(DatabaseSettings(url="lamina.db"))
    await database.open()
    monkeypatch.chdir(elsewhere)
    await database.write(lambda link: put(link, "kept"))
    assert await database.read(ids) == ["kept"]
    await database.close()
    assert list(elsewhere.iterdir()) == []
