"""What became of fixes, from the audit log: every outcome leaves a row there, in its own transaction."""

from typing import Any, Final, cast

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import from_micros, load_json
from lamina.knowledge.tables import audit_log
from lamina.learning.types import Learning, Trial

OUTCOME: Final = "learning_outcome"
_MOST: Final = 1_000


def outcome_details(counted: Learning, successes: int, failures: int) -> dict[str, object]:
    """What a row says: the outcomes that were counted, and the confidence after them."""
    return {"successes": successes, "failures": failures, "confidence": counted.confidence}


def read_trials(link: Link, tenant: str, id: str) -> tuple[Trial, ...]:
    """The latest outcomes of a learning, oldest first."""
    columns = audit_log.c
    chosen = (
        sa.select(columns.at, columns.details)
        .where(columns.tenant == tenant, columns.action == OUTCOME, columns.target == id)
        .order_by(columns.row.desc())
        .limit(_MOST)
    )
    return tuple(map(_trial, reversed(link.execute(chosen).all())))


def _trial(row: Any) -> Trial:
    details = cast(dict[str, Any], load_json(row[1]))
    return Trial(
        at=from_micros(row[0]),
        successes=int(details.get("successes", 0)),
        failures=int(details.get("failures", 0)),
        confidence=float(details.get("confidence", 0.5)),
    )
