"""No verb of the graph sees or changes another tenant's rows."""

import pytest

from lamina.graph.types import Expansion, Reach, Source
from tests.graph.opening import graph_app, said, user

pytestmark = pytest.mark.anyio


async def test_every_verb_stays_within_its_tenant(store_url: str) -> None:
    async with graph_app(store_url) as app:
        mine, theirs = app.graph, app.graph.for_tenant("theirs")
        source = Source(kind="import", key="one")
        await mine.add("Ann", "knows", "Bob", source=source)
        await mine.alias("Ann", "Annie")
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        await mine.settled()

        assert await theirs.find() == ()
        assert await theirs.find(source=("import", "one")) == ()
        assert await theirs.entity("Ann") is None
        assert await theirs.neighbours("Ann") == ()
        assert (await theirs.traverse("Ann")).visits == ()
        assert await theirs.path("Ann", "Bob") is None
        assert await theirs.expand("Ann Acme", hits=[("knowledge", "stack")]) == Expansion()
        assert await theirs.remove("Ann") == 0
        assert await theirs.end("Ann", "knows") == 0
        assert not await theirs.remove_source("import", "one")
        assert not await theirs.remove_source("knowledge", "stack")
        assert not await theirs.unalias("Annie")
        await theirs.add("Ann", "owns", "boat", source=source)
        await theirs.alias("boat", "Annie")

        assert [one.name for one in await mine.neighbours("Annie")] == ["Bob"]
        assert [one.name for one in await theirs.neighbours("Annie")] == ["Ann"]
        assert len(await mine.find()) == 2
        assert len(await theirs.find()) == 1


async def test_deleting_a_text_of_one_tenant_leaves_the_same_key_of_another(store_url: str) -> None:
    async with graph_app(store_url) as app:
        other = app.knowledge.for_tenant("other")
        for service in (app.knowledge, other):
            await service.save("stack", "Acme uses PostgreSQL.", category="fact")
        await app.graph.settled()
        await other.delete("stack")
        assert len(await app.graph.find()) == 1
        assert await app.graph.for_tenant("other").find() == ()


async def test_who_may_change_only_their_own_leaves_what_is_shared(store_url: str) -> None:
    async with graph_app(store_url) as app:
        scope = next(iter(user("ann").scopes))
        await app.graph.add("Ann", "knows", "Bob")
        await app.graph.add("Ann", "prefers", "tea", source=Source(kind="import", key="one", scope=scope))
        own = Reach.of([scope], shared=False)

        assert await app.graph.end("Ann", "knows", reach=own) == 0
        assert await app.graph.remove("Ann", reach=own) == 1
        assert [said(one) for one in await app.graph.find()] == [("Ann", "knows", "Bob")]
