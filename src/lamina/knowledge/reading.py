"""Reads of stored knowledge and references, each on one view of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import Link, Prepared, number_list
from lamina.database.schema import to_micros
from lamina.index.ranking import Ranked
from lamina.index.search import Allowed, RankedRow, Rankings, Search, Wanted
from lamina.index.signals import Explanation
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.knowledge.ranking import lifted
from lamina.knowledge.rows import (
    ENTRY_COLUMNS,
    REFERENCE_COLUMNS,
    VERSION_COLUMNS,
    entry_from_row,
    knowledge_scope,
    reference_from_row,
    reference_scope,
    version_from_row,
)
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.statements import select_rows
from lamina.knowledge.tables import external_reference, knowledge, knowledge_version
from lamina.knowledge.types import (
    Category,
    KnowledgeEntry,
    KnowledgeHit,
    KnowledgePage,
    KnowledgeVersion,
    Reference,
    ReferenceHit,
    ReferencePage,
    ReferenceType,
)

_POOL = 3
"""So many times the limit are ranked by their text before use and age choose among them."""

_GET = Prepared(
    sa.select(*ENTRY_COLUMNS).where(
        knowledge.c.tenant == sa.bindparam("tenant"), knowledge.c.key == sa.bindparam("name")
    )
)
_GET_REFERENCE = Prepared(
    sa.select(*REFERENCE_COLUMNS).where(
        external_reference.c.tenant == sa.bindparam("tenant"), external_reference.c.name == sa.bindparam("name")
    )
)
_VERSIONS = Prepared(
    sa.select(*VERSION_COLUMNS)
    .join_from(knowledge_version, knowledge, knowledge_version.c.knowledge_row == knowledge.c.row)
    .where(
        knowledge.c.tenant == sa.bindparam("tenant"),
        knowledge.c.key == sa.bindparam("name"),
        knowledge_version.c.tenant == knowledge.c.tenant,
    )
    .order_by(knowledge_version.c.version.desc())
)
_BY_ROWS = select_rows(knowledge, ENTRY_COLUMNS)
_REFERENCES_BY_ROWS = select_rows(external_reference, REFERENCE_COLUMNS)


def get_entry(link: Link, tenant: str, key: str) -> KnowledgeEntry | None:
    """The latest version of a key."""
    row = link.run(_GET, {"tenant": tenant, "name": key}).fetchone()
    return None if row is None else entry_from_row(row)


def get_versions(link: Link, tenant: str, key: str) -> tuple[KnowledgeVersion, ...]:
    """Every version of a key, newest first; empty for a key there is not."""
    return tuple(map(version_from_row, link.run(_VERSIONS, {"tenant": tenant, "name": key}).fetchall()))


def get_reference(link: Link, tenant: str, name: str) -> Reference | None:
    """The reference of a name."""
    row = link.run(_GET_REFERENCE, {"tenant": tenant, "name": name}).fetchone()
    return None if row is None else reference_from_row(row)


def entry_search(
    tenant: str,
    *,
    category: Category | None,
    limit: int,
    threshold: float,
    now: datetime,
    settings: KnowledgeSettings,
) -> Search[list[RankedRow]]:
    """Finds the rows of entries that fit best by text, use and age; a category chooses before anything is cut off."""
    allowed = None if category is None else _rows_where(_OF_CATEGORY, tenant, category.value)

    def finish(link: Link, rankings: Rankings) -> list[RankedRow]:
        (ranked,) = rankings
        return [] if ranked is None else _best_entries(link, tenant, ranked, limit=limit, now=now, settings=settings)

    wanted = Wanted(
        scope=knowledge_scope(tenant), limit=limit * _POOL, threshold=threshold, allowed=allowed, counted=False
    )
    return Search(wanted=(wanted,), finish=finish)


def _best_entries(
    link: Link, tenant: str, ranked: Ranked, *, limit: int, now: datetime, settings: KnowledgeSettings
) -> list[RankedRow]:
    entries = ranked.entries.tolist()
    if not entries:
        return []
    params = {"rows": number_list(entries, link.name), "tenant": tenant}
    read = {row[0]: row for row in link.run(_BY_ROWS[link.name], params).fetchall()}
    # On PostgreSQL an entry can go between ranking and reading.
    places = [place for place, entry in enumerate(entries) if entry in read]
    rows = [read[entries[place]] for place in places]
    lift = lifted(
        ranked.evidence[places],
        full=ranked.full,
        relevance=np.array([row[9] for row in rows], np.float32),
        age_micros=to_micros(now) - np.array([row[12] for row in rows], np.int64),
        settings=settings,
    )
    best = lift.order[:limit]
    parts = zip(*(part[best].tolist() for part in (lift.scores, lift.use, lift.recency)), strict=True)
    return [
        RankedRow(rows[at], score, Explanation(ranked.signals, places[at], {"use": use, "recency": recency}))
        for at, (score, use, recency) in zip(best.tolist(), parts, strict=True)
    ]


def entry_hits(found: Sequence[RankedRow]) -> tuple[KnowledgeHit, ...]:
    """What `entry_search` found, as callers get it."""
    return tuple(KnowledgeHit(entry=entry_from_row(row), score=score, explain=why) for row, score, why in found)


def reference_search(
    tenant: str, *, type: ReferenceType | None, limit: int, threshold: float
) -> Search[list[RankedRow]]:
    """Finds the rows of references whose name and summary fit best."""
    allowed = None if type is None else _rows_where(_OF_TYPE, tenant, type.value)

    def finish(link: Link, rankings: Rankings) -> list[RankedRow]:
        (ranked,) = rankings
        entries = [] if ranked is None else ranked.entries.tolist()
        if ranked is None or not entries:
            return []
        params = {"rows": number_list(entries, link.name), "tenant": tenant}
        read = {row[0]: row for row in link.run(_REFERENCES_BY_ROWS[link.name], params).fetchall()}
        return [
            RankedRow(read[entry], score, Explanation(ranked.signals, at))
            for at, (entry, score) in enumerate(zip(entries, ranked.scores.tolist(), strict=True))
            if entry in read
        ]

    wanted = Wanted(scope=reference_scope(tenant), limit=limit, threshold=threshold, allowed=allowed, counted=False)
    return Search(wanted=(wanted,), finish=finish)


def reference_hits(found: Sequence[RankedRow]) -> tuple[ReferenceHit, ...]:
    """What `reference_search` found, as callers get it."""
    return tuple(ReferenceHit(reference=reference_from_row(row), score=score, explain=why) for row, score, why in found)


def _rows_of(column: sa.Column[Any]) -> Prepared:
    table = column.table
    chosen = sa.select(table.c.row).where(table.c.tenant == sa.bindparam("tenant"), column == sa.bindparam("value"))
    return Prepared(chosen)


_OF_CATEGORY = _rows_of(knowledge.c.category)
_OF_TYPE = _rows_of(external_reference.c.type)


def _rows_where(chosen: Prepared, tenant: str, value: str) -> Allowed:
    def rows(link: Link, _scope_id: int) -> NDArray[np.int64]:
        found = link.run(chosen, {"tenant": tenant, "value": value}).fetchall()
        return np.fromiter((row[0] for row in found), np.int64, count=len(found))

    return rows


def list_entries(
    link: Link, tenant: str, *, category: Category | None, limit: int, cursor: str | None
) -> KnowledgePage:
    """One page of a tenant's knowledge, newest key first."""
    conditions = [] if category is None else [knowledge.c.category == category.value]
    listing = ["knowledge", tenant, category]
    rows, total, following = _page(link, knowledge, ENTRY_COLUMNS, tenant, conditions, limit, cursor, listing)
    return KnowledgePage(entries=tuple(map(entry_from_row, rows)), next_cursor=following, total_count=total)


