"""/v1/audit: what was done, by whom, to what."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.resource import resource
from lamina.knowledge.records import audit_record

router = resource("/v1/audit", tag="audit")


class AuditRowAnswer(BaseModel):
    """One thing that was done."""

    sequence: int = Field(examples=[12])
    at: datetime
    action: str = Field(examples=["knowledge_save"])
    actor: str = Field(examples=["key:4f9a2c1b"])
    target: str | None = Field(examples=["deploy"])
    session_key: str | None
    details: dict[str, Any]


class AuditAnswer(BaseModel):
    """One page of the audit log, newest first."""

    rows: list[AuditRowAnswer]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")


@router.get("", summary="Read the audit log", response_model=AuditAnswer)
async def list_audit(
    visitor: Caller,
    action: Annotated[str | None, Query(examples=["knowledge_save"])] = None,
    actor: Annotated[str | None, Query(examples=["local"])] = None,
    target: str | None = None,
    session_key: str | None = None,
    since: Annotated[datetime | None, Query(description="From this moment on, with a time zone.")] = None,
    until: Annotated[datetime | None, Query(description="Before this moment, with a time zone.")] = None,
    limit: Annotated[int, Query(description="Rows on a page.")] = 50,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """The rows that match everything given, newest first."""
    visitor.require_unbound(Right.ADMIN, operation="audit_list")
    page = await visitor.rooms.audit.list(
        action=action,
        actor=actor,
        target=target,
        session_key=session_key,
        since=since,
        until=until,
        limit=limit,
        cursor=cursor,
    )
    return answer({"rows": [audit_record(row) for row in page.rows], "next_cursor": page.next_cursor})
