"""The port to a memory store, and the records its methods take.

A provider stores and finds entries of one scope at a time. It knows nothing of access, precedence or merging:
that is the service's business, so every provider gets it for free. Each method takes one frozen record; a new
option is a new field with a default, and providers written before it keep working. `lamina.testing` ships the
conformance suite that proves an implementation.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import anyio
import numpy as np
from numpy.typing import NDArray

from lamina.errors import LaminaError, ProviderError
from lamina.memory.filter import Filter
from lamina.memory.types import MemoryEntry, Metadata, Page, Revision, Scope

_log = logging.getLogger("lamina.memory")

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider can do."""

    vector_search: bool
    metadata_filtering: bool
    bulk_operations: bool
    embedding_dimensions: int
    distance_metrics: tuple[str, ...] = ("cosine",)
    max_content_length: int
    """In characters."""
    max_metadata_size: int
    """In bytes of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a provider is."""

    status: Literal["healthy", "degraded", "unhealthy"]
    latency_ms: float
    components: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector for a text; None where the text has nothing to embed. `cache_hit`: the model was not asked."""

    vector: Vector | None
    cache_hit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """Embed one or more texts, as documents to store or as a question."""

    tenant: str
    texts: tuple[str, ...]
    purpose: Literal["query", "document"] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRequest:
    """Store a complete entry under its own id. An id the tenant already has is an InvalidInputError."""

    scope: Scope
    entry: MemoryEntry
    embedding: Embedding


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """Rank the live entries of one scope. `filter` and `now` decide before the limit what can be found."""

    scope: Scope
    query: str
    embedding: Embedding
    limit: int
    threshold: float
    now: datetime
    filter: Filter = field(default_factory=Filter)
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One ranked entry, with its stored vector (for deduplication) and the parts of its score."""

    entry: MemoryEntry
    score: float
    vector: Vector | None = None
    signals: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResults:
    """The best entries of a scope, best first, and how many passed the threshold before the limit."""

    found: tuple[Found, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRequest:
    """Read one live entry if it lies in one of the scopes."""

    tenant: str
    id: str
    scopes: tuple[Scope, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRequest:
    """Change an entry that lies in one of the scopes. None leaves a field as it is; metadata is merged, shallowly.

    `embedding` is set exactly when `content` is. `clear_expiry` removes an expiry.
    """

    tenant: str
    id: str
    scopes: tuple[Scope, ...]
    now: datetime
    content: str | None = None
    embedding: Embedding | None = None
    metadata: Metadata | None = None
    tags: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    clear_expiry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest:
    """Delete an entry that lies in one of the scopes, with everything derived from it."""

    tenant: str
    id: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """List the live entries of a scope, newest first."""

    scope: Scope
    limit: int
    now: datetime
    cursor: str | None = None
    filter: Filter = field(default_factory=Filter)


class MemoryProvider(ABC):
    """A memory store. Raises only errors of `lamina.errors`."""

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this provider can do; known before `initialize`."""

    @abstractmethod
    async def initialize(self) -> None:
        """Open connections and check that the store fits. Raises ConfigurationError when it does not."""

    @abstractmethod
    async def shutdown(self) -> None:
        """Finish what was accepted and close; idempotent."""

    @abstractmethod
    async def health_check(self) -> Health:
        """How the store is; never raises."""

    @abstractmethod
    async def generate_embedding(self, request: EmbedRequest) -> tuple[Embedding, ...]:
        """One embedding a text, in order."""

    @abstractmethod
    async def add(self, request: AddRequest) -> MemoryEntry:
        """Store; durable when it returns."""

    @abstractmethod
    async def search(self, request: SearchRequest) -> ScopeResults:
        """The entries at or above the threshold, best first; an unknown scope is empty."""

    @abstractmethod
    async def get(self, request: GetRequest) -> MemoryEntry | None:
        """The entry, or None when it is absent, expired or outside the scopes."""

    @abstractmethod
    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        """The changed entry, or None when it is absent, expired or outside the scopes."""

    @abstractmethod
    async def delete(self, request: DeleteRequest) -> bool:
        """Whether there was something to delete."""

    @abstractmethod
    async def list(self, request: ListRequest) -> Page:
        """One page. Raises InvalidCursorError."""

    @abstractmethod
    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        """Every state of an entry, oldest first; empty when it is absent or outside the scopes."""

    async def search_all(self, requests: Sequence[SearchRequest]) -> Sequence[ScopeResults | LaminaError]:
        """What `search` gives for each scope, all at once, or how it failed: one scope's failure is not another's.

        The requests differ in nothing but the scope. A provider that does it in fewer steps overrides this.
        """
        answers: dict[int, ScopeResults | LaminaError] = {}

        async def search(at: int) -> None:
            answers[at] = await self._answer(requests[at])

        if len(requests) == 1:
            await search(0)
        else:
            async with anyio.create_task_group() as group:
                for at in range(len(requests)):
                    group.start_soon(search, at)
        return [answers[at] for at in range(len(requests))]

    async def _answer(self, request: SearchRequest) -> ScopeResults | LaminaError:
        try:
            return await self.search(request)
        except LaminaError as error:
            return error
        except Exception as error:  # noqa: BLE001 -- isolation: one layer of a third party's must not fail the rest
            layer = request.scope.layer
            _log.exception("the %s layer failed", layer)
            return ProviderError(f"The {layer} layer failed ({type(error).__name__}).")

    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        """Store several; a provider with `bulk_operations` does it in one transaction, all or nothing."""
        return [await self.add(request) for request in requests]

    async def bulk_delete(self, requests: Sequence[DeleteRequest]) -> int:
        """Delete several and count those that were there."""
        return sum([await self.delete(request) for request in requests])
