"""Searches the layers of a request, all at once; a layer that fails or hangs costs nobody but itself."""

import asyncio
import logging
import math
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from types import NoneType
from typing import Any

from lamina.context.keywords import extract_keywords
from lamina.context.runtime import RuntimeContextProvider, runtime_item
from lamina.context.settings import ContextSettings
from lamina.context.stored import ItemSearch, LayerStore, StoredSource
from lamina.context.tools import ToolRegistryAdapter, ToolRegistryProvider, tool_item
from lamina.context.types import (
    DEFAULT_LAYERS,
    NOTES,
    ContextItem,
    ContextLayer,
    LayerFailure,
    LayerRequest,
    LayerSource,
    Origin,
    Place,
    RetrievalResult,
    Semantic,
)
from lamina.errors import InvalidInputError, LaminaError
from lamina.kernel.checks import is_whole
from lamina.kernel.session_key import current_session_key, using_session
from lamina.memory.types import Identifiers
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.context")

_KEYWORDLESS: frozenset[Place] = frozenset(NOTES)
# Runtime context is read, not searched; the graph comes after the others, because it starts from what they found.
_NOT_SEARCHED: frozenset[Place] = frozenset({ContextLayer.RUNTIME_CONTEXT, Semantic.GRAPH})
_LONGEST_ITEM = 100_000
_TEXT_OR_NONE = (str, NoneType)
_MAPPINGS = (dict, Mapping)  # nearly all are dictionaries, and asking for a Mapping takes ten times as long

