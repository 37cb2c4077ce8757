"""Many tasks on one graph: saves, changes and deletions at the same time leave exactly what the texts say."""

import anyio
import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.graph.tables import graph_mention, graph_source, graph_triple
from lamina.graph.types import Source
from tests.graph.opening import graph_app, user

pytestmark = pytest.mark.anyio


async def loose_ends(app: App) -> int:
    """Triples and mentions without a source."""
    counts = [
        sa.select(sa.func.count()).where(table.c.source_row.not_in(sa.select(graph_source.c.row))).select_from(table)
        for table in (graph_triple, graph_mention)
    ]
    return await app.parts.database.read(lambda link: sum(link.execute(count).scalar_one() for count in counts))


async def test_saves_changes_and_deletions_at_the_same_time_leave_what_the_texts_say(store_url: str) -> None:
    async with graph_app(store_url, batch_size=4, delay_s=0) as app:

        async def live(number: int) -> None:
            added = await app.memory.add(f"Ann knows Bob{number}.", user_id="u1")
            if number % 3 == 0:
                await app.memory.update(added.id, content=f"Ann knows Carol{number}.", user_id="u1")
            if number % 3 == 1:
                await app.memory.delete(added.id, user_id="u1")

        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(live, number)
        await app.graph.settled()
        await app.graph.backfill()
        found = {one.object for one in await app.graph.find(subject="Ann", reach=user("u1"), limit=500)}
        kept = {f"Carol{number}" for number in range(0, 60, 3)} | {f"Bob{number}" for number in range(2, 60, 3)}
        assert found == kept
        assert await loose_ends(app) == 0


async def test_triples_of_one_source_added_and_removed_at_the_same_time_leave_no_loose_ends(store_url: str) -> None:
    async with graph_app(store_url) as app, anyio.create_task_group() as group:
        for number in range(40):
            source = Source(kind="import", key=f"{number % 3}")
            if number % 4 == 3:
                group.start_soon(app.graph.remove_source, source.kind, source.key)
            else:

                async def add(number: int = number, source: Source = source) -> None:
                    await app.graph.add(f"n{number}", "knows", "hub", source=source)

                group.start_soon(add)
    async with graph_app(store_url) as app:
        assert await loose_ends(app) == 0
        sources = {one.source.key for one in await app.graph.find(limit=500)}
        assert sources <= {"0", "1", "2"}


async def test_two_apps_on_one_store_read_each_text_once(store_url: str) -> None:
    async with graph_app(store_url) as one, graph_app(store_url) as other:
        for number in range(30):
            await one.knowledge.save(f"k{number}", f"Ann knows Bob{number}.", category="fact")
        async with anyio.create_task_group() as group:
            group.start_soon(one.graph.backfill)
            group.start_soon(other.graph.backfill)
        found = [triple.object for triple in await other.graph.find(subject="Ann", limit=500)]
        assert len(found) == len(set(found)) == 30
