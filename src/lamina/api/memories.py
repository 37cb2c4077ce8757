"""/v1/memories: layered memory."""

from fastapi import APIRouter
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller, Whose
from lamina.api.errors import refusals
from lamina.api.memory_shapes import AddedMemory, FoundMemories, MemoryToAdd, MemoryToFind, StoredMemory
from lamina.errors import MemoryNotFoundError
from lamina.memory.records import entry_record, results_record

router = APIRouter(prefix="/memories", tags=["memories"])


@router.post("", status_code=201, summary="Add a memory", response_model=AddedMemory)
async def add_memory(body: MemoryToAdd, visitor: Caller) -> Response:
    """Store a memory in a layer. It is durable when the answer comes, and the very next search finds it."""
    visitor.require(Right.WRITE, operation="add")
    added = await visitor.rooms.memory.add(
        body.content,
        layer=body.layer,
        metadata=body.metadata,
        tags=body.tags,
        source=None if body.source is None else body.source.to_source(),
        expires_at=body.expires_at,
        **visitor.identifiers(body.identifiers.given(), operation="add"),
    )
    return answer(
        {
            "memory": entry_record(added.memory),
            "embedding_generated": added.embedding_generated,
            "cache_hit": added.cache_hit,
        },
        201,
    )


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


@router.get("/{id}", summary="Get a memory", response_model=StoredMemory, responses=refusals(404))
async def get_memory(id: str, visitor: Caller, whose: Whose) -> Response:
    """One memory within reach of the identifiers."""
    visitor.require(Right.READ, operation="get")
    found = await visitor.rooms.memory.get(id, **visitor.identifiers(whose, operation="get"))
    if found is None:
        raise MemoryNotFoundError(operation="get", details={"id": id})
    return answer(entry_record(found))
