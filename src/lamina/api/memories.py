"""/v1/memories: layered memory."""

import json
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.idempotency import derived_id
from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller, Whose
from lamina.api.errors import refusals
from lamina.api.idempotent import Once
from lamina.api.memory_shapes import (
    AddedMemories,
    AddedMemory,
    ChangedMemory,
    FoundMemories,
    MemoriesToAdd,
    MemoryChange,
    MemoryHistory,
    MemoryPage,
    MemoryToAdd,
    MemoryToFind,
    StoredMemory,
)
from lamina.api.resource import resource
from lamina.api.shapes import Done
from lamina.errors import InvalidFilterError, MemoryNotFoundError
from lamina.memory.records import entry_record, results_record, revision_record
from lamina.memory.service import KEEP
from lamina.memory.types import AddResult, MemoryEntry
from lamina.visitor import Visitor

router = resource("/v1/memories", tag="memories")

MemoryId = Annotated[str, Path(description="The memory's id.", examples=["01a1e027-1d08-7722-8df3-f39714a0d2fe"])]


@router.post("", status_code=201, summary="Add a memory", response_model=AddedMemory, responses=refusals(409))
async def add_memory(body: MemoryToAdd, visitor: Caller, once: Once) -> Response:
    """Store a memory in a layer. It is durable when the answer comes, and the very next search finds it."""
    (added,) = await _added([body], visitor, once, operation="add")
    return answer(added, 201)


@router.post("/bulk", status_code=201, summary="Add many memories", response_model=AddedMemories)
async def add_memories(body: MemoriesToAdd, visitor: Caller, once: Once) -> Response:
    """Store several memories in one transaction: all of them or none. For very many, `/v1/import` streams."""
    return answer({"memories": await _added(body.memories, visitor, once, operation="bulk_add")}, 201)


@router.post("/search", summary="Search memories", response_model=FoundMemories)
async def search_memories(body: MemoryToFind, visitor: Caller) -> Response:
    """The memories relevant to a query, strongest layer first, then by score.

    Without `layers` every layer that the identifiers reach is searched. A layer that fails is a warning.
    """
    visitor.require(Right.READ, operation="search")
    found = await visitor.rooms.memory.search(
        body.query,
        layers=body.layers,
        limit=body.limit,
        threshold=body.threshold,
        tags=body.tags,
        where=body.where,
        explain=body.explain,
        **visitor.identifiers(body.identifiers.given(), operation="search"),
    )
    return answer(results_record(found))


