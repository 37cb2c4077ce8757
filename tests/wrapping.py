"""A provider that hands everything on, to build providers on that are slow, broken or less able."""

from collections.abc import Sequence

from lamina.memory.provider import (
    AddRequest,
    Capabilities,
    DeleteRequest,
    Embedding,
    EmbedRequest,
    GetRequest,
    Health,
    ListRequest,
    MemoryProvider,
    ScopeResults,
    SearchRequest,
    UpdateRequest,
)
from lamina.memory.types import MemoryEntry, Page, Revision


class WrappingProvider(MemoryProvider):
    """The provider inside, unchanged."""

    def __init__(self, inner: MemoryProvider) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    async def initialize(self) -> None:
        await self.inner.initialize()

    async def shutdown(self) -> None:
        await self.inner.shutdown()

    async def health_check(self) -> Health:
        return await self.inner.health_check()

    async def generate_embedding(self, request: EmbedRequest) -> tuple[Embedding, ...]:
        return await self.inner.generate_embedding(request)

    async def add(self, request: AddRequest) -> MemoryEntry:
        return await self.inner.add(request)

    async def search(self, request: SearchRequest) -> ScopeResults:
        return await self.inner.search(request)

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        return await self.inner.get(request)

    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        return await self.inner.update(request)

    async def delete(self, request: DeleteRequest) -> bool:
        return await self.inner.delete(request)

    async def list(self, request: ListRequest) -> Page:
        return await self.inner.list(request)

    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        return await self.inner.history(request)

    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        return await self.inner.bulk_add(requests)

    async def bulk_delete(self, requests: Sequence[DeleteRequest]) -> int:
        return await self.inner.bulk_delete(requests)
