"""What there is to show of memories: whom to choose from, the layers within reach, or what a search found."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lamina.access.types import Right
from lamina.memory.scopes import ScopeCount
from lamina.memory.service import MemoryService
from lamina.memory.types import MemoryEntry, MemoryLayer, Page, SearchResults
from lamina.page.looking import Looking
from lamina.visitor import Visitor

MORE: Final = 25
"""Memories on a page of one layer."""
_FEW: Final = 6
_MOST_HITS: Final = 50
_MOST_PEOPLE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Whom and what there are memories of."""

    found: tuple[ScopeCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One layer's memories, or the beginning of them."""

    layer: MemoryLayer
    page: Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Memories layer by layer, the stronger one first."""

    listed: tuple[Listed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found, and by the id of a hit what was left out because the hit says the same."""

    results: SearchResults
    twins: Mapping[str, Sequence[MemoryEntry]]


Answer = People | Layers | Found


async def find_answer(visitor: Visitor, looking: Looking, given: Any, reached: Sequence[MemoryLayer]) -> Answer:
    """What is looked for, with the identifiers of the request and the layers they reach. Raises LaminaError."""
    if looking.choosing:
        visitor.require_unbound(Right.READ)
        return People(found=await visitor.rooms.scopes.list(text=looking.query.strip(), limit=_MOST_PEOPLE))
    layers = reached if looking.layer is None else (looking.layer,)
    if looking.query.strip():
        return await _search(visitor.rooms.memory, looking, given, layers)
    size = _FEW if looking.layer is None else MORE
    pages = [list_page(visitor.rooms.memory, looking, given, layer, limit=size) for layer in layers]
    return Layers(listed=tuple(await asyncio.gather(*pages)))


async def list_page(
    memory: MemoryService,
    looking: Looking,
    given: Any,
    layer: MemoryLayer,
    *,
    limit: int = MORE,
    cursor: str | None = None,
) -> Listed:
    """One page of a layer, through the tags that were chosen. Raises LaminaError."""
    page = await memory.list(layer=layer, limit=limit, cursor=cursor, tags=looking.tags or None, **given)
    return Listed(layer=layer, page=page)


async def _search(memory: MemoryService, looking: Looking, given: Any, layers: Sequence[MemoryLayer]) -> Found:
    results = await memory.search(
        looking.query,
        layers=layers,
        limit=_MOST_HITS,
        threshold=0.0 if looking.weak else None,
        tags=looking.tags or None,
        explain=True,
        **given,
    )
    twins: dict[str, list[MemoryEntry]] = {}
    for one in results.duplicates:
        if (entry := await memory.get(one.id, **given)) is not None:
            twins.setdefault(one.kept_id, []).append(entry)
    return Found(results=results, twins=twins)
