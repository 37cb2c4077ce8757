"""No verb of the graph sees or changes another tenant's rows."""

import pytest

from lamina.graph.types import Expansion, Source
from tests.graph.opening import graph_app

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
