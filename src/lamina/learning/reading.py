"""Reads of stored learnings, each on one view of the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import Link, Prepared, number_list
from lamina.database.schema import from_micros
from lamina.index.engine import Allowed, SearchEngine
from lamina.index.query import Query
from lamina.index.ranking import Ranked, Signal
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.knowledge.statements import select_rows
from lamina.learning.rows import LEARNING_COLUMNS, learning_from_row, learning_scope
from lamina.learning.selection import Selection
from lamina.learning.tables import CONFIDENCE, learning
from lamina.learning.types import Learning, LearningCategory, LearningHit, LearningPage, LearningStatistics

_POOL = 6
"""So many times the limit are ranked before they are filtered, which mostly spares asking for all that pass."""
_READ_FIRST = 2
"""So many times the limit are read first, which mostly is enough."""

_OF_TENANT = learning.c.tenant == sa.bindparam("tenant")
_GET = Prepared(sa.select(*LEARNING_COLUMNS).where(_OF_TENANT, learning.c.id == sa.bindparam("id")))
_KNOWN = Prepared(sa.select(*LEARNING_COLUMNS).where(_OF_TENANT, learning.c.identity == sa.bindparam("identity")))
_TRUSTED = Prepared(
    sa.select(learning.c.row).where(
        _OF_TENANT, learning.c.fix.is_not(None), sa.bindparam("least", type_=sa.Double) <= CONFIDENCE
    )
)
_BY_ROWS = select_rows(learning, LEARNING_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is searched for, and what a result must be."""

    query: Query
    selection: Selection
    limit: int
    threshold: float
    now: datetime


def get_learning(link: Link, tenant: str, id: str) -> Learning | None:
    """The learning of an id."""
    row = link.run(_GET, {"tenant": tenant, "id": id}).fetchone()
    return None if row is None else learning_from_row(row)


def known_learning(link: Link, tenant: str, identity: str) -> Learning | None:
    """The learning about exactly this tool and pattern."""
    row = link.run(_KNOWN, {"tenant": tenant, "identity": identity}).fetchone()
    return None if row is None else learning_from_row(row)


def search_learnings(link: Link, engine: SearchEngine, tenant: str, search: Search) -> tuple[LearningHit, ...]:
    """The learnings that fit best among those the selection lets through."""
    pool = search.limit * _POOL
    ranked = _rank(link, engine, tenant, search, limit=pool, allowed=None)
    hits = _hits(link, tenant, ranked, search)
    if len(hits) < search.limit and ranked is not None and len(ranked.entries) == pool:
        # Others may pass further down: ask for all that may be shown, and rank only those.
        allowed = _rows_where(tenant, search.selection)
        hits = _hits(link, tenant, _rank(link, engine, tenant, search, limit=search.limit, allowed=allowed), search)
    return tuple(hits)


def _rank(
    link: Link, engine: SearchEngine, tenant: str, search: Search, *, limit: int, allowed: Allowed | None
) -> Ranked | None:
    return engine.rank(
        link,
        learning_scope(tenant),
        search.query,
        limit=limit,
        threshold=search.threshold,
        now=search.now.timestamp(),
        allowed=allowed,
    )


def _hits(link: Link, tenant: str, ranked: Ranked | None, search: Search) -> list[LearningHit]:
    """The best of the ranked that the selection lets through; mostly the first ones do, and the rest is not read."""
    if ranked is None:
        return []
    ranking = list(zip(ranked.entries.tolist(), ranked.scores.tolist(), ranked.signals, strict=True))
    first = _READ_FIRST * search.limit
    hits = _matching(link, tenant, ranking[:first], search)
    if len(hits) < search.limit:
        hits += _matching(link, tenant, ranking[first:], search)
    return hits[: search.limit]


