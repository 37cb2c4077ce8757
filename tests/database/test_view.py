"""One view of the store, held while others write."""

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import LaminaError
from lamina.memory.tables import memory
from tests.stores import app_on

pytestmark = pytest.mark.anyio


def count(link: Link) -> int:
    return int(link.execute(sa.select(sa.func.count()).select_from(memory)).scalar_one())


async def test_a_view_stays_the_same_while_others_write(store_url: str) -> None:
    async with app_on(store_url) as app, app.parts.database.view() as view:
        assert await view.read(count) == 0
        await app.memory.add("Said meanwhile", user_id="u")
        assert await view.read(count) == 0
        assert await app.parts.database.read(count) == 1


async def test_views_take_no_place_of_other_reads(sqlite_store_url: str) -> None:
    async with app_on(sqlite_store_url) as app:
        await nested(app, 12)


async def nested(app: App, depth: int) -> None:
    async with app.parts.database.view() as view:
        assert await view.read(count) == 0
        if depth:
            await nested(app, depth - 1)
        else:
            assert await app.parts.database.read(count) == 0


async def test_a_closed_store_has_no_view(sqlite_store_url: str) -> None:
    async with app_on(sqlite_store_url) as app:
        database = app.parts.database
    with pytest.raises(LaminaError):
        async with database.view():
            pass
