"""Searches the layers of a request, all at once; a layer that fails or hangs costs nobody but itself."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from lamina.context.keywords import extract_keywords
from lamina.context.runtime import RuntimeContextProvider, runtime_item
from lamina.context.settings import ContextSettings
from lamina.context.tools import ToolRegistryProvider, tool_item
from lamina.context.types import (
    DEFAULT_LAYERS,
    ContextItem,
    ContextLayer,
    LayerFailure,
    LayerRequest,
    LayerSource,
    Origin,
    Place,
    RetrievalResult,
)
from lamina.errors import InvalidInputError, LaminaError
from lamina.kernel.session_key import current_session_key, using_session
from lamina.memory.types import Identifiers

_log = logging.getLogger("lamina.context")

Search = Callable[[], Awaitable[Sequence[ContextItem]]]
"""One layer's search, ready to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRetriever:
    """Retrieves context for a query. A layer without a source or provider is empty."""

    sources: Mapping[ContextLayer, LayerSource] = field(default_factory=dict)
    settings: ContextSettings = field(default_factory=ContextSettings)
    tenant: str = "default"
    tools: ToolRegistryProvider | None = None
    runtime: RuntimeContextProvider | None = None

    def with_tool_registry(self, provider: ToolRegistryProvider) -> "ContextRetriever":
        """The same retriever with tools to offer."""
        return replace(self, tools=provider)

    def with_runtime_context(self, provider: RuntimeContextProvider) -> "ContextRetriever":
        """The same retriever with a runtime context to show."""
        return replace(self, runtime=provider)

    async def retrieve(
        self,
        query: str,
        layers: Sequence[ContextLayer | str] | None = None,
        *,
        max_per_layer: int | None = None,
        session_key: str | None = None,
        identifiers: Identifiers | None = None,
        beside: Mapping[Place, Search] | None = None,
    ) -> RetrievalResult:
        """What the named layers have for the query, or the four stored ones when none is named.

        A query without keywords finds nothing and asks nobody; only the Runtime Context needs none. `beside` are
        further searches to run at the same time. Raises InvalidInputError for an unknown layer or a limit below 1.
        """
        chosen = DEFAULT_LAYERS if layers is None else tuple(dict.fromkeys(map(ContextLayer.parse, layers)))
        limit = self.settings.max_per_layer if max_per_layer is None else max_per_layer
        if limit < 1:
            raise InvalidInputError("max_per_layer must be at least 1.", details={"field": "max_per_layer"})
        keywords = extract_keywords(query)
        request = LayerRequest(
            query=query,
            keywords=keywords,
            limit=limit,
            threshold=self.settings.threshold,
            tenant=self.tenant,
            session_key=session_key if session_key is not None else current_session_key(),
            identifiers=identifiers or Identifiers(),
        )
        searches = dict(self._searches(chosen, request)) if keywords else {}
        searches |= beside or {}
        gathered = _Gathered(request)
        with nullcontext() if session_key is None else using_session(session_key):
            if self.runtime is not None and ContextLayer.RUNTIME_CONTEXT in chosen:
                gathered.run(ContextLayer.RUNTIME_CONTEXT, self.runtime)
            await gathered.run_all(searches, deadline_s=self.settings.deadline_s)
        order = (*chosen, *(beside or {}))
        items = {place: found for place in order if (found := gathered.items.get(place))}
        return RetrievalResult(items=items, keywords=keywords, failures=tuple(gathered.failures))

    def _searches(self, chosen: Sequence[ContextLayer], request: LayerRequest) -> "list[tuple[Place, Search]]":
        searches: list[tuple[Place, Search]] = []
        for layer in chosen:
            if layer is ContextLayer.TOOL_REGISTRY and self.tools is not None:
                searches.append((layer, _tool_search(self.tools, request)))
            elif layer in self.sources:
                searches.append((layer, _source_search(self.sources[layer], request)))
        return searches


def _tool_search(provider: ToolRegistryProvider, request: LayerRequest) -> Search:
    async def search() -> Sequence[ContextItem]:
        return [tool_item(match) for match in await provider.search_tools(request.query, request.limit)]

    return search


def _source_search(source: LayerSource, request: LayerRequest) -> Search:
    return lambda: source.retrieve(request)


class _Gathered:
    """Collects what the layers of one request give, each checked, and what went wrong."""

    def __init__(self, request: LayerRequest) -> None:
        self._request = request
        self.items: dict[Place, tuple[ContextItem, ...]] = {}
        self.failures: list[LayerFailure] = []

    def run(self, layer: ContextLayer, provider: RuntimeContextProvider) -> None:
        """Ask the runtime provider, which answers at once."""
        try:
            self._take(layer, [runtime_item(provider.get_runtime_context())])
        except Exception as error:  # noqa: BLE001 -- isolation: a provider that fails costs its own layer only
            self._failed(layer, "failed", error)

    async def run_all(self, searches: Mapping[Place, Search], *, deadline_s: float) -> None:
        """Run every search at the same time; one that is not done at the deadline is given up."""
        if not searches:
            return
        tasks = {asyncio.ensure_future(self._one(place, search)): place for place, search in searches.items()}
        try:
            _, late = await asyncio.wait(tasks, timeout=deadline_s or None)
        except BaseException:  # boundary: a request that is given up gives up its searches
            for task in tasks:
                task.cancel()
            raise
        for task in late:
            # Not awaited: a search that ignores its cancellation must not hold the turn up.
            task.cancel()
            self._failed(tasks[task], "timed out")

    async def _one(self, place: Place, search: Search) -> None:
        try:
            found = await search()
        except Exception as error:  # noqa: BLE001 -- isolation: a layer that fails costs nobody but itself
            self._failed(place, "failed", error)
        else:
            self._take(place, found)

    def _take(self, place: Place, found: object) -> None:
        """Keep the items that are what they should be; the rest is garbage and reported as such."""
        if not isinstance(found, Sequence) or isinstance(found, str | bytes):
            self._failed(place, "garbage")
            return
        good = [item for item in found if _is_item(item, place)]
        if len(good) < len(found):
            self._failed(place, "garbage")
        mine = (item for item in good if item.session_key in (None, self._request.session_key))
        self.items[place] = tuple(mine)[: self._request.limit]

    def _failed(self, place: Place, reason: str, error: Exception | None = None) -> None:
        name = "" if error is None else error.code if isinstance(error, LaminaError) else type(error).__name__
        self.failures.append(LayerFailure(layer=place, reason=reason, error=name))
        # The query is personal and stays out of the log.
        _log.warning("the context layer %s was left out: %s%s", place, reason, f" ({name})" if name else "")


def _is_item(item: Any, place: Place) -> bool:
    if not isinstance(item, ContextItem):
        return False
    given: Any = item  # a dataclass does not check what it is given
    return bool(
        given.layer == place
        and isinstance(given.key, str)
        and isinstance(given.content, str)
        and isinstance(given.score, int | float)
        and math.isfinite(given.score)
        and isinstance(given.origin, Origin)
        and isinstance(given.session_key, str | None)
    )
