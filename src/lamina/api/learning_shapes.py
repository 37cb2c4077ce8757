"""What requests about learnings hold, and what their answers look like."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from lamina.api.shapes import Body, Limit
from lamina.knowledge.types import Origin
from lamina.learning.types import LearningCategory

_FIX = "Run `git fetch --unshallow` first."


class LearningToSave(Body):
    """A fix to be kept."""

    fix: str = Field(description="What helps.", examples=[_FIX])
    tool: str | None = Field(default=None, description="The tool that failed.", examples=["git"])
    error: str | None = Field(
        default=None, description="What it said.", examples=["fatal: refusing to merge unrelated histories"]
    )
    trigger: str | None = Field(default=None, description="When the fix applies, where no error says so.")
    diagnosis: str | None = Field(default=None, description="What the trouble was.", examples=["A shallow clone."])
    category: LearningCategory | None = Field(default=None, description="Worked out from the error without.")
    tags: list[str] | None = Field(default=None, examples=[["ci"]])
    origin: Origin = Field(default=Origin.AGENT, description="Who gave the fix.")


class FixToSet(Body):
    """A fix for a known error."""

    fix: str = Field(examples=[_FIX])
    diagnosis: str | None = Field(default=None, description="What the trouble was.")
    origin: Origin = Field(default=Origin.AGENT, description="Who gave the fix.")


class OutcomeToCount(Body):
    """How a fix did."""

    success: bool = Field(description="Whether it helped.", examples=[True])


class LearningToFind(Body):
    """A search among learnings."""

    query: str = Field(examples=["merge of unrelated histories fails"])
    tool: str | None = Field(default=None, description="Only what was learned of this tool.")
    category: LearningCategory | None = Field(default=None, description="Only learnings of this category.")
    min_confidence: float | None = Field(default=None, description="The least confidence, from 0 to 1.")
    unsolved: bool = Field(default=False, description="Also those without a trusted fix.")
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")


class StoredLearning(BaseModel):
    """What was learned about one error of one tool, or from one correction."""

    id: str = Field(examples=["01a1e027-1d08-7722-8df3-f39714a0d2fe"])
    tool: str | None = Field(examples=["git"])
    trigger: str = Field(examples=["tool:git"])
    pattern: str | None = Field(
        description="The error, with placeholders.", examples=["fatal: refusing to merge unrelated histories"]
    )
    diagnosis: str | None = Field(examples=["A shallow clone."])
    fix: str | None = Field(examples=[_FIX])
    category: LearningCategory = Field(examples=["tool_error"])
    tags: list[str] = Field(examples=[["ci"]])
    origin: Origin = Field(examples=["agent"])
    confidence: float = Field(description="How far the fix can be trusted, from 0 to 1.", examples=[0.5])
    occurrence_count: int = Field(examples=[1])
    success_count: int = Field(examples=[0])
    failure_count: int = Field(examples=[0])
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime


class SavedLearning(BaseModel):
    """What a save did; `kept` where a user's fix that still works stayed."""

    learning: StoredLearning
    outcome: Literal["created", "changed", "kept", "unchanged"]


class FoundLearning(StoredLearning):
    """A learning that a search found."""

    score: float = Field(description="From 0 to 1.", examples=[0.8])
    explain: dict[str, float] = Field(description="The parts of the score, and the confidence.")


class FoundLearnings(BaseModel):
    """What a search found, best first."""

    results: list[FoundLearning]


class LearningPage(BaseModel):
    """One page of what was learned, newest first."""

    learnings: list[StoredLearning]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])


class LearningNumbers(BaseModel):
    """What was learned, in numbers."""

    total_count: int
    by_category: dict[LearningCategory, int] = Field(examples=[{"tool_error": 1}])
    fix_count: int
    solution_count: int = Field(description="Fixes that are trusted.")
    average_confidence: float | None
    total_occurrences: int
    total_successes: int
    total_failures: int
    oldest_at: datetime | None
    newest_at: datetime | None
