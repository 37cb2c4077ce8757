"""Off by default: nothing is read, nothing runs, nothing is found; deletions still clean up."""

import pytest

import lamina
from lamina.errors import ConfigurationError, InvalidInputError
from lamina.graph.settings import GraphSettings
from lamina.graph.types import Expansion, Source
from tests.graph.opening import graph_app, said, user
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


@pytest.mark.requirement("knowledge.disabled")
async def test_while_knowledge_is_off_the_graph_shows_nothing_of_it(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.knowledge.save("stack", "Acme uses PostgreSQL. Billing depends on PostgreSQL.", category="fact")
        await app.learning.correct("Acme is down", "Restart PostgreSQL.")
        await app.memory.add("Ann works at Acme.", user_id="u1")
        await app.graph.settled()
    graph = {"enabled": True}
    async with lamina.open(store_url, embedder=static_embedder(), graph=graph) as app:
        mine = user("u1")
        assert [said(one) for one in await app.graph.find(reach=mine)] == [("Ann", "works_at", "Acme")]
        assert [visit.name for visit in (await app.graph.traverse("Ann", depth=3, reach=mine)).visits] == ["Acme"]
        assert await app.graph.entity("PostgreSQL", reach=mine) is None
        assert {text.source.kind for text in (await app.graph.expand("Acme", reach=mine)).texts} == {"memory"}
        prompt = await app.context.assemble("", query="Acme PostgreSQL", user_id="u1")
        assert "Ann works at Acme" in prompt.text
        assert "PostgreSQL" not in prompt.text
        with pytest.raises(InvalidInputError, match="knowledge"):
            await app.graph.add("a", "knows", "b", source=Source(kind="knowledge", key="stack"))


@pytest.mark.parametrize(
    "wrong",
    [{"queue_size": 0}, {"batch_size": 9999}, {"depth": 0}, {"depth": 9}, {"limit": 501}, {"expand_tokens": -1}],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        GraphSettings(**wrong)  # type: ignore[arg-type]
