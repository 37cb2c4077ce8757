"""The layers of the house's own store, searched in one go: one question, one hop, one ranking for all of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from lamina.context.types import ContextItem, LayerRequest
from lamina.database.engine import Database
from lamina.embedding.query import QueryEmbedder
from lamina.errors import LaminaError
from lamina.index.engine import SearchEngine
from lamina.index.query import Query, prepare_query
from lamina.index.search import Search
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics

ItemSearch = Search[Sequence[ContextItem]]
"""The search of one layer."""


class StoredSource(ABC):
    """Supplies the items of one layer of the store: it says what it looks for, and is not asked by itself."""

    def applies(self, request: LayerRequest) -> bool:
        """Whether there is anything to look for; where nothing has, the question is not even embedded."""
        return True

    @abstractmethod
    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """What finds the best items, best first, at most `limit`; whatever is raised only costs this layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerStore:
    """The store as the layers share it."""

    database: Database
    engine: SearchEngine
    embedder: QueryEmbedder
    clock: Clock
    metrics: Metrics

    async def ask(self, request: LayerRequest) -> Query:
        """The question, analysed; without a vector where the embedder fails, since words find most of it."""
        vector = None
        try:
            vector = await self.embedder.embed(request.query, tenant=request.tenant)
        except LaminaError as error:
            self.metrics.operation_failed("context_retrieve", error.code)
        return prepare_query(request.query, vector)

    async def search_loaded(
        self, searches: Sequence[ItemSearch], query: Query
    ) -> "Sequence[Sequence[ContextItem] | Exception | None]":
        """What the searches give together; None for one that must be run by itself."""
        now = self.clock.now().timestamp()
        try:
            return await self.database.read(lambda link: self.engine.search_loaded(link, searches, query, now=now))
        except Exception:  # noqa: BLE001 -- isolation: whose failure it is shows when each layer is searched alone
            return [None] * len(searches)

    async def search(self, search: ItemSearch, query: Query) -> Sequence[ContextItem]:
        """What one search gives. Raises what it raises."""
        now = self.clock.now().timestamp()
        return await self.database.read(lambda link: self.engine.search(link, search, query, now=now))
