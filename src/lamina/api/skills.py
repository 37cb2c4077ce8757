"""/v1/skills: what agents can do, checked, approved and run."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.api.shapes import Done
from lamina.api.skill_shapes import (
    DecisionOnSkill,
    FoundSkills,
    RanSkill,
    SkillChange,
    SkillHistory,
    SkillPage,
    SkillToCreate,
    SkillToFind,
    SkillToRun,
    StoredSkill,
)
from lamina.skill.records import hit_record, run_record, skill_record, version_record
from lamina.skill.service import SkillService
from lamina.skill.types import SkillStatus, SkillType
from lamina.visitor import Visitor

router = resource("/v1/skills", tag="skills")

Name = Annotated[str, Path(description="The skill's name.", examples=["release-notes"])]


@router.post("", status_code=201, summary="Create a skill", response_model=StoredSkill, responses=refusals(409))
async def create_skill(body: SkillToCreate, visitor: Caller) -> Response:
    """Keep a new skill, a draft until somebody approves it. Everything is checked, also the script."""
    visitor.require_unbound(Right.WRITE, operation="skill_create")
    created = await _skills(visitor).create(
        body.name,
        description=body.description,
        type=body.type,
        definition=body.definition,
        parameters=body.parameters,
        metadata=body.metadata,
        origin=body.origin,
    )
    return answer(skill_record(created), 201)


@router.post("/search", summary="Search skills", response_model=FoundSkills)
async def search_skills(body: SkillToFind, visitor: Caller) -> Response:
    """Active skills whose name and description fit the query, best first; of every status with null."""
    visitor.require(Right.READ, operation="skill_search")
    hits = await visitor.rooms.skills.search(body.query, status=body.status, limit=body.limit, threshold=body.threshold)
    return answer({"results": [hit_record(hit) for hit in hits]})


@router.get("", summary="List skills", response_model=SkillPage)
async def list_skills(
    visitor: Caller,
    status: Annotated[SkillStatus | None, Query(description="Only skills of this status.")] = None,
    type: Annotated[SkillType | None, Query(description="Only skills of this type.")] = None,
    limit: Annotated[int | None, Query(description="Skills on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """One page of skills, newest name first."""
    visitor.require(Right.READ, operation="skill_list")
    page = await visitor.rooms.skills.list(status=status, type=type, limit=limit, cursor=cursor)
    return answer(
        {
            "skills": [skill_record(one) for one in page.skills],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.get("/{name}", summary="Get a skill", response_model=StoredSkill, responses=refusals(404))
async def get_skill(name: Name, visitor: Caller) -> Response:
    """The latest version of a skill."""
    visitor.require(Right.READ, operation="skill_get")
    return answer(skill_record(await visitor.rooms.skills.get(name)))


@router.get("/{name}/history", summary="Read every version", response_model=SkillHistory, responses=refusals(404))
async def get_skill_history(name: Name, visitor: Caller) -> Response:
    """Every version of a skill, newest first."""
    visitor.require(Right.READ, operation="skill_history")
    versions = await visitor.rooms.skills.history(name)
    return answer({"versions": [version_record(version) for version in versions]})


@router.patch("/{name}", summary="Change a skill", response_model=StoredSkill, responses=refusals(404, 409))
async def update_skill(name: Name, body: SkillChange, visitor: Caller) -> Response:
    """Make a further version of what is given; it waits for approval again."""
    visitor.require_unbound(Right.WRITE, operation="skill_update")
    changed = await _skills(visitor).update(
        name,
        description=body.description,
        definition=body.definition,
        parameters=body.parameters,
        origin=body.origin,
    )
    return answer(skill_record(changed))


@router.post("/{name}/approve", summary="Approve a skill", response_model=StoredSkill, responses=refusals(404, 409))
async def approve_skill(name: Name, body: DecisionOnSkill, visitor: Caller) -> Response:
    """Let a skill run. With `version`, only if that is still the latest: what was looked at is what is approved."""
    visitor.require_unbound(Right.ADMIN, operation="skill_approve")
    return answer(skill_record(await _skills(visitor).approve(name, version=body.version)))


@router.post("/{name}/reject", summary="Reject a skill", response_model=StoredSkill, responses=refusals(404, 409))
async def reject_skill(name: Name, body: DecisionOnSkill, visitor: Caller) -> Response:
    """Never let a skill run, or not any more."""
    visitor.require_unbound(Right.ADMIN, operation="skill_reject")
    return answer(skill_record(await _skills(visitor).reject(name, version=body.version)))


@router.post("/{name}/run", summary="Run a skill", response_model=RanSkill, responses=refusals(404, 409, 424))
async def run_skill(name: Name, body: SkillToRun, visitor: Caller) -> Response:
    """Run an active skill: render its template, call its steps, or run its script in the sandbox."""
    visitor.require(Right.WRITE, operation="skill_execute")
    return answer(run_record(await _skills(visitor).run(name, body.arguments)))


@router.delete("/{name}", summary="Delete a skill", response_model=Done, responses=refusals(404))
async def delete_skill(name: Name, visitor: Caller) -> Response:
    """Forget a skill with all its versions."""
    visitor.require_unbound(Right.ADMIN, operation="skill_delete")
    await _skills(visitor).delete(name)
    return answer({"success": True})


def _skills(visitor: Visitor) -> SkillService:
    """The skills, with the caller's name in the audit log."""
    return visitor.rooms.skills.acting_as(visitor.grant.actor)
