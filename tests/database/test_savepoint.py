"""A part of a transaction that is undone alone, on both engines."""

from collections.abc import AsyncIterator

import pytest

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.database.slots import Slot, reserve_slot, taken_slots

pytestmark = pytest.mark.anyio

KEPT, UNDONE = Slot(tenant="t", name="kept"), Slot(tenant="t", name="undone")


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    opened = Database(DatabaseSettings(url=store_url))
    await opened.open()
    yield opened
    await opened.close()


async def taken(database: Database) -> tuple[int, int]:
    return await database.read(lambda link: (taken_slots(link, KEPT), taken_slots(link, UNDONE)))


async def test_a_part_that_fails_is_undone_alone(database: Database) -> None:
    def part(link: Link) -> None:
        with link.savepoint():
            reserve_slot(link, UNDONE, most=9)
            raise ValueError("part")

    def work(link: Link) -> None:
        reserve_slot(link, KEPT, most=9)
        with pytest.raises(ValueError, match="part"):
            part(link)
        reserve_slot(link, KEPT, most=9)

    await database.write(work)
    assert await taken(database) == (2, 0)


async def test_an_error_of_the_engine_in_a_part_leaves_the_rest_usable(database: Database) -> None:
    def part(link: Link) -> None:
        with link.savepoint():
            link.raw.execute("SELECT * FROM nowhere")

    def work(link: Link) -> None:
        with pytest.raises(Exception, match="nowhere"):
            part(link)
        reserve_slot(link, KEPT, most=9)

    await database.write(work)
    assert await taken(database) == (1, 0)


async def test_a_part_that_succeeds_is_kept_with_the_rest_or_undone_with_it(database: Database) -> None:
    def work(link: Link) -> None:
        with link.savepoint():
            reserve_slot(link, KEPT, most=9)
            with link.savepoint():
                reserve_slot(link, KEPT, most=9)

    def fail(link: Link) -> None:
        work(link)
        raise ValueError("whole")

    with pytest.raises(ValueError, match="whole"):
        await database.write(fail)
    assert await taken(database) == (0, 0)
    await database.write(work)
    assert await taken(database) == (2, 0)
