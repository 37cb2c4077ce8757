"""/v1/knowledge: what the tenant knows, in versions, under keys."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.knowledge_shapes import (
    FoundKnowledge,
    KnowledgeHistory,
    KnowledgePage,
    KnowledgeToFind,
    KnowledgeToSave,
    SavedKnowledge,
    StoredKnowledge,
)
from lamina.api.resource import resource
from lamina.api.shapes import Done
from lamina.knowledge.records import entry_record, hit_record, version_record
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.types import Category
from lamina.visitor import Visitor

router = resource("/v1/knowledge", tag="knowledge")

Key = Annotated[str, Path(description="The key.", examples=["deploy-rule"])]


@router.post("/search", summary="Search knowledge", response_model=FoundKnowledge)
async def search_knowledge(body: KnowledgeToFind, visitor: Caller) -> Response:
    """Latest versions that fit the query, best first; use and age decide between equals."""
    visitor.require(Right.READ, operation="knowledge_search")
    hits = await visitor.rooms.knowledge.search(
        body.query, category=body.category, limit=body.limit, threshold=body.threshold
    )
    return answer({"results": [hit_record(hit) for hit in hits]})


@router.get("", summary="List knowledge", response_model=KnowledgePage)
async def list_knowledge(
    visitor: Caller,
    category: Annotated[Category | None, Query(description="Only entries of this category.")] = None,
    limit: Annotated[int | None, Query(description="Entries on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """One page of what is known, newest key first."""
    visitor.require(Right.READ, operation="knowledge_list")
    page = await visitor.rooms.knowledge.list(category=category, limit=limit, cursor=cursor)
    return answer(
        {
            "entries": [entry_record(entry) for entry in page.entries],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.get(
    "/{key:path}/history", summary="Read every version", response_model=KnowledgeHistory, responses=refusals(404)
)
async def get_knowledge_history(key: Key, visitor: Caller) -> Response:
    """Every version of an entry, newest first."""
    visitor.require(Right.READ, operation="knowledge_history")
    versions = await visitor.rooms.knowledge.history(key)
    return answer({"versions": [version_record(version) for version in versions]})


@router.get("/{key:path}", summary="Get knowledge", response_model=StoredKnowledge, responses=refusals(404))
async def get_knowledge(key: Key, visitor: Caller) -> Response:
    """The latest version of what is known under a key."""
    visitor.require(Right.READ, operation="knowledge_get")
    return answer(entry_record(await visitor.rooms.knowledge.get(key)))


@router.put("/{key:path}", summary="Save knowledge", response_model=SavedKnowledge, responses=refusals(409))
async def save_knowledge(key: Key, body: KnowledgeToSave, visitor: Caller) -> Response:
    """Know this under the key: a first version, or a further one where content or category differ.

    The same content makes no version. Secrets in the text are hidden before it is stored.
    """
    saved = await _writable(visitor, "knowledge_save").save(
        key, body.content, category=body.category, tags=body.tags, source=body.source, origin=body.origin
    )
    return answer({"entry": entry_record(saved.entry), "outcome": saved.outcome, "redacted": saved.redacted})


@router.delete("/{key:path}", summary="Delete knowledge", response_model=Done, responses=refusals(404))
async def delete_knowledge(key: Key, visitor: Caller) -> Response:
    """Forget a key with all its versions."""
    await _writable(visitor, "knowledge_delete").delete(key)
    return answer({"success": True})


def _writable(visitor: Visitor, operation: str) -> KnowledgeService:
    """Knowledge is the whole tenant's, so nobody in particular changes it."""
    visitor.require_unbound(Right.WRITE, operation=operation)
    return visitor.rooms.knowledge.acting_as(visitor.grant.actor)
