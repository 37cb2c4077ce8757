"""GraphRAG: what belongs to the hits, with content, within a budget, only what is within reach."""

import pytest

from lamina.app import App
from lamina.graph.types import Expansion, Reach, Source, session_scope
from lamina.kernel.tokens import estimate_tokens
from tests.graph.opening import graph_app, said, user

pytestmark = pytest.mark.anyio


async def fill(app: App) -> str:
    """A little world; the id of Ann's memory."""
    ann = await app.memory.add("Ann works at Acme Corp.", user_id="u1")
    await app.memory.add("Zoe hates Acme Corp.", user_id="u2")
    await app.knowledge.save("stack", "Acme Corp uses PostgreSQL.", category="fact")
    await app.knowledge.save("pg", "PostgreSQL requires a nightly backup.", category="rule")
    await app.knowledge.save("far", "The office in Lima has a garden.", category="fact")
    await app.graph.settled()
    return ann.id


def keys(found: Expansion) -> list[str]:
    return [text.source.key for text in found.texts]


@pytest.mark.requirement("knowledge.graph.rag")
async def test_hits_are_expanded_through_the_graph_with_content(store_url: str) -> None:
    async with graph_app(store_url) as app:
        ann = await fill(app)
        found = await app.graph.expand(hits=[("memory", ann)], reach=user("u1"))
        assert set(found.entities) == {"Ann", "Acme Corp"}
        assert [said(one.triple) for one in found.triples] == [
            ("Acme Corp", "uses", "PostgreSQL"),
            ("PostgreSQL", "depends_on", "nightly backup"),
        ]
        assert keys(found) == ["stack", "pg"]
        assert [text.text for text in found.texts] == [
            "Acme Corp uses PostgreSQL.",
            "PostgreSQL requires a nightly backup.",
        ]
        assert found.texts[0].score > found.texts[1].score
        assert found.tokens == sum(estimate_tokens(text.text) for text in found.texts) + sum(
            estimate_tokens(f"{one.triple.subject} {one.triple.predicate.value.replace('_', ' ')} {one.triple.object}")
            for one in found.triples
        )


@pytest.mark.requirement("knowledge.graph.rag")
async def test_the_same_store_gives_the_same_expansion_and_the_budget_is_never_exceeded(store_url: str) -> None:
    async with graph_app(store_url) as app:
        ann = await fill(app)
        for tokens in (1, 5, 9, 17, 30, 0):
            found = await app.graph.expand("Which PostgreSQL?", hits=[("memory", ann)], tokens=tokens, reach=user("u1"))
            assert found == await app.graph.expand(
                "Which PostgreSQL?", hits=[("memory", ann)], tokens=tokens, reach=user("u1")
            )
            assert tokens == 0 or found.tokens <= tokens
            assert found.left_out > 0 or tokens in (0, 30) or found.tokens
        everything = await app.graph.expand("Which PostgreSQL?", hits=[("memory", ann)], tokens=0, reach=user("u1"))
        assert everything.left_out == 0
        assert (await app.graph.expand("Which PostgreSQL?", tokens=1, reach=user("u1"))).triples == ()


async def test_names_in_the_query_are_enough_and_a_query_without_names_gives_nothing(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await fill(app)
        assert keys(await app.graph.expand("what about acme corp?")) == ["stack", "pg"]
        assert await app.graph.expand("how are you today?") == Expansion()
        assert await app.graph.expand() == Expansion()


async def test_another_user_s_memories_stay_out_of_reach(store_url: str) -> None:
    async with graph_app(store_url) as app:
        ann = await fill(app)
        assert ann not in keys(await app.graph.expand("Acme Corp", reach=user("u2")))
        assert "Zoe" not in repr(await app.graph.expand("Acme Corp Zoe", reach=user("u1")))
        assert (await app.graph.expand(hits=[("memory", ann)], reach=user("u2"))) == Expansion()
        assert await app.graph.for_tenant("other").expand("Acme Corp", reach=user("u1")) == Expansion()


async def test_a_session_s_own_texts_are_seen_in_it_and_everything_else_stays_visible(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await fill(app)
        note = Source(kind="observation", key="1", session_key="s1", scope=session_scope("s1"))
        await app.graph.add("PostgreSQL", "located_in", "Frankfurt", source=note)
        inside = await app.graph.expand("PostgreSQL", reach=Reach.of(session_key="s1"))
        outside = await app.graph.expand("PostgreSQL", reach=Reach.of(session_key="s2"))
        assert "Frankfurt" in {one.triple.object for one in inside.triples}
        assert "Frankfurt" not in {one.triple.object for one in outside.triples}
        assert keys(inside) == keys(outside) == ["pg", "stack"]


async def test_a_session_layer_memory_is_seen_by_its_session_only(store_url: str) -> None:
    async with graph_app(store_url) as app:
        whose = {"user_id": "u1", "session_id": "s1"}
        await app.memory.add("Acme Corp owns Initech.", layer="session", user_id="u1", session_id="s1")
        await app.graph.settled()
        here = Reach.of(await app.memory.scope_names(**whose))
        there = Reach.of(await app.memory.scope_names(user_id="u1", session_id="s2"))
        assert len((await app.graph.expand("Acme Corp", reach=here)).triples) == 1
        assert await app.graph.expand("Acme Corp", reach=there) == Expansion()


async def test_a_name_that_is_everywhere_counts_less_than_a_rare_one(store_url: str) -> None:
    async with graph_app(store_url) as app:
        for number in range(20):
            await app.knowledge.save(f"common{number:02}", f"Acme Corp opened branch {number}.", category="fact")
        await app.knowledge.save("rare", "Initech hired somebody.", category="fact")
        await app.graph.settled()
        assert keys(await app.graph.expand("Acme Corp and Initech"))[0] == "rare"
