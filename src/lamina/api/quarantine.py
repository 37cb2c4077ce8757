"""/v1/quarantine: texts held back from prompts because they read like instructions."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.api.shapes import Body
from lamina.context.quarantine import State
from lamina.context.records import case_record

router = resource("/v1/quarantine", tag="quarantine")


class CaseAnswer(BaseModel):
    """A text that was held back."""

    id: str = Field(examples=["01a1ded5-9ab5-726e-960e-4892e6c38af8"])
    state: State = Field(examples=["held"])
    layer: str = Field(examples=["external_knowledge"])
    key: str = Field(description="What the text is called in its own room.", examples=["vendor-docs"])
    origin: str = Field(examples=["import"])
    reasons: list[str] = Field(description="What made it look like instructions.")
    content: str = Field(description="The text; empty once it is purged.")
    held_at: datetime
    decided_at: datetime | None


class CasesAnswer(BaseModel):
    """Held texts, the newest first."""

    cases: list[CaseAnswer]


class ToPurge(Body):
    """Which cases to purge."""

    ids: list[str] | None = Field(default=None, description="Only these; everything that is held without.")


class PurgedAnswer(BaseModel):
    """What a purge did."""

    purged: int = Field(examples=[1])


@router.get("", summary="List held texts", response_model=CasesAnswer)
async def list_cases(
    visitor: Caller,
    state: Annotated[State | Literal["all"], Query(description="Only cases in this state.")] = State.HELD,
    limit: Annotated[int, Query(description="Cases at most.")] = 50,
) -> Response:
    """The texts that wait for a decision, or those that were decided about, newest first."""
    visitor.require_unbound(Right.READ, operation="quarantine_list")
    found = await visitor.rooms.context.quarantine.list(state=None if state == "all" else state, limit=limit)
    return answer({"cases": [case_record(one) for one in found]})


@router.post("/purge", summary="Purge held texts", response_model=PurgedAnswer)
async def purge_cases(body: ToPurge, visitor: Caller) -> Response:
    """Erase the kept copies and hold the texts back for good. The text in its own room stays there."""
    visitor.require_unbound(Right.ADMIN, operation="quarantine_purge")
    purged = await visitor.rooms.context.quarantine.purge(body.ids)
    await visitor.rooms.audit.record(
        action="quarantine_purge", actor=visitor.grant.actor, details={"ids": body.ids, "purged": purged}
    )
    return answer({"purged": purged})


@router.post("/{id}/release", summary="Release a held text", response_model=CaseAnswer, responses=refusals(404))
async def release_case(id: str, visitor: Caller) -> Response:
    """Let a held text through from now on. A changed text is judged anew."""
    visitor.require_unbound(Right.ADMIN, operation="quarantine_release")
    released = await visitor.rooms.context.quarantine.release(id)
    await visitor.rooms.audit.record(action="quarantine_release", actor=visitor.grant.actor, target=id)
    return answer(case_record(released))
