"""Learnings as plain JSON objects, for doors. Not for storage: rows have their own form."""

from datetime import UTC, datetime

from lamina.learning.types import EngineCounters, Learning, LearningHit, LearningStatistics

Record = dict[str, object]


def learning_record(one: Learning) -> Record:
    """Every field of a learning; moments in UTC."""
    return {
        "id": one.id,
        "tool": one.tool,
        "trigger": one.trigger,
        "pattern": one.pattern,
        "diagnosis": one.diagnosis,
        "fix": one.fix,
        "category": one.category.value,
        "tags": list(one.tags),
        "origin": one.origin.value,
        "confidence": one.confidence,
        "occurrence_count": one.occurrence_count,
        "success_count": one.success_count,
        "failure_count": one.failure_count,
        "created_at": _moment(one.created_at),
        "updated_at": _moment(one.updated_at),
        "last_seen_at": _moment(one.last_seen_at),
    }


def learning_hit_record(hit: LearningHit) -> Record:
    """A learning that was found, its score and the parts of it."""
    return {"score": hit.score, "explain": dict(hit.explain), **learning_record(hit.learning)}


def statistics_record(found: LearningStatistics) -> Record:
    """What was learned, in numbers."""
    return {
        "total_count": found.total_count,
        "by_category": {category.value: count for category, count in found.by_category.items()},
        "fix_count": found.fix_count,
        "solution_count": found.solution_count,
        "average_confidence": found.average_confidence,
        "total_occurrences": found.total_occurrences,
        "total_successes": found.total_successes,
        "total_failures": found.total_failures,
        "oldest_at": None if found.oldest_at is None else _moment(found.oldest_at),
        "newest_at": None if found.newest_at is None else _moment(found.newest_at),
    }


def counters_record(counters: EngineCounters) -> Record:
    """What the engine of this process did, dropped and missed."""
    return {name: getattr(counters, name) for name in EngineCounters.__dataclass_fields__}


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