def _matching(
    link: Link, tenant: str, ranking: Sequence[tuple[int, float, Signal]], search: Search
) -> list[LearningHit]:
    if not ranking:
        return []
    params = {"rows": number_list([entry for entry, _, _ in ranking], link.name), "tenant": tenant}
    read = {row[0]: row for row in link.run(_BY_ROWS[link.name], params).fetchall()}
    hits: list[LearningHit] = []
    for entry, score, signal in ranking:
        row = read.get(entry)  # on PostgreSQL an entry can go between ranking and reading
        if row is not None and search.selection.matches(row):
            found = learning_from_row(row)
            explain = {**signal.by_name(), "confidence": found.confidence}
            hits.append(LearningHit(learning=found, score=score, explain=explain))
            if len(hits) == search.limit:
                break
    return hits


def _rows_where(tenant: str, selection: Selection) -> Allowed:
    """The rows that may be shown; what a prompt asks for at every turn is prepared."""
    least = selection.min_confidence
    known = selection == Selection(has_fix=True, min_confidence=least) and least is not None

    def rows(link: Link, _scope_id: int) -> NDArray[np.int64]:
        if known:
            found = link.run(_TRUSTED, {"tenant": tenant, "least": least}).fetchall()
            return np.fromiter((row[0] for row in found), np.int64, count=len(found))
        chosen = sa.select(learning.c.row).where(learning.c.tenant == tenant, *selection.conditions())
        return np.array(link.execute(chosen).scalars().all(), np.int64)

    return rows


def list_learnings(link: Link, tenant: str, selection: Selection, *, limit: int, cursor: str | None) -> LearningPage:
    """One page of what a tenant has learned, newest first."""
    mark = fingerprint(["learning", tenant, selection.description()])
    wanted = [learning.c.tenant == tenant, *selection.conditions()]
    total = link.execute(sa.select(sa.func.count()).select_from(learning).where(*wanted)).scalar_one()
    if cursor is not None:
        wanted.append(learning.c.row < decode_cursor(cursor, mark, operation="learning_list"))
    chosen = sa.select(*LEARNING_COLUMNS).where(*wanted).order_by(learning.c.row.desc()).limit(limit + 1)
    found = link.execute(chosen).all()
    shown = found[:limit]
    following = encode_cursor(shown[-1][0], mark) if len(found) > limit else None
    return LearningPage(learnings=tuple(map(learning_from_row, shown)), next_cursor=following, total_count=int(total))


def statistics(link: Link, tenant: str, *, threshold: float) -> LearningStatistics:
    """What a tenant has learned, in numbers."""
    fixed = learning.c.fix.is_not(None)
    passing = sa.and_(fixed, threshold <= CONFIDENCE)
    counted: Any = sa.select(
        learning.c.category,
        sa.func.count(),
        sa.func.sum(sa.case((fixed, 1), else_=0)),
        sa.func.sum(sa.case((passing, 1), else_=0)),
        sa.func.sum(CONFIDENCE),
        sa.func.sum(learning.c.occurrence_count),
        sa.func.sum(learning.c.success_count),
        sa.func.sum(learning.c.failure_count),
        sa.func.min(learning.c.created_at),
        sa.func.max(learning.c.created_at),
    ).where(learning.c.tenant == tenant)
    rows = link.execute(counted.group_by(learning.c.category)).all()
    total = sum(row[1] for row in rows)
    sums = [sum(float(row[place]) for row in rows) for place in range(2, 8)]
    return LearningStatistics(
        total_count=total,
        by_category={one: next((row[1] for row in rows if row[0] == one.value), 0) for one in LearningCategory},
        fix_count=int(sums[0]),
        solution_count=int(sums[1]),
        average_confidence=sums[2] / total if total else None,
        total_occurrences=int(sums[3]),
        total_successes=int(sums[4]),
        total_failures=int(sums[5]),
        oldest_at=from_micros(min(row[8] for row in rows)) if rows else None,
        newest_at=from_micros(max(row[9] for row in rows)) if rows else None,
    )
