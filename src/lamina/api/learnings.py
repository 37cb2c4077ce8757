"""/v1/learnings: what was learned from tools that failed and from people who corrected."""

from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.learning_shapes import (
    FixToSet,
    FoundLearnings,
    LearningNumbers,
    LearningPage,
    LearningToFind,
    LearningToSave,
    OutcomeToCount,
    SavedLearning,
    StoredLearning,
)
from lamina.api.resource import resource
from lamina.api.shapes import Done
from lamina.learning.records import learning_hit_record, learning_record, statistics_record
from lamina.learning.service import LearningService
from lamina.learning.types import LearningCategory, SaveLearningResult
from lamina.visitor import Visitor

router = resource("/v1/learnings", tag="learnings")

LearningId = Annotated[str, Path(description="The learning's id.", examples=["01a1e027-1d08-7722-8df3-f39714a0d2fe"])]


@router.post("", status_code=201, summary="Save a learning", response_model=SavedLearning, responses=refusals(409))
async def save_learning(body: LearningToSave, visitor: Caller) -> Response:
    """Keep a fix for an error of a tool, or for what `trigger` describes; at least one of them is needed.

    A known error keeps its history and gets the fix. Secrets are hidden before anything is stored.
    """
    saved = await _writable(visitor, "learning_save").save(
        body.fix,
        tool=body.tool,
        error=body.error,
        trigger=body.trigger,
        diagnosis=body.diagnosis,
        category=body.category,
        tags=body.tags,
        origin=body.origin,
    )
    return answer(_saved_record(saved), 201)


@router.post("/search", summary="Search learnings", response_model=FoundLearnings)
async def search_learnings(body: LearningToFind, visitor: Caller) -> Response:
    """Known solutions that fit the query, best first; with `unsolved` also errors without a trusted fix."""
    visitor.require(Right.READ, operation="learning_search")
    hits = await visitor.rooms.learning.search(
        body.query,
        tool=body.tool,
        category=body.category,
        min_confidence=body.min_confidence,
        unsolved=body.unsolved,
        limit=body.limit,
        threshold=body.threshold,
    )
    return answer({"results": [learning_hit_record(hit) for hit in hits]})


@router.get("", summary="List learnings", response_model=LearningPage)
async def list_learnings(
    visitor: Caller,
    tool: Annotated[str | None, Query(description="Only what was learned of this tool.")] = None,
    category: Annotated[LearningCategory | None, Query(description="Only learnings of this category.")] = None,
    min_confidence: Annotated[float | None, Query(description="The least confidence, from 0 to 1.")] = None,
    max_confidence: Annotated[float | None, Query(description="The most confidence, from 0 to 1.")] = None,
    not_seen_since: Annotated[datetime | None, Query(description="Only what was not seen since then.")] = None,
    has_fix: Annotated[bool | None, Query(description="Only with, or only without, a fix.")] = None,
    limit: Annotated[int | None, Query(description="Learnings on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """One page of what was learned, newest first."""
    visitor.require(Right.READ, operation="learning_list")
    page = await visitor.rooms.learning.list(
        tool=tool,
        category=category,
        min_confidence=min_confidence,
        max_confidence=max_confidence,
        not_seen_since=not_seen_since,
        has_fix=has_fix,
        limit=limit,
        cursor=cursor,
    )
    return answer(
        {
            "learnings": [learning_record(one) for one in page.learnings],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.get("/statistics", summary="Count learnings", response_model=LearningNumbers)
async def get_learning_statistics(visitor: Caller) -> Response:
    """What was learned, in numbers."""
    visitor.require(Right.READ, operation="learning_statistics")
    return answer(statistics_record(await visitor.rooms.learning.statistics()))


@router.get("/{id}", summary="Get a learning", response_model=StoredLearning, responses=refusals(404))
async def get_learning(id: LearningId, visitor: Caller) -> Response:
    """One learning."""
    visitor.require(Right.READ, operation="learning_get")
    return answer(learning_record(await visitor.rooms.learning.get(id)))


@router.put("/{id}/fix", summary="Give a learning a fix", response_model=SavedLearning, responses=refusals(404, 409))
async def set_learning_fix(id: LearningId, body: FixToSet, visitor: Caller) -> Response:
    """Say what helps; another fix than before starts its record afresh."""
    saved = await _writable(visitor, "learning_fix").set_fix(id, body.fix, diagnosis=body.diagnosis, origin=body.origin)
    return answer(_saved_record(saved))


@router.post("/{id}/outcomes", summary="Count an outcome", response_model=StoredLearning, responses=refusals(404, 409))
async def record_learning_outcome(id: LearningId, body: OutcomeToCount, visitor: Caller) -> Response:
    """Count that a fix was tried and helped, or did not."""
    counted = await _writable(visitor, "learning_outcome").record_outcome(id, success=body.success)
    return answer(learning_record(counted))


@router.delete("/{id}", summary="Delete a learning", response_model=Done, responses=refusals(404))
async def delete_learning(id: LearningId, visitor: Caller) -> Response:
    """Forget a learning."""
    await _writable(visitor, "learning_delete").delete(id)
    return answer({"success": True})


def _writable(visitor: Visitor, operation: str) -> LearningService:
    """Learnings are the whole tenant's, so nobody in particular changes them."""
    visitor.require_unbound(Right.WRITE, operation=operation)
    return visitor.rooms.learning.acting_as(visitor.grant.actor)


def _saved_record(saved: SaveLearningResult) -> dict[str, object]:
    return {"learning": learning_record(saved.learning), "outcome": saved.outcome}
