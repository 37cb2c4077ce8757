"""Off by default: nothing is read, nothing runs, nothing is found; deletions still clean up."""

import pytest

import lamina
from lamina.errors import ConfigurationError
from lamina.graph.settings import GraphSettings
from lamina.graph.types import Expansion
from tests.graph.opening import graph_app
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio


def test_the_graph_is_off_by_default() -> None:
    assert not lamina.Settings().graph.enabled


async def test_an_app_without_a_graph_has_no_buffer_and_no_listener(sqlite_url: str) -> None:
    async with lamina.open(sqlite_url, embedder=static_embedder()) as app:
        assert app.memory.on_saved is None
        assert app.graph.buffer is None


async def test_off_everything_is_empty_and_changes_say_how_to_switch_it_on(store_url: str) -> None:
    async with graph_app(store_url, enabled=False) as app:
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        graph = app.graph
        await graph.settled()
        assert await graph.find() == ()
        assert await graph.entity("Acme") is None
        assert await graph.neighbours("Acme") == ()
        assert (await graph.traverse("Acme")).visits == ()
        assert await graph.path("Acme", "PostgreSQL") is None
        assert await graph.expand("Acme") == Expansion()
        for change in (
            graph.add("a", "knows", "b"),
            graph.end("a", "knows"),
            graph.remove("a"),
            graph.remove_source("import", "1"),
            graph.alias("a", "b"),
            graph.unalias("b"),
            graph.backfill(),
        ):
            with pytest.raises(ConfigurationError, match=r"graph\.enabled"):
                await change


async def test_a_deletion_cleans_the_graph_up_also_while_it_is_off(store_url: str) -> None:
    async with graph_app(store_url) as app:
        added = await app.memory.add("Ann works at Acme.", user_id="u1")
        await app.graph.settled()
    async with graph_app(store_url, enabled=False) as app:
        await app.memory.delete(added.id, user_id="u1")
        count = "SELECT (SELECT count(*) FROM graph_triple) + (SELECT count(*) FROM graph_mention)"
        assert (await app.parts.database.read(lambda link: link.raw.execute(count).fetchone()))[0] == 0


@pytest.mark.parametrize(
    "wrong",
    [{"queue_size": 0}, {"batch_size": 9999}, {"depth": 0}, {"depth": 9}, {"limit": 501}, {"expand_tokens": -1}],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        GraphSettings(**wrong)  # type: ignore[arg-type]
