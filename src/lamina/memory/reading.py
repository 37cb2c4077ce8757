"""Reads of stored memories, each on one view of the store."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import Link, Prepared, any_of, number_list, unindexed
from lamina.database.schema import to_micros
from lamina.index.ranking import Ranked
from lamina.index.search import Rankings, Search, Wanted
from lamina.index.signals import Explanation
from lamina.index.store import ScopeKey
from lamina.index.tables import scope
from lamina.memory.cursor import decode_cursor, encode_cursor, listing_fingerprint
from lamina.memory.filter import Filter
from lamina.memory.filter_sql import filter_clause
from lamina.memory.provider import Found, GetRequest, ListRequest, ScopeResults, SearchRequest
from lamina.memory.rows import (
    ENTRY_COLUMNS,
    REVISION_COLUMNS,
    entry_from_row,
    present_state,
    revision_from_row,
    scope_key,
)
from lamina.memory.tables import memory, memory_revision
from lamina.memory.types import MemoryEntry, Page, Revision, Scope

_GET = Prepared(
    sa.select(*ENTRY_COLUMNS, scope.c.key)
    .join_from(memory, scope, memory.c.scope_id == scope.c.id)
    .where(memory.c.tenant == sa.bindparam("tenant"), memory.c.id == sa.bindparam("id"))
)
_REVISIONS = Prepared(
    sa.select(*REVISION_COLUMNS)
    .where(
        memory_revision.c.memory_row == sa.bindparam("row"),
        memory_revision.c.tenant == sa.bindparam("tenant"),
    )
    .order_by(memory_revision.c.version)
)


def _by_rows(dialect: Any) -> Prepared:
    # An index may be newer than this view, in which a row number can still belong to somebody else.
    place = sa.select(scope.c.id).where(
        scope.c.tenant == sa.bindparam("tenant"),
        scope.c.kind == sa.bindparam("kind"),
        scope.c.key == sa.bindparam("key"),
    )
    return Prepared(
        sa.select(*ENTRY_COLUMNS).where(
            any_of(memory.c.row, "rows", dialect),
            unindexed(memory.c.tenant, dialect) == sa.bindparam("tenant"),
            unindexed(memory.c.scope_id, dialect) == place.scalar_subquery(),
        )
    )


_BY_ROWS = {"sqlite": _by_rows("sqlite"), "postgresql": _by_rows("postgresql")}


def reach(scopes: Collection[Scope]) -> set[str]:
    """The index keys of the scopes a caller may touch."""
    return {scope_key(item).key for item in scopes}


def is_live(entry: MemoryEntry, now: Any) -> bool:
    """Whether an entry can be seen at this moment."""
    return entry.expires_at is None or entry.expires_at > now


def get_memory(link: Link, request: GetRequest) -> tuple[int, MemoryEntry] | None:
    """An entry and its row, or None when it is absent, expired or out of reach: nobody can tell which."""
    row = link.run(_GET, {"tenant": request.tenant, "id": request.id}).fetchone()
    if row is None or row[-1] not in reach(request.scopes):
        return None
    entry = entry_from_row(row)
    return (row[0], entry) if is_live(entry, request.now) else None


def get_history(link: Link, request: GetRequest) -> tuple[Revision, ...]:
    """Every state of an entry, oldest first."""
    with link.snapshot():  # a change between the two reads would show a state twice
        found = get_memory(link, request)
        if found is None:
            return ()
        row, entry = found
        past = link.run(_REVISIONS, {"row": row, "tenant": request.tenant}).fetchall()
    return (*map(revision_from_row, past), present_state(entry))


def memory_search(requests: Sequence[SearchRequest]) -> Search[tuple[ScopeResults, ...]]:
    """Finds the best entries of several scopes, for requests that differ in nothing but the scope."""
    keys = [scope_key(request.scope) for request in requests]
    wanted = tuple(
        Wanted(
            scope=key,
            limit=request.limit,
            threshold=request.threshold,
            allowed=None if request.filter == _EVERYTHING else _filtered(key.tenant, request.filter),
            vectors=True,
        )
        for key, request in zip(keys, requests, strict=True)
    )

    def finish(link: Link, rankings: Rankings) -> tuple[ScopeResults, ...]:
        asked = zip(keys, requests, rankings, strict=True)
        return tuple(_results(link, key, ranked, explain=request.explain) for key, request, ranked in asked)

    return Search(wanted=wanted, finish=finish)


def _results(link: Link, key: ScopeKey, ranked: Ranked | None, *, explain: bool) -> ScopeResults:
    """Read the entries that made it."""
    if ranked is None or not len(ranked.entries):
        return ScopeResults(found=(), total=0 if ranked is None else ranked.total)
    assert ranked.vectors is not None
    rows = ranked.entries.tolist()
    place = {"tenant": key.tenant, "kind": key.kind, "key": key.key}
    read = {row[0]: row for row in link.run(_BY_ROWS[link.name], {"rows": number_list(rows, link.name), **place})}
    found = [
        Found(
            entry=entry_from_row(read[row]),
            score=score,
            vector=vector,
            signals=Explanation(ranked.signals, at, only_parts=True) if explain else None,
        )
        for at, (row, score, vector) in enumerate(zip(rows, ranked.scores.tolist(), ranked.vectors, strict=True))
        if row in read  # on PostgreSQL an entry can go between ranking and reading
    ]
    return ScopeResults(found=tuple(found), total=ranked.total)


_EVERYTHING = Filter()


def _filtered(tenant: str, filter: Filter) -> Any:
    def rows(link: Link, scope_id: int) -> NDArray[np.int64]:
        statement = sa.select(memory.c.row).where(
            memory.c.scope_id == scope_id, unindexed(memory.c.tenant, link.name) == tenant
        )
        clause = filter_clause(filter, tags=memory.c.tags, metadata=memory.c.metadata, dialect=link.name)
        if clause is not None:
            statement = statement.where(clause)
        return np.array(link.execute(statement).scalars().all(), np.int64)

    return rows


def list_memories(link: Link, request: ListRequest) -> Page:
    """One page of a scope, newest first; the total counts what the filter lets through."""
    key = scope_key(request.scope)
    listing = listing_fingerprint(request.scope, request.filter)
    before = None if request.cursor is None else decode_cursor(request.cursor, listing, operation="list")
    with link.snapshot():  # the total is that of the page
        total, rows = _page(link, key, before, request)
    more = len(rows) > request.limit
    shown = rows[: request.limit]
    cursor = encode_cursor(shown[-1][0], listing) if more else None
    return Page(memories=tuple(map(entry_from_row, shown)), next_cursor=cursor, total_count=total)


def _page(link: Link, key: ScopeKey, before: int | None, request: ListRequest) -> tuple[int, Sequence[Any]]:
    """How many entries there are, and the rows of a page with one more, if there is one."""
    scope_id = link.execute(
        sa.select(scope.c.id).where(scope.c.tenant == key.tenant, scope.c.kind == key.kind, scope.c.key == key.key)
    ).scalar_one_or_none()
    if scope_id is None:
        return 0, ()
    conditions = [
        memory.c.scope_id == scope_id,
        unindexed(memory.c.tenant, link.name) == key.tenant,
        _live(request.now),
    ]
    clause = filter_clause(request.filter, tags=memory.c.tags, metadata=memory.c.metadata, dialect=link.name)
    if clause is not None:
        conditions.append(clause)
    total = link.execute(sa.select(sa.func.count()).select_from(memory).where(*conditions)).scalar_one()
    if before is not None:
        conditions.append(memory.c.row < before)
    statement = sa.select(*ENTRY_COLUMNS).where(*conditions).order_by(memory.c.row.desc())
    return total, link.execute(statement.limit(request.limit + 1)).all()


def _live(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(memory.c.expires_at.is_(None), memory.c.expires_at > to_micros(now))


def count_memories(link: Link, tenant: str, now: datetime) -> int:
    """How many memories of a tenant can be seen."""
    counted = sa.select(sa.func.count()).select_from(memory).where(memory.c.tenant == tenant, _live(now))
    return int(link.execute(counted).scalar_one())


def memories_after(
    link: Link, tenant: str, row: int, limit: int, now: datetime
) -> list[tuple[int, MemoryEntry, list[Revision]]]:
    """The next memories of a tenant above a row, each with its row and its past states, oldest first."""
    with link.snapshot():
        # SQLite would take the tenant's index and sort all of it for every batch; a computed value has no index.
        walked = memory.c.tenant.concat("") == tenant
        statement = sa.select(*ENTRY_COLUMNS).where(walked, _live(now), memory.c.row > row)
        found = link.execute(statement.order_by(memory.c.row).limit(limit)).all()
        past: dict[int, list[Revision]] = {each[0]: [] for each in found}
        if found:
            revisions = sa.select(*REVISION_COLUMNS, memory_revision.c.memory_row).where(
                memory_revision.c.tenant == tenant,
                memory_revision.c.memory_row.between(found[0][0], found[-1][0]),
            )
            for each in link.execute(revisions.order_by(memory_revision.c.memory_row, memory_revision.c.version)):
                past.setdefault(each[-1], []).append(revision_from_row(each))
    return [(each[0], entry_from_row(each), past[each[0]]) for each in found]