def list_references(
    link: Link, tenant: str, *, type: ReferenceType | None, limit: int, cursor: str | None
) -> ReferencePage:
    """One page of a tenant's references, newest name first."""
    conditions = [] if type is None else [external_reference.c.type == type.value]
    listing = ["reference", tenant, type]
    rows, total, following = _page(
        link, external_reference, REFERENCE_COLUMNS, tenant, conditions, limit, cursor, listing
    )
    return ReferencePage(references=tuple(map(reference_from_row, rows)), next_cursor=following, total_count=total)


def _page(
    link: Link,
    table: sa.Table,
    columns: tuple[sa.Column[Any], ...],
    tenant: str,
    conditions: list[sa.ColumnElement[bool]],
    limit: int,
    cursor: str | None,
    listing: list[Any],
) -> tuple[list[Any], int, str | None]:
    mark = fingerprint(listing)
    wanted = [table.c.tenant == tenant, *conditions]
    total = link.execute(sa.select(sa.func.count()).select_from(table).where(*wanted)).scalar_one()
    if cursor is not None:
        wanted.append(table.c.row < decode_cursor(cursor, mark, operation="list"))
    found = link.execute(sa.select(*columns).where(*wanted).order_by(table.c.row.desc()).limit(limit + 1)).all()
    shown = list(found[:limit])
    return shown, int(total), encode_cursor(shown[-1][0], mark) if len(found) > limit else None
