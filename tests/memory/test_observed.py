"""What memory does as its instruments show it, and what the embedder is spared."""

from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import LaminaError, ProviderError
from lamina.index.store import unpack_vector
from lamina.index.tables import index_vector
from lamina.kernel.clock import ManualClock
from lamina.memory.provider import GetRequest
from lamina.memory.types import Identifiers, MemoryEntry, NewMemory
from tests.instruments import points
from tests.stores import CountingEmbedder, app_on, static_embedder
from tests.wrapping import WrappingProvider

pytestmark = pytest.mark.anyio


async def stored_vector(app: App) -> list[NDArray[np.float32] | None]:
    """Every vector in the store."""

    def read(link: Link) -> list[NDArray[np.float32] | None]:
        rows = link.execute(sa.select(index_vector.c.vector).order_by(index_vector.c.entry))
        return [unpack_vector(row[0]) for row in rows]

    return await app.parts.database.read(read)


@pytest.mark.requirement("memory.embedding.generated", "memory.update.content")
async def test_the_vector_of_new_and_of_changed_content_is_stored(store_url: str, clock: ManualClock) -> None:
    embedder = CountingEmbedder()
    async with app_on(store_url, clock=clock, embedder=embedder) as app:
        embedder.texts.clear()
        added = await app.memory.add("The cat sleeps on the sofa", user_id="u")
        assert (added.embedding_generated, embedder.texts) == (True, ["The cat sleeps on the sofa"])
        (vector,) = await stored_vector(app)
        wanted = await static_embedder().embed(["The cat sleeps on the sofa"], purpose="document")
        np.testing.assert_allclose(vector, wanted[0], atol=1e-3)  # type: ignore[arg-type]
        await app.memory.update(added.id, content="Invoices are due on Friday", user_id="u")
        (vector,) = await stored_vector(app)
        wanted = await static_embedder().embed(["Invoices are due on Friday"], purpose="document")
        np.testing.assert_allclose(vector, wanted[0], atol=1e-3)  # type: ignore[arg-type]


@pytest.mark.requirement("memory.embedding.cached")
async def test_content_seen_before_spares_the_embedder_also_after_reopening(store_url: str, clock: ManualClock) -> None:
    embedder = CountingEmbedder()
    async with app_on(store_url, clock=clock, embedder=embedder) as app:
        embedder.texts.clear()
        first = await app.memory.add("Tea at five", user_id="u")
        again = await app.memory.add("Tea at five", layer="project", project_id="p")
        assert ((first.cache_hit, again.cache_hit), embedder.texts) == ((False, True), ["Tea at five"])
        one, two = await stored_vector(app)
        np.testing.assert_array_equal(one, two)
        counted = [points(app.metrics, f"embedding.cache.{kind}")[()] for kind in ("hits", "misses")]
        assert counted == [1, 1]
    async with app_on(store_url, clock=clock, embedder=embedder) as reopened:
        embedder.texts.clear()
        third = await reopened.memory.add("Tea at five", user_id="somebody else")
        assert (third.cache_hit, third.embedding_generated, embedder.texts) == (True, True, [])
        other = await reopened.memory.for_tenant("other").add("Tea at five", user_id="u")
        assert (other.cache_hit, embedder.texts) == (False, ["Tea at five"])


@pytest.mark.requirement("memory.metrics.operations")
async def test_every_verb_is_counted_and_timed_by_its_name(app: App) -> None:
    memory = app.memory.scoped(user_id="u")
    added = await memory.add("one")
    await memory.bulk_add([NewMemory(content="two", identifiers=Identifiers(user_id="u"))])
    await memory.search("one")
    await memory.get(added.id)
    await memory.update(added.id, tags=["x"])
    await memory.history(added.id)
    await memory.list()
    await memory.delete(added.id)
    await memory.bulk_delete([added.id])
    verbs = {"add", "bulk_add", "search", "get", "update", "history", "list", "delete", "bulk_delete"}
    total = points(app.metrics, "memory.operations.total", "operation", "status")
    assert total == {(verb, "ok"): 1 for verb in verbs}
    assert points(app.metrics, "memory.operations.latency", "operation") == {(verb,): 1 for verb in verbs}


@pytest.mark.requirement("memory.metrics.search")
async def test_a_search_shows_results_and_stored_entries_by_layer(store_url: str, clock: ManualClock) -> None:
    async with app_on(store_url, clock=clock) as app:
        for number in range(3):
            await app.memory.add(f"The printer of floor {number} is out of paper", user_id="u")
        gone = await app.memory.add("The printer of the attic is out of paper", user_id="u")
        await app.memory.add("Printers are bought by the company", layer="company", company_id="c")
        await app.memory.for_tenant("other").add("A printer", user_id="u")
        await app.memory.delete(gone.id, user_id="u")
        await app.memory.search("printer out of paper", user_id="u", company_id="c", threshold=0)
        assert points(app.metrics, "memory.search.results", "layer") == {("user",): 1, ("company",): 1}
        assert points(app.metrics, "memory.storage.size", "layer") == {("user",): 4, ("company",): 1}


class Broken(WrappingProvider):
    """Cannot read."""

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        raise ProviderError("the store is gone")


@pytest.mark.requirement("memory.metrics.errors")
async def test_a_failure_is_counted_by_its_code(app: App) -> None:
    for call in (
        app.memory.add("x", layer="planet", user_id="u"),
        app.memory.add("x", layer="session", user_id="u"),
        app.memory.update("no-such-id", content="x", user_id="u"),
        app.memory.update("no-such-id", content="y", user_id="u"),
        replace(app.memory, provider=Broken(app.memory.provider)).get("x", user_id="u"),
    ):
        with pytest.raises(LaminaError):
            await call
    assert points(app.metrics, "memory.operations.errors", "operation", "code") == {
        ("add", "INVALID_LAYER"): 1,
        ("add", "MISSING_IDENTIFIER"): 1,
        ("update", "MEMORY_NOT_FOUND"): 2,
        ("get", "PROVIDER_ERROR"): 1,
    }
    total = points(app.metrics, "memory.operations.total", "operation", "status")
    assert total == {("add", "error"): 2, ("update", "error"): 2, ("get", "error"): 1}
