"""The verbs of memory: what agents, doors and other rooms call.

Access, validation, embedding, precedence, duplicates and metrics are decided here, once, for every provider.
Identifiers are the caller's: an entry outside their reach reads as absent in every verb.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, Protocol, Unpack

from lamina.errors import LaminaError, MemoryNotFoundError
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.kernel.saved import SavedListener, SavedText
from lamina.memory.access import accessible_scopes, require_any, resolve_layers, resolve_scope
from lamina.memory.filter import parse_filter
from lamina.memory.provider import (
    AddRequest,
    DeleteRequest,
    Embedding,
    EmbedRequest,
    GetRequest,
    ListRequest,
    MemoryProvider,
    UpdateRequest,
)
from lamina.memory.rows import scope_key
from lamina.memory.search import LayerSearch
from lamina.memory.settings import MemorySettings
from lamina.memory.types import (
    IDENTIFIER_NAMES,
    AddResult,
    BulkDeleteResult,
    DeleteResult,
    IdentifierArguments,
    Identifiers,
    MemoryEntry,
    MemoryLayer,
    Metadata,
    NewMemory,
    Page,
    Revision,
    Scope,
    SearchResults,
    Source,
    UpdateResult,
)
from lamina.memory.validate import (
    check_content,
    check_identifier,
    check_identifiers,
    check_limit,
    check_metadata,
    check_metadata_size,
    check_moment,
    check_new_memories,
    check_query,
    check_source,
    check_tags,
    check_threshold,
    sought_id,
    sought_ids,
)
from lamina.observability.metrics import Metrics


class Unset(Enum):
    """A value that was not given, where None means something."""

    KEEP = "keep"


KEEP: Final = Unset.KEEP
"""Leave the field as it is."""

_Scopes = dict[tuple[object, ...], Scope]  # by layer and identifiers: entries of one call often share theirs


class HierarchyLookup(Protocol):
    """Fills in the levels above the ones a caller named."""

    async def complete(self, tenant: str, identifiers: Identifiers) -> Identifiers: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryService:
    """Memory as one caller sees it: a tenant, and identifiers that every verb takes for granted."""

    provider: MemoryProvider
    hierarchy: HierarchyLookup
    settings: MemorySettings
    clock: Clock
    metrics: Metrics
    tenant: str
    identifiers: Identifiers = field(default_factory=Identifiers)
    on_saved: SavedListener | None = None
    """Hears of every text that was stored or changed."""

    def for_tenant(self, tenant: str) -> "MemoryService":
        """The same memory for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_identifier("tenant", tenant))

    def scoped(self, **identifiers: Unpack[IdentifierArguments]) -> "MemoryService":
        """The same memory with identifiers filled in: `mine = app.memory.scoped(user_id="u1")`."""
        return replace(self, identifiers=self._caller(identifiers))

    async def scope_names(self, **identifiers: Unpack[IdentifierArguments]) -> tuple[str, ...]:
        """What other rooms call the scopes within the caller's reach."""
        scopes = accessible_scopes(self.tenant, await self._completed(identifiers))
        return tuple(scope_key(scope).key for scope in scopes)

    async def add(
        self,
        content: str,
        *,
        layer: MemoryLayer | str = MemoryLayer.USER,
        metadata: Metadata | None = None,
        tags: Sequence[str] = (),
        source: Source | None = None,
        expires_at: datetime | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> AddResult:
        """Store a memory; durable when this returns, and found by the very next search.

        Raises InvalidLayerError, MissingIdentifierError, ContentTooLongError, InvalidInputError,
        EmbeddingFailedError, ProviderError.
        """
        with self._verb("add"):
            new = NewMemory(
                content=content,
                layer=layer,
                identifiers=check_identifiers(**identifiers),
                metadata=metadata or {},
                tags=tags,
                source=source,
                expires_at=expires_at,
            )
            scope, entry = await self._checked(new, "add", {})
            (embedding,) = await self._embed([entry.content])
            stored = await self.provider.add(AddRequest(scope=scope, entry=entry, embedding=embedding))
        self._announce(stored, created=True)
        return _add_result(stored, embedding)

    async def bulk_add(self, memories: Sequence[NewMemory]) -> tuple[AddResult, ...]:
        """Store several memories in one transaction where the provider can: all of them or none.

        Raises what `add` raises, and InvalidInputError for an id that is taken.
        """
        with self._verb("bulk_add"):
            known: _Scopes = {}
            checked = [await self._checked(new, "bulk_add", known) for new in check_new_memories(memories)]
            embeddings = await self._embed([entry.content for _, entry in checked])
            requests = [
                AddRequest(scope=scope, entry=entry, embedding=embedding)
                for (scope, entry), embedding in zip(checked, embeddings, strict=True)
            ]
            stored = await self.provider.bulk_add(requests) if requests else []
        for memory in stored:
            self._announce(memory, created=True)
        return tuple(_add_result(*pair) for pair in zip(stored, embeddings, strict=True))

    async def search(
        self,
        query: str,
        *,
        layers: Sequence[MemoryLayer | str] | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        tags: Sequence[str] | None = None,
        where: Mapping[str, object] | None = None,
        explain: bool = False,
        **identifiers: Unpack[IdentifierArguments],
    ) -> SearchResults:
        """The memories relevant to `query`, strongest layer first, then by score.

        Without `layers` every accessible layer is searched. One failing layer becomes a warning; all of them, an
        error. Raises QueryTooLongError, InvalidInputError, InvalidLayerError, MissingIdentifierError,
        InvalidFilterError, EmbeddingFailedError, ProviderError.
        """
        settings = self.settings
        with self._verb("search"):
            check_query(query, settings.max_query_length)
            chosen = LayerSearch(
                query=query,
                limit=check_limit(
                    settings.search_limit if limit is None else limit,
                    settings.max_search_limit,
                    operation="search",
                ),
                threshold=check_threshold(settings.threshold if threshold is None else threshold),
                filter=parse_filter(tags=tags, where=where),
                explain=explain,
                similarity=settings.dedup_similarity,
            )
            given = await self._completed(identifiers)
            scopes = require_any(resolve_layers(self.tenant, given, layers, operation="search"), operation="search")
            (embedding,) = await self._embed([query], purpose="query")
            return await chosen.run(self.provider, scopes, embedding, now=self.clock.now(), metrics=self.metrics)

    async def get(self, id: str, **identifiers: Unpack[IdentifierArguments]) -> MemoryEntry | None:
        """The memory, or None when there is none with this id within the caller's reach."""
        with self._verb("get"):
            return await self.provider.get(await self._lookup(id, identifiers, "get"))

    async def history(self, id: str, **identifiers: Unpack[IdentifierArguments]) -> tuple[Revision, ...]:
        """Every state a memory had, oldest first, the present one last; empty for one out of reach."""
        with self._verb("history"):
            return await self.provider.history(await self._lookup(id, identifiers, "history"))

    async def update(
        self,
        id: str,
        *,
        content: str | None = None,
        metadata: Metadata | None = None,
        tags: Sequence[str] | None = None,
        expires_at: datetime | Literal[Unset.KEEP] | None = KEEP,
        **identifiers: Unpack[IdentifierArguments],
    ) -> UpdateResult:
        """Change a memory. Metadata is merged, shallowly; unchanged content is not embedded again.

        Raises MemoryNotFoundError, and what `add` raises.
        """
        with self._verb("update"):
            if content is not None:
                check_content(content, self._max_content_length)
            patch = None if metadata is None else check_metadata(metadata, self._max_metadata_size)
            lookup = await self._lookup(id, identifiers, "update")
            current = await self.provider.get(lookup)
            embedding: Embedding | None = None
            if current is not None and content is not None and content != current.content:
                (embedding,) = await self._embed([content])
            if current is not None and patch is not None:
                check_metadata_size({**current.metadata, **patch}, self._max_metadata_size)
            request = UpdateRequest(
                tenant=self.tenant,
                id=lookup.id,
                scopes=lookup.scopes,
                now=lookup.now,
                content=None if embedding is None else content,
                embedding=embedding,
                metadata=patch,
                tags=None if tags is None else check_tags(tags),
                expires_at=None if expires_at is KEEP else check_moment("expires_at", expires_at),
                clear_expiry=expires_at is None,
            )
            changed = None if current is None else await self.provider.update(request)
            if changed is not None and content is not None and changed.content != content:
                # What was unchanged when we looked has been changed by somebody since.
                (embedding,) = await self._embed([content])
                changed = await self.provider.update(replace(request, content=content, embedding=embedding))
            if changed is None:
                raise MemoryNotFoundError(details={"id": id})
        self._announce(changed, created=False)
        return UpdateResult(memory=changed, embedding_regenerated=embedding is not None)

    async def delete(self, id: str, **identifiers: Unpack[IdentifierArguments]) -> DeleteResult:
        """Remove a memory with its vector, index row and history; success also when it was not there."""
        with self._verb("delete"):
            lookup = await self._lookup(id, identifiers, "delete")
            await self.provider.delete(DeleteRequest(tenant=self.tenant, id=lookup.id, scopes=lookup.scopes))
        return DeleteResult()

    async def bulk_delete(self, ids: Sequence[str], **identifiers: Unpack[IdentifierArguments]) -> BulkDeleteResult:
        """Remove several memories and count those that were there."""
        with self._verb("bulk_delete"):
            scopes = await self._reach(identifiers, "bulk_delete")
            requests = [DeleteRequest(tenant=self.tenant, id=id, scopes=scopes) for id in sought_ids(ids)]
            if self.provider.capabilities.bulk_operations:
                return BulkDeleteResult(deleted=await self.provider.bulk_delete(requests))
            deleted, errors = 0, {}
            for request in requests:
                try:
                    deleted += await self.provider.delete(request)
                except LaminaError as error:
                    errors[request.id] = error.code
            return BulkDeleteResult(deleted=deleted, failed=tuple(errors), errors=errors)

    async def list(
        self,
        *,
        layer: MemoryLayer | str = MemoryLayer.USER,
        limit: int | None = None,
        cursor: str | None = None,
        tags: Sequence[str] | None = None,
        where: Mapping[str, object] | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> Page:
        """One page of a layer's memories, newest first; pass `next_cursor` back for the next one.

        Raises InvalidLayerError, MissingIdentifierError, InvalidFilterError, InvalidCursorError.
        """
        settings = self.settings
        with self._verb("list"):
            size = check_limit(
                settings.list_limit if limit is None else limit, settings.max_list_limit, operation="list"
            )
            filter = parse_filter(tags=tags, where=where)
            scope = resolve_scope(self.tenant, await self._completed(identifiers), layer, operation="list")
            return await self.provider.list(
                ListRequest(scope=scope, limit=size, now=self.clock.now(), cursor=cursor, filter=filter)
            )

    def _announce(self, memory: MemoryEntry, *, created: bool) -> None:
        if self.on_saved is not None:
            session = memory.identifiers.session_id
            self.on_saved(
                SavedText(
                    tenant=self.tenant,
                    kind="memory",
                    key=memory.id,
                    text=memory.content,
                    created=created,
                    session_key=session,
                )
            )

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise

    @property
    def _max_content_length(self) -> int:
        return min(self.settings.max_content_length, self.provider.capabilities.max_content_length)

    @property
    def _max_metadata_size(self) -> int:
        return min(self.settings.max_metadata_size, self.provider.capabilities.max_metadata_size)

    def _caller(self, identifiers: Mapping[str, Any]) -> Identifiers:
        given = check_identifiers(**identifiers)
        mine = self.identifiers.to_dict()
        return Identifiers(**{**mine, **given.to_dict()}) if mine else given

    async def _completed(self, identifiers: Mapping[str, Any]) -> Identifiers:
        return await self.hierarchy.complete(self.tenant, self._caller(identifiers))

    async def _reach(self, identifiers: IdentifierArguments, operation: str) -> tuple[Scope, ...]:
        scopes = accessible_scopes(self.tenant, await self._completed(identifiers))
        return require_any(scopes, operation=operation)

    async def _lookup(self, id: str, identifiers: IdentifierArguments, operation: str) -> GetRequest:
        scopes = await self._reach(identifiers, operation)
        return GetRequest(tenant=self.tenant, id=sought_id(id), scopes=scopes, now=self.clock.now())

    async def _embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> tuple[Embedding, ...]:
        request = EmbedRequest(tenant=self.tenant, texts=tuple(texts), purpose=purpose)
        return await self.provider.generate_embedding(request) if texts else ()

    async def _scope_of(self, new: NewMemory, operation: str, known: "_Scopes") -> Scope:
        key = (new.layer, *(getattr(new.identifiers, name) for name in IDENTIFIER_NAMES))
        plain = all(part is None or isinstance(part, str) for part in key)  # else the check below refuses it
        if not plain or key not in known:
            given = await self._completed(new.identifiers.to_dict())
            known[key] = resolve_scope(self.tenant, given, new.layer, operation=operation)
        return known[key]

    async def _checked(self, new: NewMemory, operation: str, known: "_Scopes") -> tuple[Scope, MemoryEntry]:
        """A new memory as it will be stored, and where."""
        scope = await self._scope_of(new, operation, known)
        check_content(new.content, self._max_content_length)
        now = self.clock.now()
        entry = MemoryEntry(
            id=new_id() if new.id is None else check_identifier("id", new.id),
            content=new.content,
            layer=scope.layer,
            identifiers=scope.identifiers,
            metadata=check_metadata(new.metadata, self._max_metadata_size),
            tags=check_tags(new.tags),
            source=check_source(new.source),
            created_at=check_moment("created_at", new.created_at) or now,
            updated_at=now,
            expires_at=check_moment("expires_at", new.expires_at),
        )
        return scope, entry


def _add_result(entry: MemoryEntry, embedding: Embedding) -> AddResult:
    return AddResult(memory=entry, embedding_generated=embedding.vector is not None, cache_hit=embedding.cache_hit)
