"""A search over several layers: all at once, failures isolated, then merged by precedence."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamina.errors import LaminaError
from lamina.index.search import Search
from lamina.memory.filter import Filter
from lamina.memory.merge import merge
from lamina.memory.provider import Embedding, MemoryProvider, ScopeResults, SearchRequest
from lamina.memory.reading import memory_search
from lamina.memory.types import LayerWarning, MemoryLayer, Scope, SearchResults
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSearch:
    """What is searched for, the same in every layer."""

    query: str
    limit: int
    threshold: float
    filter: Filter
    explain: bool
    similarity: float

    async def run(
        self,
        provider: MemoryProvider,
        scopes: Sequence[Scope],
        embedding: Embedding,
        *,
        now: datetime,
        metrics: Metrics,
    ) -> SearchResults:
        """Search every scope at once and merge. Raises the strongest layer's error when every scope fails."""
        requests = self._requests(scopes, embedding, now)
        results: dict[MemoryLayer, ScopeResults] = {}
        failures: dict[MemoryLayer, LaminaError] = {}
        for scope, answer in zip(scopes, await provider.search_all(requests), strict=True):
            if isinstance(answer, LaminaError):
                failures[scope.layer] = answer
            else:
                results[scope.layer] = answer
        self._report(results, failures, metrics)
        if not results:
            raise next(iter(failures.values()))
        return self._merged(scopes, results, failures)

    def in_store(self, scopes: Sequence[Scope], *, now: datetime, metrics: Metrics) -> Search[SearchResults]:
        """The same on the house's own store, for whoever searches several rooms there at once."""
        found = memory_search(self._requests(scopes, Embedding(vector=None), now))

        def merged(answers: Sequence[ScopeResults]) -> SearchResults:
            results = {scope.layer: answer for scope, answer in zip(scopes, answers, strict=True)}
            self._report(results, {}, metrics)
            return self._merged(scopes, results, {})

        return found.then(merged)

    def _requests(self, scopes: Sequence[Scope], embedding: Embedding, now: datetime) -> list[SearchRequest]:
        return [
            SearchRequest(
                scope=scope,
                query=self.query,
                embedding=embedding,
                limit=self.limit,
                threshold=self.threshold,
                now=now,
                filter=self.filter,
                explain=self.explain,
            )
            for scope in scopes
        ]

    def _report(
        self,
        results: dict[MemoryLayer, ScopeResults],
        failures: dict[MemoryLayer, LaminaError],
        metrics: Metrics,
    ) -> None:
        for layer, found in results.items():
            metrics.search_results(layer.value, len(found.found))
        if not results:
            return  # the search fails as a whole and is counted once
        for layer, error in failures.items():
            metrics.operation_failed("search", error.code)
            _log.warning("the %s layer was left out of a search: %s", layer, error.code)

    def _merged(
        self,
        scopes: Sequence[Scope],
        results: dict[MemoryLayer, ScopeResults],
        failures: dict[MemoryLayer, LaminaError],
    ) -> SearchResults:
        merged = merge(results, limit=self.limit, similarity=self.similarity)
        return SearchResults(
            hits=merged.hits,
            total_count=merged.total,
            searched_layers=tuple(scope.layer for scope in scopes if scope.layer in results),
            duplicates=merged.duplicates,
            warnings=tuple(
                LayerWarning(layer=layer, code=error.code, message=error.message) for layer, error in failures.items()
            ),
        )
