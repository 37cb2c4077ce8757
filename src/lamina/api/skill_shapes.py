"""What requests about skills hold, and what their answers look like."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from lamina.api.shapes import Body, Limit
from lamina.skill.types import SkillOrigin, SkillStatus, SkillType

_DESCRIPTION = "Writes the notes of a release."
_DEFINITION = {"template": "Release {{ version }}: {{ changes }}"}


class SkillToCreate(Body):
    """A skill to be kept."""

    name: str = Field(description="Letters, digits, hyphens and underscores.", examples=["release-notes"])
    description: str = Field(examples=[_DESCRIPTION])
    type: SkillType = Field(examples=["template"])
    definition: dict[str, Any] = Field(
        description="`template`, `script` or `steps`, after the type.", examples=[_DEFINITION]
    )
    parameters: dict[str, Any] | None = Field(
        default=None, description="A JSON schema of type object; a template without one takes texts."
    )
    metadata: dict[str, Any] | None = Field(default=None, description="Anything else, kept with it.")
    origin: SkillOrigin = Field(default=SkillOrigin.AGENT, description="Who wrote it.")


class SkillChange(Body):
    """What shall be different about a skill."""

    description: str | None = Field(default=None, examples=[_DESCRIPTION])
    definition: dict[str, Any] | None = Field(default=None, examples=[_DEFINITION])
    parameters: dict[str, Any] | None = Field(default=None, description="A JSON schema of type object.")
    origin: SkillOrigin = Field(default=SkillOrigin.AGENT, description="Who wrote it.")


class DecisionOnSkill(Body):
    """A decision on a skill."""

    version: int | None = Field(default=None, description="The version that was looked at.", examples=[1])


class SkillToRun(Body):
    """A run of a skill."""

    arguments: dict[str, Any] = Field(default={}, examples=[{"version": "1.4", "changes": "faster search"}])


class SkillToFind(Body):
    """A search among skills."""

    query: str = Field(examples=["write release notes"])
    status: SkillStatus | None = Field(default=SkillStatus.ACTIVE, description="null for skills of every status.")
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")


class StoredSkill(BaseModel):
    """The latest version of a skill."""

    name: str = Field(examples=["release-notes"])
    description: str = Field(examples=[_DESCRIPTION])
    type: SkillType = Field(examples=["template"])
    definition: dict[str, Any] = Field(examples=[_DEFINITION])
    parameters: dict[str, Any] = Field(
        examples=[{"type": "object", "properties": {"version": {"type": "string"}, "changes": {"type": "string"}}}]
    )
    metadata: dict[str, Any]
    version: int = Field(examples=[1])
    status: SkillStatus = Field(examples=["draft"])
    requires_approval: bool = Field(examples=[True])
    created_by: str = Field(examples=["local"])
    decided_by: str | None = Field(description="Who approved or rejected this version.")
    origin: SkillOrigin = Field(examples=["agent"])
    use_count: int = Field(examples=[0])
    success_count: int = Field(examples=[0])
    confidence: float = Field(description="How far its runs speak for it.", examples=[0.5])
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class FoundSkill(BaseModel):
    """A skill that a search found."""

    skill: StoredSkill
    score: float = Field(description="From 0 to 1.", examples=[0.66])
    signals: dict[str, float]


class FoundSkills(BaseModel):
    """What a search found, best first."""

    results: list[FoundSkill]


class SkillPage(BaseModel):
    """One page of skills, newest name first."""

    skills: list[StoredSkill]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])


class VersionOfSkill(BaseModel):
    """One version of a skill."""

    version: int = Field(examples=[1])
    description: str = Field(examples=[_DESCRIPTION])
    type: SkillType = Field(examples=["template"])
    definition: dict[str, Any] = Field(examples=[_DEFINITION])
    parameters: dict[str, Any]
    created_by: str = Field(examples=["local"])
    saved_at: datetime


class SkillHistory(BaseModel):
    """Every version of a skill, newest first."""

    versions: list[VersionOfSkill]


class StepRun(BaseModel):
    """One step of a composite that ran."""

    step: int = Field(examples=[1])
    tool: str
    result: Any


class RanSkill(BaseModel):
    """What a run gave."""

    name: str = Field(examples=["release-notes"])
    version: int = Field(examples=[1])
    type: SkillType = Field(examples=["template"])
    output: Any = Field(
        description="The rendered text, what the script printed, or the last step's result.",
        examples=["Release 1.4: faster search"],
    )
    steps: list[StepRun] = Field(examples=[[]])
