"""A search over several layers: all at once, failures isolated, then merged by precedence."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio

from lamina.errors import LaminaError, ProviderError
from lamina.memory.filter import Filter
from lamina.memory.merge import merge
from lamina.memory.provider import Embedding, MemoryProvider, ScopeResults, SearchRequest
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
        results: dict[MemoryLayer, ScopeResults] = {}
        failures: dict[MemoryLayer, LaminaError] = {}

        async def search(scope: Scope) -> None:
            request = SearchRequest(
                scope=scope,
                query=self.query,
                embedding=embedding,
                limit=self.limit,
                threshold=self.threshold,
                now=now,
                filter=self.filter,
                explain=self.explain,
            )
            try:
                results[scope.layer] = await provider.search(request)
            except LaminaError as error:
                failures[scope.layer] = error
            except Exception as error:  # noqa: BLE001 -- isolation: one layer of a third party's must not fail the rest
                _log.exception("the %s layer failed", scope.layer)
                failures[scope.layer] = ProviderError(f"The {scope.layer} layer failed ({type(error).__name__}).")

        if len(scopes) == 1:
            await search(scopes[0])
        else:
            async with anyio.create_task_group() as group:
                for scope in scopes:
                    group.start_soon(search, scope)
        # In the order of the layers, not of their failing.
        failures = {scope.layer: failures[scope.layer] for scope in scopes if scope.layer in failures}
        self._report(results, failures, metrics)
        if not results:
            raise next(iter(failures.values()))
        return self._merged(scopes, results, failures)

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
