"""The nouns of skills."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SkillType(StrEnum):
    """How a skill works."""

    COMPOSITE = "composite"
    """Calls of tools in order; the definition holds `steps`, each with `tool` and `params`."""
    SCRIPT = "script"
    """A shell script; the definition holds `script`."""
    TEMPLATE = "template"
    """Text with parameters; the definition holds `template`."""


class SkillStatus(StrEnum):
    """Whether a skill may run."""

    DRAFT = "draft"
    """Waits for approval."""
    ACTIVE = "active"
    """Approved, offered as a tool."""
    DISABLED = "disabled"
    """Rejected, or switched off."""


class SkillOrigin(StrEnum):
    """Who wrote it, which decides how far a prompt trusts its description."""

    USER = "user"
    AGENT = "agent"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a skill does, checked: everything of a version but its number."""

    name: str
    description: str
    type: SkillType
    definition: Mapping[str, object]
    parameters: Mapping[str, object]
    """A JSON schema of type object."""
    metadata: Mapping[str, object]
    """Further fields of its SKILL.md, kept for export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """The latest version of a skill."""

    name: str
    description: str
    type: SkillType
    definition: Mapping[str, object]
    parameters: Mapping[str, object]
    metadata: Mapping[str, object]
    version: int
    status: SkillStatus
    requires_approval: bool
    """Whether this version had to wait for somebody's approval."""
    created_by: str
    decided_by: str | None
    """Who approved or rejected this version."""
    origin: SkillOrigin
    use_count: int
    success_count: int
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None

    @property
    def tool_name(self) -> str:
        """The name of the tool it is offered as."""
        return f"skill_{self.name}"

    @property
    def confidence(self) -> float:
        """How far its runs speak for it: the mean of a Beta posterior over successes and failures, 0.5 at first."""
        return (self.success_count + 1) / (self.use_count + 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    """One version of a skill, as it was saved."""

    version: int
    description: str
    type: SkillType
    definition: Mapping[str, object]
    parameters: Mapping[str, object]
    metadata: Mapping[str, object]
    created_by: str
    saved_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillHit:
    """A skill that was found. `score` is within [0, 1]."""

    skill: Skill
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPage:
    """Part of a listing; `next_cursor` is None on the last page."""

    skills: tuple[Skill, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """One step of a composite that ran: its place from 1 on, the tool, and what it returned."""

    step: int
    tool: str
    result: object


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRun:
    """What a run gave: the rendered text, the script's standard output, or the last step's result."""

    name: str
    version: int
    type: SkillType
    output: object
    steps: tuple[StepDone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTool:
    """A skill as a tool: what a model is told, and the function behind it."""

    name: str
    description: str
    parameters: Mapping[str, object]
    call: Callable[..., Awaitable[object]]
    """Takes the parameters as keywords and returns the run's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did with each folder."""

    created: tuple[Skill, ...]
    skipped: tuple[str, ...]
    """Names that exist already."""
    failed: Mapping[str, str]
    """The reason by folder."""
    left_out: tuple[str, ...]
    """Further files beside a SKILL.md, which are not kept."""
