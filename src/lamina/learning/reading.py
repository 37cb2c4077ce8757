"""Reads of stored learnings, each on one view of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import Link, Prepared, number_list
from lamina.database.schema import from_micros
from lamina.index.engine import SearchEngine
from lamina.index.query import Query
from lamina.index.ranking import Ranked
from lamina.index.search import Allowed, RankedRow, Rankings, Search, Wanted
from lamina.index.signals import Explanation
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.knowledge.statements import select_rows
from lamina.learning.rows import ALPHA, BETA, LEARNING_COLUMNS, learning_from_row, learning_scope
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


def get_learning(link: Link, tenant: str, id: str) -> Learning | None:
    """The learning of an id."""
    row = link.run(_GET, {"tenant": tenant, "id": id}).fetchone()
    return None if row is None else learning_from_row(row)


def known_learning(link: Link, tenant: str, identity: str) -> Learning | None:
    """The learning about exactly this tool and pattern."""
    row = link.run(_KNOWN, {"tenant": tenant, "identity": identity}).fetchone()
    return None if row is None else learning_from_row(row)


def learning_search(
    engine: SearchEngine,
    tenant: str,
    query: Query,
    *,
    selection: Selection,
    limit: int,
    threshold: float,
    now: datetime,
) -> Search[list[RankedRow]]:
    """Finds the rows of learnings that fit best among those the selection lets through."""
    wanted = Wanted(scope=learning_scope(tenant), limit=limit * _POOL, threshold=threshold, counted=False)

    def finish(link: Link, rankings: Rankings) -> list[RankedRow]:
        (ranked,) = rankings
        if ranked is None:
            return []
        hits = _hits(link, tenant, ranked, selection, limit)
        if len(hits) < limit and len(ranked.entries) == wanted.limit:
            # Others may pass further down: ask for all that may be shown, and rank only those.
            all_allowed = wanted._replace(limit=limit, allowed=_rows_where(tenant, selection))
            (ranked,) = engine.rank_all(link, [all_allowed], query, now=now.timestamp())
            hits = [] if ranked is None else _hits(link, tenant, ranked, selection, limit)
        return hits

    return Search(wanted=(wanted,), finish=finish)


def _hits(link: Link, tenant: str, ranked: Ranked, selection: Selection, limit: int) -> list[RankedRow]:
    """The best of the ranked that the selection lets through; mostly the first ones do, and the rest is not read."""
    first = _READ_FIRST * limit
    hits = _matching(link, tenant, ranked, range(first), selection, limit)
    if len(hits) < limit:
        hits += _matching(link, tenant, ranked, range(first, len(ranked.entries)), selection, limit - len(hits))
    return hits


def _matching(
    link: Link, tenant: str, ranked: Ranked, places: range, selection: Selection, limit: int
) -> list[RankedRow]:
    entries = ranked.entries[places.start : places.stop].tolist()
    if not entries:
        return []
    params = {"rows": number_list(entries, link.name), "tenant": tenant}
    read = {row[0]: row for row in link.run(_BY_ROWS[link.name], params).fetchall()}
    hits: list[RankedRow] = []
    for place, entry in zip(places, entries, strict=False):
        row = read.get(entry)  # on PostgreSQL an entry can go between ranking and reading
        if row is not None and selection.matches(row):
            why = Explanation(ranked.signals, place, {"confidence": row[ALPHA] / (row[ALPHA] + row[BETA])})
            hits.append(RankedRow(row, float(ranked.scores[place]), why))
            if len(hits) == limit:
                break
    return hits


def learning_hits(found: Sequence[RankedRow]) -> tuple[LearningHit, ...]:
    """What `learning_search` found, as callers get it."""
    return tuple(LearningHit(learning=learning_from_row(row), score=score, explain=why) for row, score, why in found)


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
