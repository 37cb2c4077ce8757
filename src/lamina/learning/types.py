"""The nouns of learning."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from lamina.knowledge.types import Origin
from lamina.learning.confidence import Belief


class LearningCategory(StrEnum):
    """What kind of trouble a learning is about."""

    TIMEOUT = "timeout"
    PERMISSION = "permission"
    PROVIDER_ERROR = "provider_error"
    TOOL_ERROR = "tool_error"
    USER_CORRECTION = "user_correction"
    GENERAL = "general"


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What was learned about one error pattern of one tool, or from one correction by the user."""

    id: str
    tool: str | None
    """None where it is about no tool in particular."""
    trigger: str
    """When it applies: `tool:NAME` for what the wrapper saw, a sentence for what somebody said."""
    pattern: str | None
    """The error with everything that changes from one time to the next replaced by placeholders."""
    diagnosis: str | None
    """What the trouble was; the error's own text where nobody explained it. Secrets are hidden."""
    fix: str | None
    category: LearningCategory
    tags: tuple[str, ...]
    origin: Origin
    """Who gave the fix, or the learning itself while it has none."""
    belief: Belief
    """How far the fix can be trusted."""
    occurrence_count: int
    success_count: int
    """How often a fix was tried and the tool then succeeded."""
    failure_count: int
    """How often a fix was tried and the tool failed the same way again."""
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime

    @property
    def confidence(self) -> float:
        """From 0 to 1; 0.5 while nothing is known."""
        return self.belief.confidence


Outcome = Literal["created", "changed", "kept", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveLearningResult:
    """What a save did: a new learning, another fix on a known one, or nothing.

    `kept`: an agent's other fix was not taken, because the user gave the one that is there and it still works.
    """

    learning: Learning
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A moment at which a fix was tried, and how far it was trusted after that."""

    at: datetime
    successes: int
    failures: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningHit:
    """A learning that was found. `score` is within [0, 1]; `explain` holds its parts and the confidence."""

    learning: Learning
    score: float
    explain: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPage:
    """Part of a listing; `next_cursor` is None on the last page."""

    learnings: tuple[Learning, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningStatistics:
    """What a tenant has learned, in numbers."""

    total_count: int
    by_category: Mapping[LearningCategory, int]
    fix_count: int
    """Learnings that have a fix."""
    solution_count: int
    """Fixes whose confidence passes the threshold."""
    average_confidence: float | None
    total_occurrences: int
    total_successes: int
    total_failures: int
    oldest_at: datetime | None
    newest_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """What the engine did since the app was opened, in this process."""

    handled_count: int
    """Tool calls that were taken note of."""
    pending_count: int
    dropped_count: int
    """Calls of which no note was taken, because the queue was full or the app was closing."""
    failed_count: int
    """Calls of which no note could be taken; the tool itself was not affected."""
    refused_count: int
    """Errors that were not learned, because the session's limit was used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUpResult:
    """The learnings a clean-up removed, or would remove."""

    learnings: tuple[Learning, ...]
    dry_run: bool

    @property
    def count(self) -> int:
        """How many learnings that is."""
        return len(self.learnings)
