"""Short words for long requests: a provider under test, with a tenant that nobody else uses."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.kernel.ids import new_id
from lamina.memory.filter import Filter, parse_filter
from lamina.memory.provider import (
    AddRequest,
    DeleteRequest,
    Embedding,
    EmbedRequest,
    GetRequest,
    ListRequest,
    MemoryProvider,
    ScopeResults,
    SearchRequest,
    UpdateRequest,
)
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, Page, Revision, Scope

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


class Workbench:
    """A provider and the requests the checks make of it.

    Each workbench has a tenant of its own, so a provider on a store that is never emptied can be checked, too. Time
    is given in requests: `now` is what every request says, until a check moves it.
    """

    def __init__(self, provider: MemoryProvider) -> None:
        self.provider = provider
        self.now = NOON
        self.tenant = f"tenant-{new_id()}"
        self.alice = self.scope(MemoryLayer.USER, user_id="alice")
        self.bob = self.scope(MemoryLayer.USER, user_id="bob")
        self.stranger = self.scope(MemoryLayer.USER, tenant=f"stranger-{new_id()}", user_id="alice")

    def scope(self, layer: MemoryLayer, *, tenant: str | None = None, **identifiers: str) -> Scope:
        """A scope of this tenant, or of another."""
        return Scope(tenant=tenant or self.tenant, layer=layer, identifiers=Identifiers(**identifiers))

    def advance(self, **step: float) -> None:
        """Let time pass in the requests that follow: `advance(hours=1)`."""
        self.now += timedelta(**step)

    def entry(self, content: str, scope: Scope | None = None, **fields: Any) -> MemoryEntry:
        """A complete entry made now."""
        place = scope or self.alice
        made: dict[str, Any] = {
            "id": new_id(),
            "created_at": self.now,
            "updated_at": self.now,
            "layer": place.layer,
            "identifiers": place.identifiers,
            **fields,
        }
        return MemoryEntry(content=content, **made)

    async def embed(self, *texts: str) -> tuple[Embedding, ...]:
        """Embeddings of texts to store."""
        return await self.provider.generate_embedding(EmbedRequest(tenant=self.tenant, texts=texts))

    async def request(self, content: str, scope: Scope | None = None, **fields: Any) -> AddRequest:
        """What it takes to add a text, embedding included."""
        (embedding,) = await self.embed(content)
        return AddRequest(scope=scope or self.alice, entry=self.entry(content, scope, **fields), embedding=embedding)

    async def add(self, content: str, scope: Scope | None = None, **fields: Any) -> MemoryEntry:
        """Store a text for Alice, or in another scope."""
        return await self.provider.add(await self.request(content, scope, **fields))

    async def get(self, id: str, *scopes: Scope) -> MemoryEntry | None:
        """Read as Alice, or from the scopes given."""
        return await self.provider.get(self._lookup(id, scopes))

    async def history(self, id: str, *scopes: Scope) -> tuple[Revision, ...]:
        """Read the history as Alice, or from the scopes given."""
        return await self.provider.history(self._lookup(id, scopes))

    def _lookup(self, id: str, scopes: Sequence[Scope]) -> GetRequest:
        within = tuple(scopes) or (self.alice,)
        return GetRequest(tenant=within[0].tenant, id=id, scopes=within, now=self.now)

    async def update(self, id: str, *scopes: Scope, content: str | None = None, **changes: Any) -> MemoryEntry | None:
        """Change an entry as Alice, or from the scopes given; new content is embedded."""
        within = scopes or (self.alice,)
        embedding = None if content is None else (await self.embed(content))[0]
        request = UpdateRequest(
            tenant=within[0].tenant,
            id=id,
            scopes=within,
            now=self.now,
            content=content,
            embedding=embedding,
            **changes,
        )
        return await self.provider.update(request)

    def deletion(self, id: str, *scopes: Scope) -> DeleteRequest:
        """What it takes to delete as Alice, or from the scopes given."""
        within = scopes or (self.alice,)
        return DeleteRequest(tenant=within[0].tenant, id=id, scopes=within)

    async def delete(self, id: str, *scopes: Scope) -> bool:
        """Delete as Alice, or from the scopes given."""
        return await self.provider.delete(self.deletion(id, *scopes))

    async def search(
        self,
        query: str,
        scope: Scope | None = None,
        *,
        limit: int = 100,
        threshold: float = 0.0,
        filter: Filter | None = None,
        explain: bool = False,
    ) -> ScopeResults:
        """Search Alice's memories, or another scope; without a threshold everything may be found."""
        embedded = await self.provider.generate_embedding(
            EmbedRequest(tenant=self.tenant, texts=(query,), purpose="query")
        )
        request = SearchRequest(
            scope=scope or self.alice,
            query=query,
            embedding=embedded[0],
            limit=limit,
            threshold=threshold,
            now=self.now,
            filter=filter or Filter(),
            explain=explain,
        )
        return await self.provider.search(request)

    async def list(
        self, scope: Scope | None = None, *, limit: int = 100, cursor: str | None = None, filter: Filter | None = None
    ) -> Page:
        """One page of Alice's memories, or of another scope."""
        request = ListRequest(
            scope=scope or self.alice, limit=limit, now=self.now, cursor=cursor, filter=filter or Filter()
        )
        return await self.provider.list(request)

    async def listed(self, scope: Scope | None = None, *, filter: Filter | None = None) -> tuple[str, ...]:
        """The ids on the first page of 100."""
        return tuple(entry.id for entry in (await self.list(scope, filter=filter)).memories)


def where(**fields: object) -> Filter:
    """A filter on metadata."""
    return parse_filter(tags=None, where=fields)


def tagged(*tags: str) -> Filter:
    """A filter on tags."""
    return parse_filter(tags=tags, where=None)


def found_ids(results: ScopeResults) -> tuple[str, ...]:
    """The ids of a search, best first."""
    return tuple(found.entry.id for found in results.found)


def changed(entry: MemoryEntry, **expected: object) -> Mapping[str, object]:
    """The fields of an entry that differ from what is expected, by name."""
    return {name: getattr(entry, name) for name, value in expected.items() if getattr(entry, name) != value}
