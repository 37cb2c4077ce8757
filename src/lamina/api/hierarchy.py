"""/v1/hierarchy: which project belongs to which team, org and company."""

from enum import StrEnum
from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.api.shapes import Body

router = resource("/v1/hierarchy", tag="hierarchy")


class Level(StrEnum):
    """What can belong to something."""

    PROJECT = "project"
    TEAM = "team"
    ORG = "org"


class LevelsBody(Body):
    """Two or more neighbouring levels; each belongs to the next."""

    project_id: str | None = Field(default=None, examples=["web"])
    team_id: str | None = Field(default=None, examples=["ui"])
    org_id: str | None = Field(default=None, examples=["labs"])
    company_id: str | None = None


class LinkAnswer(BaseModel):
    """Who belongs to whom."""

    kind: Level = Field(examples=["project"])
    id: str = Field(examples=["web"])
    parent_id: str = Field(description="The team, org or company it belongs to.", examples=["ui"])


class HierarchyAnswer(BaseModel):
    """Every link there is, by level and id."""

    links: list[LinkAnswer]


class ForgottenAnswer(BaseModel):
    """Whether there was something to forget."""

    removed: bool = Field(examples=[True])


@router.get("", summary="Show the hierarchy", response_model=HierarchyAnswer)
async def show_hierarchy(visitor: Caller) -> Response:
    """Who belongs to whom."""
    visitor.require_unbound(Right.READ, operation="hierarchy_show")
    return answer({"links": [dict(link) for link in await visitor.rooms.hierarchy.all()]})


@router.put("", summary="Say who belongs to whom", response_model=HierarchyAnswer)
async def set_hierarchy(body: LevelsBody, visitor: Caller) -> Response:
    """Link neighbouring levels: a search with a project then reaches memories of its team, org and company too."""
    visitor.require_unbound(Right.ADMIN, operation="hierarchy_set")
    levels = body.model_dump(exclude_none=True)
    await visitor.rooms.hierarchy.set(**levels)
    await visitor.rooms.audit.record(action="hierarchy_set", actor=visitor.grant.actor, details=levels)
    return answer({"links": [dict(link) for link in await visitor.rooms.hierarchy.all()]})


@router.delete(
    "/{kind}/{id:path}", summary="Forget who belongs to whom", response_model=ForgottenAnswer, responses=refusals(404)
)
async def remove_link(
    kind: Level, id: Annotated[str, Path(description="The project, team or org.")], visitor: Caller
) -> Response:
    """Forget whom a project, team or org belongs to."""
    visitor.require_unbound(Right.ADMIN, operation="hierarchy_remove")
    removed = await visitor.rooms.hierarchy.remove(kind=kind.value, id=id)
    await visitor.rooms.audit.record(action="hierarchy_remove", actor=visitor.grant.actor, target=f"{kind}:{id}")
    return answer({"removed": removed})
