"""Between the nouns of learning and their rows."""

import hashlib
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.index.store import ScopeKey
from lamina.kernel.text import normalise
from lamina.knowledge.types import Origin
from lamina.learning.confidence import Belief
from lamina.learning.pattern import PLACEHOLDER
from lamina.learning.tables import learning
from lamina.learning.types import Learning, LearningCategory

LEARNING_COLUMNS: tuple[sa.Column[Any], ...] = (
    learning.c.row,
    learning.c.indexed,
    learning.c.id,
    learning.c.tool,
    learning.c.trigger,
    learning.c.pattern,
    learning.c.diagnosis,
    learning.c.fix,
    learning.c.category,
    learning.c.tags,
    learning.c.origin,
    learning.c.alpha,
    learning.c.beta,
    learning.c.occurrence_count,
    learning.c.success_count,
    learning.c.failure_count,
    learning.c.created_at,
    learning.c.updated_at,
    learning.c.last_seen_at,
)
"""In the order `learning_from_row` reads them."""
ID, TOOL, TRIGGER, PATTERN, FIX, CATEGORY, ORIGIN, ALPHA, BETA = (
    LEARNING_COLUMNS.index(learning.c[name])
    for name in ("id", "tool", "trigger", "pattern", "fix", "category", "origin", "alpha", "beta")
)


def learning_scope(tenant: str) -> ScopeKey:
    """A tenant's learnings are one scope."""
    return ScopeKey(tenant=tenant, kind="learning", key="all", label="learning")


def identity_of(*, tool: str | None, trigger: str, pattern: str | None) -> str:
    """What makes two learnings the same: tool and pattern, or tool and trigger where there is no pattern."""
    kind, text = ("trigger", normalise(trigger)) if pattern is None else ("pattern", pattern)
    return hashlib.sha256("\0".join((kind, tool or "", text)).encode()).hexdigest()


def searched_text(
    *, tool: str | None, trigger: str, pattern: str | None, diagnosis: str | None, fix: str | None
) -> str:
    """What terms and vectors are made from; an error's own text says the same as its pattern, with more noise."""
    said = None if pattern is not None else diagnosis
    parts = (None if tool and trigger == f"tool:{tool}" else trigger, tool, pattern, said, fix)
    return "\n".join(part for part in parts if part)


def text_of(one: Learning) -> str:
    """The searched text of a learning."""
    return searched_text(tool=one.tool, trigger=one.trigger, pattern=one.pattern, diagnosis=one.diagnosis, fix=one.fix)


def told_text(one: Learning) -> str:
    """What a learning says to other rooms: its words, without the placeholders of its pattern."""
    return PLACEHOLDER.sub("", text_of(one))


def learning_from_row(row: Any) -> Learning:
    """A learning from a row of `LEARNING_COLUMNS`."""
    return Learning(
        id=row[2],
        tool=row[3],
        trigger=row[4],
        pattern=row[5],
        diagnosis=row[6],
        fix=row[7],
        category=LearningCategory(row[8]),
        tags=tuple(cast(list[str], load_json(row[9]))),
        origin=Origin(row[10]),
        belief=Belief(alpha=row[11], beta=row[12]),
        occurrence_count=row[13],
        success_count=row[14],
        failure_count=row[15],
        created_at=from_micros(row[16]),
        updated_at=from_micros(row[17]),
        last_seen_at=from_micros(row[18]),
    )


def learning_values(tenant: str, one: Learning) -> dict[str, Any]:
    """The stored form of a learning, without its place in the index."""
    return {
        "tenant": tenant,
        "id": one.id,
        "identity": identity_of(tool=one.tool, trigger=one.trigger, pattern=one.pattern),
        "tool": one.tool,
        "trigger": one.trigger,
        "pattern": one.pattern,
        "diagnosis": one.diagnosis,
        "fix": one.fix,
        "category": one.category.value,
        "tags": dump_json(list(one.tags)),
        "origin": one.origin.value,
        "alpha": one.belief.alpha,
        "beta": one.belief.beta,
        "occurrence_count": one.occurrence_count,
        "success_count": one.success_count,
        "failure_count": one.failure_count,
        "created_at": to_micros(one.created_at),
        "updated_at": to_micros(one.updated_at),
        "last_seen_at": to_micros(one.last_seen_at),
    }
