"""Row numbers, by which indexes know their entries, are never used twice."""

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.memory.tables import memory


@pytest.mark.anyio
async def test_the_number_of_a_deleted_entry_is_not_used_again(app: App) -> None:
    async def last_row() -> int:
        return await app.parts.database.read(
            lambda link: link.execute(sa.select(sa.func.max(memory.c.row))).scalar_one()
        )

    gone = await app.memory.add("the blue kettle", user_id="u1")
    before = await last_row()
    assert (await app.memory.delete(gone.id, user_id="u1")).success
    await app.memory.add("the red kettle", user_id="u1")
    assert await last_row() > before
