"""The memory provider on SQL: SQLite and PostgreSQL, one implementation."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.database.texts import RemovedListener
from lamina.embedding.adoption import adopt
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError, LaminaError
from lamina.index.calibration import Calibration
from lamina.index.engine import SearchEngine
from lamina.index.models import StoredModel
from lamina.index.query import prepare_query
from lamina.index.ranking import RankingModel
from lamina.index.store import drop_tombstones
from lamina.kernel.clock import Clock
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
from lamina.memory.reading import get_history, get_memory, is_live, list_memories, memory_search, reach
from lamina.memory.rows import entry_values, indexable_entry, scope_key
from lamina.memory.settings import MemorySettings
from lamina.memory.types import MemoryEntry, Page, Revision
from lamina.memory.writing import (
    IdTakenError,
    PreparedMemory,
    StoredMemory,
    apply_update,
    delete_memories,
    find_expired,
    find_memory,
    insert_memories,
)

_SWEEP_BATCH = 500
_INLINE_CHARACTERS = 10_000


class SqlMemoryProvider(MemoryProvider):
    """Memories in a `Database`, ranked by the `SearchEngine`. Every write is one transaction."""

    def __init__(
        self,
        *,
        database: Database,
        engine: SearchEngine,
        embedder: Embedder,
        cache: CachedEmbedder,
        settings: MemorySettings,
        clock: Clock,
        on_removed: RemovedListener | None = None,
    ) -> None:
        """`on_removed` is called in the transaction of every deletion, for what other rooms derived from a memory."""
        self.on_removed = on_removed
        self._database = database
        self._engine = engine
        self._embedder = embedder
        self._cache = cache
        self._settings = settings
        self._clock = clock
        self._model: StoredModel | None = None
        self._capabilities: Capabilities | None = None

    @property
    def capabilities(self) -> Capabilities:
        if self._capabilities is None:  # built once: every add asks for the limits in it
            self._capabilities = Capabilities(
                vector_search=True,
                metadata_filtering=True,
                bulk_operations=True,
                embedding_dimensions=self._embedder.dimensions,
                distance_metrics=("cosine",),
                max_content_length=self._settings.max_content_length,
                max_metadata_size=self._settings.max_metadata_size,
            )
        return self._capabilities

    @property
    def model(self) -> StoredModel:
        """The model of the store's vectors; raises ConfigurationError before `initialize`."""
        return self._open_model()

    async def initialize(self) -> None:
        await self._database.open()
        self._model = await adopt(self._database, self._embedder, self._clock)
        calibration = self._model.calibration or Calibration()
        self._engine.use(self._model, RankingModel(calibration=calibration))

    async def shutdown(self) -> None:
        try:
            await self._database.close()
        finally:
            await self._embedder.aclose()

    async def health_check(self) -> Health:
        started = self._clock.monotonic()
        try:
            await self._database.read(self._reach)
        except LaminaError as error:
            status, store = "unhealthy", f"{error.code}: {error.message}"
        else:
            status, store = "healthy", "ok"
        latency = (self._clock.monotonic() - started) * 1000
        components = {"store": store, "embedder": self._embedder.name}
        return Health(
            status="healthy" if status == "healthy" else "unhealthy",
            latency_ms=latency,
            components=components,
        )

    def _reach(self, link: Link) -> None:
        self._database.refuse_another_file()
        link.raw.execute("SELECT 1").fetchone()

    async def generate_embedding(self, request: EmbedRequest) -> tuple[Embedding, ...]:
        vectors = await self._cache.embed(
            request.texts, purpose=request.purpose, tenant=request.tenant, model_id=self._open_model().id
        )
        return tuple(Embedding(vector=found.vector, cache_hit=found.hit) for found in vectors)

    async def add(self, request: AddRequest) -> MemoryEntry:
        (entry,) = await self.bulk_add([request])
        return entry

    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        model = self._open_model()
        if sum(len(request.entry.content) for request in requests) > _INLINE_CHARACTERS:
            # Analysing so much text would hold up the event loop.
            memories = await asyncio.to_thread(prepare_memories, requests)
        else:
            memories = prepare_memories(requests)
        try:
            await self._database.write(lambda link: insert_memories(link, model, memories))
        except IdTakenError:
            if not await self._stored_already(requests):
                raise
        return [request.entry for request in requests]

    async def _stored_already(self, requests: Sequence[AddRequest]) -> bool:
        """Whether an earlier attempt, whose answer was lost, stored these very entries."""

        def compare(link: Link) -> bool:
            found = (find_memory(link, request.scope.tenant, request.entry.id) for request in requests)
            return all(
                stored is not None and stored.key == scope_key(request.scope) and stored.entry == request.entry
                for stored, request in zip(found, requests, strict=True)
            )

        return await self._database.read(compare)

    async def search(self, request: SearchRequest) -> ScopeResults:
        (results,) = await self._found([request])
        return results

    async def search_all(self, requests: Sequence[SearchRequest]) -> Sequence[ScopeResults | LaminaError]:
        try:
            return await self._found(requests)
        except LaminaError:  # which scope's it is shows when each is searched alone
            return await super().search_all(requests)

    async def _found(self, requests: Sequence[SearchRequest]) -> tuple[ScopeResults, ...]:
        """Rank all scopes together, in one hop."""
        self._open_model()
        search = memory_search(requests)
        query = prepare_query(requests[0].query, requests[0].embedding.vector)
        now = requests[0].now.timestamp()
        return await self._database.read(lambda link: self._engine.search(link, search, query, now=now))

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        found = await self._database.read(lambda link: get_memory(link, request))
        return None if found is None else found[1]

    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        return await self._database.read(lambda link: get_history(link, request))

    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        model = self._open_model()

        def change(link: Link) -> MemoryEntry | None:
            stored = _within_reach(find_memory(link, request.tenant, request.id), reach(request.scopes))
            if stored is None or not is_live(stored.entry, request.now):
                return None
            return apply_update(link, model, stored, request)

        return await self._database.write(change)

    async def delete(self, request: DeleteRequest) -> bool:
        return await self.bulk_delete([request]) == 1

    async def bulk_delete(self, requests: Sequence[DeleteRequest]) -> int:
        def remove(link: Link) -> int:
            found = {
                stored.row: stored
                for request in sorted(requests, key=lambda item: item.id)
                if (stored := _within_reach(find_memory(link, request.tenant, request.id), reach(request.scopes)))
            }
            return delete_memories(link, found.values(), self.on_removed)

        return await self._database.write(remove)

    async def list(self, request: ListRequest) -> Page:
        return await self._database.read(lambda link: list_memories(link, request))

    async def sweep(self, now: datetime) -> int:
        """Remove what expired, in batches that let other writers through; how many entries went."""

        def remove(link: Link) -> int:
            return delete_memories(link, find_expired(link, to_micros(now), _SWEEP_BATCH), self.on_removed)

        total = 0
        while removed := await self._database.write(remove):
            total += removed
        return total

    async def drop_tombstones(self, tenant: str) -> int:
        """Forget which entries were deleted; how many marks there were."""
        return await self._database.write(lambda link: drop_tombstones(link, tenant=tenant))

    def _open_model(self) -> StoredModel:
        if self._model is None:
            raise ConfigurationError("The memory provider is not open; call initialize first.")
        return self._model


def prepare_memories(requests: Sequence[AddRequest]) -> "list[PreparedMemory]":
    """Everything about new entries that can be computed before their transaction."""
    return [
        PreparedMemory(
            key=scope_key(request.scope),
            values=entry_values(request.scope.tenant, request.entry),
            indexable=indexable_entry(request.entry, request.embedding),
        )
        for request in requests
    ]


def _within_reach(stored: StoredMemory | None, keys: set[str]) -> StoredMemory | None:
    return stored if stored is not None and stored.key.key in keys else None
