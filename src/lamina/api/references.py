"""/v1/references: documentation, interfaces, wikis, repositories, files and tools outside, by name."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.knowledge_shapes import (
    FoundReferences,
    ReferencePage,
    ReferenceToFind,
    ReferenceToSave,
    StoredReference,
)
from lamina.api.resource import resource
from lamina.api.shapes import Done
from lamina.knowledge.records import reference_hit_record, reference_record
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.types import ReferenceType
from lamina.visitor import Visitor

router = resource("/v1/references", tag="references")

Name = Annotated[str, Path(description="The name.", examples=["deploy-guide"])]


@router.post("/search", summary="Search references", response_model=FoundReferences)
async def search_references(body: ReferenceToFind, visitor: Caller) -> Response:
    """References whose name and summary fit the query, best first."""
    visitor.require(Right.READ, operation="reference_search")
    hits = await visitor.rooms.references.search(body.query, type=body.type, limit=body.limit, threshold=body.threshold)
    return answer({"results": [reference_hit_record(hit) for hit in hits]})


@router.get("", summary="List references", response_model=ReferencePage)
async def list_references(
    visitor: Caller,
    type: Annotated[ReferenceType | None, Query(description="Only references of this type.")] = None,
    limit: Annotated[int | None, Query(description="References on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """One page of the references, newest name first."""
    visitor.require(Right.READ, operation="reference_list")
    page = await visitor.rooms.references.list(type=type, limit=limit, cursor=cursor)
    return answer(
        {
            "references": [reference_record(one) for one in page.references],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.get("/{name:path}", summary="Get a reference", response_model=StoredReference, responses=refusals(404))
async def get_reference(name: Name, visitor: Caller) -> Response:
    """The reference of a name."""
    visitor.require(Right.READ, operation="reference_get")
    return answer(reference_record(await visitor.rooms.references.get(name)))


@router.put("/{name:path}", summary="Save a reference", response_model=StoredReference, responses=refusals(409))
async def save_reference(name: Name, body: ReferenceToSave, visitor: Caller) -> Response:
    """Keep a reference; one of the same name is replaced. Secrets in it are hidden before it is stored."""
    saved = await _writable(visitor, "reference_save").save(
        name,
        type=body.type,
        location=body.location,
        summary=body.summary,
        metadata=body.metadata,
        origin=body.origin,
    )
    return answer(reference_record(saved))


@router.delete("/{name:path}", summary="Delete a reference", response_model=Done, responses=refusals(404))
async def delete_reference(name: Name, visitor: Caller) -> Response:
    """Forget a reference."""
    await _writable(visitor, "reference_delete").delete(name)
    return answer({"success": True})


def _writable(visitor: Visitor, operation: str) -> ReferenceService:
    """References are the whole tenant's, so nobody in particular changes them."""
    visitor.require_unbound(Right.WRITE, operation=operation)
    return visitor.rooms.references.acting_as(visitor.grant.actor)
