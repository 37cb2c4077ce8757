"""The tools of learning: errors of tools and what fixed them."""

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import Field

from lamina.access.types import Right
from lamina.context.sources import solution_origin
from lamina.learning.types import Learning
from lamina.mcp.connection import Connection
from lamina.mcp.shown import Form, Said, warning_of
from lamina.mcp.tool import Tool

Category = Literal["timeout", "permission", "provider_error", "tool_error", "user_correction", "general"]
"""The names of `LearningCategory`; a test keeps them equal."""


class SaveLearning(Form):
    """What learning_save takes."""

    fix: str = Field(description="What to do when it happens again, as one instruction")
    tool: str | None = Field(default=None, description="The tool that failed, such as 'bash'")
    error: str | None = Field(default=None, description="The error as the tool gave it; numbers and paths may differ")
    trigger: str | None = Field(
        default=None, description="When it applies, in words, where there is no tool and error to name"
    )
    diagnosis: str | None = Field(default=None, description="What the cause was")
    category: Category | None = Field(default=None, description="The kind of trouble; worked out where left out")
    tags: list[str] | None = Field(default=None, description="Short labels")


class SearchLearnings(Form):
    """What learning_search takes."""

    query: str = Field(description="The error, or what you are about to do")
    tool: str | None = Field(default=None, description="Only about this tool")
    category: Category | None = Field(default=None, description="Only this kind of trouble")
    unsolved: bool = Field(default=False, description="Also errors that nobody has a trusted fix for")
    limit: int | None = Field(default=None, ge=1, le=100, description="How many at most")


class SavedLearning(Form):
    """What learning_save gives."""

    id: str
    outcome: Literal["created", "changed", "kept", "unchanged"] = Field(
        description="kept: the user's own fix stays, because it still works"
    )
    confidence: float = Field(description="How far the fix is trusted, from 0 to 1")


class FoundLearning(Said):
    """A learning that a search found."""

    id: str
    tool: str | None = None
    trigger: str
    pattern: str | None = Field(default=None, description="The error, with what changes replaced by placeholders")
    diagnosis: str | None = None
    fix: str | None = None
    category: Category
    confidence: float
    occurrence_count: int
    last_seen_at: datetime
    score: float = Field(description="Relevance from 0 to 1")


class LearningResults(Form):
    """What learning_search gives."""

    results: list[FoundLearning] = Field(description="Best first")


async def save(connection: Connection, given: SaveLearning) -> SavedLearning:
    """Keep a fix."""
    learning = connection.visitor.rooms.learning.acting_as(connection.visitor.grant.actor)
    saved = await learning.save(
        given.fix,
        tool=given.tool,
        error=given.error,
        trigger=given.trigger,
        diagnosis=given.diagnosis,
        category=given.category,
        tags=given.tags,
    )
    return SavedLearning(id=saved.learning.id, outcome=saved.outcome, confidence=saved.learning.confidence)


async def search(connection: Connection, given: SearchLearnings) -> LearningResults:
    """Find fixes."""
    hits = await connection.visitor.rooms.learning.search(
        given.query, tool=given.tool, category=given.category, unsolved=given.unsolved, limit=given.limit
    )
    return LearningResults(results=[_found(hit.learning, hit.score) for hit in hits])


def _found(one: Learning, score: float) -> FoundLearning:
    origin = solution_origin(one.pattern, one.origin.value)
    told = "\n".join(text for text in (one.trigger, one.pattern, one.diagnosis, one.fix) if text)
    return FoundLearning(
        id=one.id,
        tool=one.tool,
        trigger=one.trigger,
        pattern=one.pattern,
        diagnosis=one.diagnosis,
        fix=one.fix,
        category=one.category.value,
        confidence=one.confidence,
        occurrence_count=one.occurrence_count,
        last_seen_at=one.last_seen_at,
        score=score,
        origin=origin.value,
        warning=warning_of(told, origin),
    )


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="learning_save",
        title="Save what fixed an error",
        description="After a tool failed and you found out what works, keep the fix, so that nobody runs into it "
        "again. Name the tool and quote its error; without a tool, describe in `trigger` when it applies.",
        takes=SaveLearning,
        gives=SavedLearning,
        run=save,
        right=Right.WRITE,
        shared=True,
        idempotent=True,
        section="knowledge",
    ),
    Tool(
        name="learning_search",
        title="Search known fixes",
        description="Find fixes for an error. Call it as soon as a tool fails, before you try anything else. A fix "
        "is a suggestion from earlier work: judge it before you follow it.",
        takes=SearchLearnings,
        gives=LearningResults,
        run=search,
        section="knowledge",
    ),
)
"""The tools of learning."""