Search = Callable[[], Awaitable[Sequence[ContextItem]]]
"""One search, ready to run; notes of both kinds are one, everything else is one for each place."""
Stored = Mapping[Place, tuple[StoredSource, LayerRequest]]
"""What is read from the store in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRetriever:
    """Retrieves context for a query. A layer without a source or provider is empty."""

    sources: Mapping[Place, LayerSource | StoredSource] = field(default_factory=dict)
    settings: ContextSettings = field(default_factory=ContextSettings)
    tenant: str = "default"
    metrics: Metrics = field(default_factory=Metrics)
    tools: ToolRegistryProvider | None = None
    runtime: RuntimeContextProvider | None = None
    notes: LayerSource | None = None
    """Gives reflections and observations of a session together; a source of either layer in `sources` comes first."""
    limits: Mapping[Place, int] = field(default_factory=dict)
    """How many items a place gives at most, where `max_per_layer` does not say it; 0 is unlimited."""
    store: LayerStore | None = None
    """Where stored sources are searched; without one they are empty."""

    def with_tool_registry(self, provider: ToolRegistryProvider) -> "ContextRetriever":
        """The same retriever with tools to offer."""
        return replace(self, tools=provider)

    def with_runtime_context(self, provider: RuntimeContextProvider) -> "ContextRetriever":
        """The same retriever with a runtime context to show."""
        return replace(self, runtime=provider)

    async def retrieve(
        self,
        query: str,
        layers: Sequence[ContextLayer | str] | str | None = None,
        *,
        max_per_layer: int | None = None,
        session_key: str | None = None,
        identifiers: Identifiers | None = None,
        also: Sequence[Place] = (),
    ) -> RetrievalResult:
        """What the named layers have for the query, or the four stored ones when none is named; `also` are more.

        A query without keywords finds nothing and asks nobody; only Runtime Context, observations and reflections
        need none. Raises InvalidInputError for an unknown layer, a query that is no text or a limit below 1.
        """
        chosen = DEFAULT_LAYERS if layers is None else ContextLayer.parse_all(layers)
        limit = self.settings.max_per_layer if max_per_layer is None else max_per_layer
        if not is_whole(limit, 1, sys.maxsize):
            raise InvalidInputError("max_per_layer must be a whole number from 1.", details={"field": "max_per_layer"})
        if not isinstance(query, str):
            raise InvalidInputError("query must be a string.", details={"field": "query"})
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
        places = tuple(dict.fromkeys((*chosen, *also)))
        gathered = _Gathered(request, self.metrics, self.limits)
        with nullcontext() if session_key is None else using_session(session_key):
            if self.runtime is not None and ContextLayer.RUNTIME_CONTEXT in places:
                gathered.run(ContextLayer.RUNTIME_CONTEXT, self.runtime)
            searches, stored = self._searches(places, request), self._stored(places, request)
            if searches:
                with nullcontext() if self.store is None else self.store.database.together():
                    await gathered.run_all(searches, stored, self.store, deadline_s=self.settings.deadline_s)
            elif stored and self.store is not None:
                await gathered.read(self.store, stored, deadline_s=self.settings.deadline_s)
            graph = self.sources.get(Semantic.GRAPH)
            if Semantic.GRAPH in places and graph is not None and not isinstance(graph, StoredSource) and keywords:
                request = replace(request, found=tuple(chain.from_iterable(gathered.items.values())))
                related: Search = partial(graph.retrieve, request)
                await gathered.run_all({(Semantic.GRAPH,): related}, deadline_s=self.settings.deadline_s)
        return RetrievalResult(
            items={place: found for place in places if (found := gathered.items.get(place))},
            keywords=keywords,
            failures=tuple(gathered.failures),
            surplus=tuple(gathered.surplus),
        )

    def _searches(self, places: Sequence[Place], request: LayerRequest) -> dict[tuple[Place, ...], Search]:
        """What is asked by itself: tools of others, sources of others, notes."""
        searches: dict[tuple[Place, ...], Search] = {}
        for place in places:
            if place in _NOT_SEARCHED or (not request.keywords and place not in _KEYWORDLESS):
                continue
            source = self.sources.get(place)
            if place is ContextLayer.TOOL_REGISTRY and self.tools is not None:
                if self._own_tools is None:
                    searches[place,] = partial(_tool_search, self.tools, request)
            elif source is not None and not isinstance(source, StoredSource):
                searches[place,] = partial(source.retrieve, self._limited(place, request))
        noted = tuple(place for place in NOTES if place in places and place not in self.sources)
        if self.notes is not None and noted and request.session_key is not None:
            searches[noted] = partial(_note_search, self.notes, request, noted)
        return searches

    def _stored(self, places: Sequence[Place], request: LayerRequest) -> dict[Place, tuple[StoredSource, LayerRequest]]:
        """What is read from the store in one go."""
        if not request.keywords:
            return {}
        stored: dict[Place, tuple[StoredSource, LayerRequest]] = {}
        for place in places:
            source = self.sources.get(place)
            if place is ContextLayer.TOOL_REGISTRY and self.tools is not None:
                source = self._own_tools
            if isinstance(source, StoredSource) and source.applies(request):
                stored[place] = (source, self._limited(place, request))
        return stored

    @property
    def _own_tools(self) -> ToolRegistryAdapter | None:
        """The tools, where they can be ranked beside the store."""
        own = self.tools
        if self.store is None or not isinstance(own, ToolRegistryAdapter):
            return None
        return own if own.ranks_with(self.store.engine.ranking) else None

    def _limited(self, place: Place, request: LayerRequest) -> LayerRequest:
        return replace(request, limit=self.limits[place]) if place in self.limits else request


async def _tool_search(provider: ToolRegistryProvider, request: LayerRequest) -> Sequence[ContextItem]:
    return [tool_item(match) for match in await provider.search_tools(request.query, request.limit)]


async def _note_search(source: LayerSource, request: LayerRequest, places: tuple[Place, ...]) -> Sequence[ContextItem]:
    return [item for item in await source.retrieve(request) if item.layer in places]


class _Gathered:
    """Collects what the layers of one request give, each checked, and what went wrong."""

    def __init__(self, request: LayerRequest, metrics: Metrics, limits: Mapping[Place, int]) -> None:
        self._request = request
        self._metrics = metrics
        self._limits = limits
        self.surplus: list[ContextItem] = []
        self.items: dict[Place, tuple[ContextItem, ...]] = {}
        self.failures: list[LayerFailure] = []
        self._answered: set[Place] = set()

    def run(self, layer: ContextLayer, provider: RuntimeContextProvider) -> None:
        """Ask the runtime provider, which answers at once."""
        try:
            self._take(layer, [runtime_item(provider.get_runtime_context())])
        except Exception as error:  # noqa: BLE001 -- isolation: a provider that fails costs its own layer only
            self._failed(layer, "failed", error)

    async def run_all(
        self,
        searches: Mapping[tuple[Place, ...], Search],
        stored: Stored | None = None,
        store: LayerStore | None = None,
        *,
        deadline_s: float,
    ) -> None:
        """Run every search at the same time; one that is not done at the deadline is given up."""
        tasks = {asyncio.ensure_future(self._one(places, search)): places for places, search in searches.items()}
        if stored and store is not None:
            tasks[asyncio.ensure_future(self._read(store, stored))] = tuple(stored)
        try:
            done, late = await asyncio.wait(tasks, timeout=deadline_s or None)
        except BaseException:  # boundary: a request that is given up gives up its searches
            for task in tasks:
                task.cancel()
            raise
        for task in done:
            # Cancelled by the layer itself: nobody else holds the task.
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                self._all_failed(tasks[task], "failed", error)
        for task in late:
            # Not awaited: a search that ignores its cancellation must not hold the turn up.
            task.cancel()
            self._all_failed(tasks[task], "timed out")

    async def read(self, store: LayerStore, stored: Stored, *, deadline_s: float) -> None:
        """Read layers of the store, where nothing else is searched, in the task of the request itself."""
        try:
            async with asyncio.timeout(deadline_s or None) as limit:
                await self._read(store, stored)
        except Exception as error:  # noqa: BLE001 -- isolation: layers that fail do not fail the request
            self._all_failed(tuple(stored), *(("timed out",) if limit.expired() else ("failed", error)))

    async def _read(self, store: LayerStore, stored: Stored) -> None:
        """Read layers of the store together; one that failed so, or is not ready for it, is searched by itself."""
        query = await store.ask(self._request)
        searches: dict[Place, ItemSearch] = {}
        for place, (source, request) in stored.items():
            try:
                searches[place] = await source.search(request, query)
            except Exception as error:  # noqa: BLE001 -- isolation: a layer that fails costs nobody but itself
                self._failed(place, "failed", error)
        answers = await store.search_loaded(list(searches.values()), query)
        alone: dict[Place, Search] = {}
        for (place, search), found in zip(searches.items(), answers, strict=True):
            if found is None or isinstance(found, Exception):
                alone[place] = partial(store.search, search, query)
            else:
                self._keep(place, found)
        if alone:
            await asyncio.gather(*(self._one((place,), search) for place, search in alone.items()))

    async def _one(self, places: tuple[Place, ...], search: Search) -> None:
        try:
            found = await search()
        except Exception as error:  # noqa: BLE001 -- isolation: a layer that fails costs nobody but itself
            self._all_failed(places, "failed", error)
        else:
            for place in places:
                self._take(place, found if len(places) == 1 else [item for item in found if item.layer is place])

    def _take(self, place: Place, found: object) -> None:
        """Keep the items that are what they should be; the rest is garbage and reported as such."""
        if not isinstance(found, Sequence) or isinstance(found, str | bytes):
            self._failed(place, "garbage")
            return
        good = [item for item in found if _is_item(item, place)]
        if len(good) < len(found):
            self._failed(place, "garbage")
        self._keep(place, good)

    def _keep(self, place: Place, found: Sequence[ContextItem]) -> None:
        """Keep what belongs to the request's session, or to none, as far as the limit goes."""
        self._answered.add(place)
        mine = [item for item in found if item.session_key in (None, self._request.session_key)]
        if len(mine) < len(found):
            self._failed(place, "other session")
        most = self._limits.get(place, self._request.limit) or len(mine)
        self.items[place] = tuple(mine[:most])
        self.surplus += mine[most:]

    def _all_failed(self, places: Sequence[Place], reason: str, error: BaseException | None = None) -> None:
        for place in places:
            if place not in self._answered:
                self._failed(place, reason, error)

    def _failed(self, place: Place, reason: str, error: BaseException | None = None) -> None:
        self._answered.add(place)
        name = "" if error is None else error.code if isinstance(error, LaminaError) else type(error).__name__
        self.failures.append(LayerFailure(layer=place, reason=reason, error=name))
        self._metrics.operation_failed(f"context_{place}", name or reason)
        # The query is personal and stays out of the log.
        _log.warning("the context layer %s was left out: %s%s", place, reason, f" ({name})" if name else "")


def _is_item(item: Any, place: Place) -> bool:
    """Whether a layer's answer is an item of it; a dataclass does not check what it is given."""
    if type(item) is not ContextItem or item.layer != place:
        return False
    given: Any = item
    return (
        isinstance(given.key, str)
        and isinstance(given.content, str)
        and len(given.key) + len(given.content) <= _LONGEST_ITEM
        and isinstance(given.origin, Origin)
        and isinstance(given.category, _TEXT_OR_NONE)
        and isinstance(given.location, _TEXT_OR_NONE)
        and isinstance(given.session_key, _TEXT_OR_NONE)
        and (given.at is None or isinstance(given.at, datetime))
        and isinstance(given.signals, _MAPPINGS)
        and _are_numbers([given.score, *given.signals.values()])
        and (given.note is None or (place in NOTES and _is_note(given.note)))
    )


def _is_note(given: object) -> bool:
    from lamina.observation.types import Note  # loaded only where there is a note to look at

    return isinstance(given, Note)


def _are_numbers(values: Sequence[Any]) -> bool:
    try:
        return math.isfinite(math.fsum(values))
    except (TypeError, ValueError, OverflowError):
        return False
