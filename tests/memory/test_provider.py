"""The port of memory: what a provider must offer, what it may, and what it says of itself."""

import inspect
from dataclasses import replace

import pytest

from lamina.errors import ProviderError
from lamina.memory.provider import Capabilities, DeleteRequest, MemoryProvider
from lamina.memory.service import MemoryService
from lamina.memory.types import Identifiers, NewMemory
from tests.stores import CountingEmbedder, sql_provider
from tests.wrapping import WrappingProvider

REQUIRED = {
    "initialize",
    "shutdown",
    "health_check",
    "add",
    "search",
    "get",
    "update",
    "delete",
    "list",
    "generate_embedding",
}
OPTIONAL = {"bulk_add", "bulk_delete"}


@pytest.mark.requirement("memory.provider.methods")
@pytest.mark.parametrize("missing", sorted(REQUIRED))
def test_a_provider_that_lacks_a_method_cannot_be_made(missing: str) -> None:
    lacking = type("Lacking", (WrappingProvider,), {missing: getattr(MemoryProvider, missing)})
    with pytest.raises(TypeError, match=missing):
        lacking(None)


@pytest.mark.requirement("memory.provider.methods")
def test_bulk_operations_are_a_providers_choice() -> None:
    given = {name: getattr(MemoryProvider, name) for name in OPTIONAL}
    assert type("WithoutBulk", (WrappingProvider,), given)(None)
    assert all(inspect.iscoroutinefunction(getattr(MemoryProvider, name)) for name in REQUIRED | OPTIONAL)


@pytest.mark.requirement("memory.capabilities.vector-search")
def test_the_sql_provider_tells_of_its_vectors_before_it_is_opened(store_url: str) -> None:
    embedder = CountingEmbedder()
    able = sql_provider(store_url, embedder=embedder).capabilities
    assert able.vector_search is True
    assert able.embedding_dimensions == embedder.dimensions > 0
    assert able.distance_metrics == ("cosine",)
    assert able.bulk_operations is True


class OneByOne(WrappingProvider):
    """Has no bulk operations and says so; fails to delete what it is told to fail for."""

    bulk_add = MemoryProvider.bulk_add
    bulk_delete = MemoryProvider.bulk_delete
    stuck: str | None = None

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, bulk_operations=False)

    async def delete(self, request: DeleteRequest) -> bool:
        if request.id == self.stuck:
            raise ProviderError("stuck")
        return await self.inner.delete(request)


@pytest.mark.anyio
@pytest.mark.requirement("memory.capabilities.no-bulk")
async def test_a_provider_without_bulk_operations_says_so_and_is_asked_one_by_one(memory: MemoryService) -> None:
    provider = OneByOne(memory.provider)
    assert provider.capabilities.bulk_operations is False
    single = replace(memory, provider=provider)
    mine = Identifiers(user_id="u")
    added = await single.bulk_add([NewMemory(content=f"entry {number}", identifiers=mine) for number in range(3)])
    assert [one.memory.content for one in added] == ["entry 0", "entry 1", "entry 2"]
    assert (await single.list(user_id="u")).total_count == 3
    provider.stuck = added[1].id
    deleted = await single.bulk_delete([one.id for one in added], user_id="u")
    assert (deleted.deleted, deleted.failed, deleted.errors) == (2, (added[1].id,), {added[1].id: "PROVIDER_ERROR"})
    assert [entry.id for entry in (await memory.list(user_id="u")).memories] == [added[1].id]