@router.get("", summary="List memories", response_model=MemoryPage)
async def list_memories(
    visitor: Caller,
    whose: Whose,
    layer: Annotated[str, Query(description="The layer to list.", examples=["user"])] = "user",
    limit: Annotated[int | None, Query(description="Memories on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
    tag: Annotated[list[str] | None, Query(description="Only memories with any of these tags.")] = None,
    where: Annotated[str | None, Query(description="A filter on metadata, as JSON.")] = None,
) -> Response:
    """One page of a layer's memories, newest first."""
    visitor.require(Right.READ, operation="list")
    page = await visitor.rooms.memory.list(
        layer=layer,
        limit=limit,
        cursor=cursor,
        tags=tag,
        where=_filter(where),
        **visitor.identifiers(whose, operation="list"),
    )
    return answer(
        {
            "memories": [entry_record(entry) for entry in page.memories],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.get("/{id}", summary="Get a memory", response_model=StoredMemory, responses=refusals(404))
async def get_memory(id: MemoryId, visitor: Caller, whose: Whose) -> Response:
    """One memory within reach of the identifiers."""
    visitor.require(Right.READ, operation="get")
    found = await visitor.rooms.memory.get(id, **visitor.identifiers(whose, operation="get"))
    if found is None:
        raise MemoryNotFoundError(operation="get", details={"id": id})
    return answer(entry_record(found))


@router.get("/{id}/history", summary="Read a memory's history", response_model=MemoryHistory, responses=refusals(404))
async def get_memory_history(id: MemoryId, visitor: Caller, whose: Whose) -> Response:
    """Every state a memory had, oldest first, the present one last."""
    visitor.require(Right.READ, operation="history")
    states = await visitor.rooms.memory.history(id, **visitor.identifiers(whose, operation="history"))
    if not states:
        raise MemoryNotFoundError(operation="history", details={"id": id})
    return answer({"revisions": [revision_record(state) for state in states]})


@router.patch("/{id}", summary="Change a memory", response_model=ChangedMemory, responses=refusals(404, 409))
async def update_memory(id: MemoryId, body: MemoryChange, visitor: Caller) -> Response:
    """Change what is given and leave the rest. Metadata is merged, shallowly; the state before stays in the history."""
    visitor.require(Right.WRITE, operation="update")
    identifiers = visitor.identifiers(body.identifiers.given(), operation="update")
    await _require_own(visitor, id, identifiers, operation="update")
    changed = await visitor.rooms.memory.update(
        id,
        content=body.content,
        metadata=body.metadata,
        tags=body.tags,
        expires_at=body.expires_at if "expires_at" in body.model_fields_set else KEEP,
        **identifiers,
    )
    record = {"memory": entry_record(changed.memory), "embedding_regenerated": changed.embedding_regenerated}
    return answer(record)


@router.delete("/{id}", summary="Delete a memory", response_model=Done)
async def delete_memory(id: MemoryId, visitor: Caller, whose: Whose) -> Response:
    """Remove a memory with its vector, index row and history; a success also where it was not there."""
    visitor.require(Right.WRITE, operation="delete")
    identifiers = visitor.identifiers(whose, operation="delete")
    await _require_own(visitor, id, identifiers, operation="delete")
    await visitor.rooms.memory.delete(id, **identifiers)
    return answer({"success": True})


async def _added(
    bodies: list[MemoryToAdd], visitor: Visitor, once: str | None, *, operation: str
) -> list[dict[str, Any]]:
    """Store memories, each once: under ids of the request's own, where it has a key."""
    visitor.require(Right.WRITE, operation=operation)
    memory = visitor.rooms.memory
    named = [visitor.identifiers(body.identifiers.given(), operation=operation) for body in bodies]
    for body, identifiers in zip(bodies, named, strict=True):
        visitor.require_own(body.layer, identifiers, operation=operation)
    ids = [None if once is None else derived_id(once, number) for number in range(len(bodies))]
    stored = [entry for id, whose in zip(ids, named, strict=True) if id and (entry := await memory.get(id, **whose))]
    if stored:  # by this request, before a process was killed: all of them or none
        return [_added_record(entry) for entry in stored]
    if operation == "add" and once is None:
        results: tuple[AddResult, ...] = (await memory.add(**bodies[0].arguments(), **named[0]),)
    else:
        results = await memory.bulk_add(
            [body.to_memory(id, whose) for body, id, whose in zip(bodies, ids, named, strict=True)]
        )
    return [
        _added_record(one.memory, embedding_generated=one.embedding_generated, cache_hit=one.cache_hit)
        for one in results
    ]


def _added_record(entry: MemoryEntry, *, embedding_generated: bool = True, cache_hit: bool = False) -> dict[str, Any]:
    return {"memory": entry_record(entry), "embedding_generated": embedding_generated, "cache_hit": cache_hit}


async def _require_own(visitor: Visitor, id: str, identifiers: dict[str, str], *, operation: str) -> None:
    """Refuse a bound key's change of a memory that it may only read."""
    if visitor.grant.bound and (found := await visitor.rooms.memory.get(id, **identifiers)) is not None:
        visitor.require_own(found.layer, identifiers, operation=operation)


def _filter(where: str | None) -> dict[str, Any] | None:
    if where is None:
        return None
    try:
        found = json.loads(where)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFilterError("where must be a JSON object.", operation="list", details={"field": "where"})
    return found
