"""Stored skills: each function is one step of a transaction, or one read, and keeps the index in step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import DialectName, Link, Prepared, any_of, number_list, unindexed
from lamina.database.schema import to_micros
from lamina.database.slots import Slot, reserve_slot
from lamina.errors import InvalidInputError
from lamina.index.engine import SearchEngine
from lamina.index.late import put_terms
from lamina.index.query import Query
from lamina.index.ranking import Ranked
from lamina.index.search import RankedRow, Rankings, Search, Wanted
from lamina.index.signals import Explanation
from lamina.index.store import Indexable, bury, forget, touch
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.skill.rows import (
    COLUMNS,
    STATUS,
    VERSION_COLUMNS,
    skill_from_row,
    skill_scope,
    skill_values,
    version_from_row,
)
from lamina.skill.tables import skill, skill_version
from lamina.skill.types import Draft, Skill, SkillHit, SkillOrigin, SkillPage, SkillStatus, SkillType, SkillVersion

_POOL = 2
"""So many times the limit are ranked before their status chooses, which mostly spares asking for all that have it."""

_VALUES: dict[str, Any] = {column.name: sa.bindparam(column.name) for column in skill.c if column.name != "row"}
# Prepared, because the values are in their stored form already: JSON is text here on both engines.
INSERT = {
    name: Prepared(
        insert(skill)
        .values(_VALUES)
        .on_conflict_do_nothing(index_elements=[skill.c.tenant, skill.c.name])
        .returning(skill.c.row)
    )
    for name, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
_UPDATE = Prepared(
    sa.update(skill)
    .where(skill.c.row == sa.bindparam("at_row"), skill.c.tenant == sa.bindparam("of_tenant"))
    .values({name: bound for name, bound in _VALUES.items() if name != "scope_id"})
)
KEEP_VERSION = Prepared(sa.insert(skill_version))
_OF_STATUS = Prepared(
    sa.select(skill.c.row).where(skill.c.tenant == sa.bindparam("tenant"), skill.c.status == sa.bindparam("status"))
)


def _by_rows(dialect: DialectName) -> Prepared:
    return Prepared(
        sa.select(*COLUMNS).where(
            any_of(skill.c.row, "rows", dialect), unindexed(skill.c.tenant, dialect) == sa.bindparam("tenant")
        )
    )


_BY_ROWS = {"sqlite": _by_rows("sqlite"), "postgresql": _by_rows("postgresql")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest:
    """A checked draft and all that is stored with it."""

    tenant: str
    draft: Draft
    status: SkillStatus
    requires_approval: bool
    created_by: str
    origin: SkillOrigin
    now: datetime
    indexable: Indexable
    model_id: int | None


def insert_skill(link: Link, request: SaveRequest, slot: Slot, *, most: int) -> tuple[int, Skill]:
    """Store a first version. Raises RateLimitedError without a slot left, InvalidInputError when the name is taken."""
    if _find(link, request.tenant, request.draft.name) is not None:
        raise _taken(request.draft.name)
    reserve_slot(link, slot, most=most)
    new = Skill(
        **_fields(request.draft),
        version=1,
        status=request.status,
        requires_approval=request.requires_approval,
        created_by=request.created_by,
        decided_by=None,
        origin=request.origin,
        use_count=0,
        success_count=0,
        created_at=request.now,
        updated_at=request.now,
        last_used_at=None,
    )
    place = touch(link, skill_scope(request.tenant), added=1)
    values = {**skill_values(request.tenant, new), "scope_id": place.scope_id, "indexed": place.version}
    inserted = link.run(INSERT[link.name], values).fetchone()
    if inserted is None:
        raise _taken(new.name)
    row = int(inserted[0])
    put_terms(link, place, tenant=request.tenant, rows=[(row, request.indexable)], model_id=request.model_id)
    _keep_version(link, request, row, new)
    return row, new


def change_skill(link: Link, request: SaveRequest) -> tuple[int, Skill, bool] | None:
    """Store a further version, which starts again as what the request says; whether anything differs.

    None when there is no such skill.
    """
    found = _find(link, request.tenant, request.draft.name, hold=True)
    if found is None:
        return None
    old = skill_from_row(found)
    fields = _fields(request.draft)
    if all(getattr(old, name) == value for name, value in fields.items()):
        return found[0], old, False
    new = replace(
        old,
        **fields,
        version=old.version + 1,
        status=request.status,
        requires_approval=request.requires_approval,
        decided_by=None,
        origin=request.origin,
        updated_at=max(request.now, old.updated_at),
    )
    place = touch(link, skill_scope(request.tenant), added=0)
    bury(link, tenant=request.tenant, scope_id=place.scope_id, rows=[(found[0], found[1])])
    put_terms(link, place, tenant=request.tenant, rows=[(found[0], request.indexable)], model_id=request.model_id)
    values = {**skill_values(request.tenant, new), "indexed": place.version}
    link.run(_UPDATE, {**values, "at_row": found[0], "of_tenant": request.tenant})
    _keep_version(link, request, found[0], new)
    return found[0], new, True


def decide_skill(link: Link, tenant: str, name: str, status: SkillStatus, by: str, version: int | None) -> Skill | None:
    """Approve or reject; None when there is no such skill.

    Raises InvalidInputError when another version than the one decided on is there now.
    """
    found = _find(link, tenant, name, hold=True)
    if found is None:
        return None
    old = skill_from_row(found)
    if version is not None and version != old.version:
        raise InvalidInputError(
            f"The skill {name} is at version {old.version} now, not {version}; look at it again.",
            details={"field": "version", "version": old.version},
        )
    changed = sa.update(skill).where(skill.c.row == found[0], skill.c.tenant == tenant)
    link.execute(changed.values(status=status.value, decided_by=by))
    return replace(old, status=status, decided_by=by)


def count_run(link: Link, tenant: str, name: str, *, success: bool, now: datetime) -> bool:
    """Count one use in one statement, so that none is lost; whether there is such a skill."""
    counted = sa.update(skill).where(skill.c.tenant == tenant, skill.c.name == name)
    values = {"use_count": skill.c.use_count + 1, "success_count": skill.c.success_count + int(success)}
    return link.execute(counted.values(**values, last_used_at=to_micros(now))).rowcount > 0


def delete_skill(link: Link, tenant: str, name: str) -> bool:
    """Remove a skill with all its versions and its index rows; whether it was there."""
    found = _find(link, tenant, name, hold=True)
    if found is None:
        return False
    place = touch(link, skill_scope(tenant), added=-1)
    forget(link, tenant=tenant, scope_id=place.scope_id, version=place.version, rows=[(found[0], found[1])])
    link.execute(
        sa.delete(skill_version).where(skill_version.c.skill_row == found[0], skill_version.c.tenant == tenant)
    )
    link.execute(sa.delete(skill).where(skill.c.row == found[0], skill.c.tenant == tenant))
    return True


def get_skill(link: Link, tenant: str, name: str) -> Skill | None:
    """The latest version of a skill."""
    found = _find(link, tenant, name)
    return None if found is None else skill_from_row(found)


def get_versions(link: Link, tenant: str, name: str) -> tuple[SkillVersion, ...]:
    """Every version of a skill, newest first."""
    statement = (
        sa.select(*VERSION_COLUMNS)
        .join_from(skill_version, skill, skill_version.c.skill_row == skill.c.row)
        .where(skill.c.tenant == tenant, skill_version.c.tenant == tenant, skill.c.name == name)
        .order_by(skill_version.c.version.desc())
    )
    return tuple(map(version_from_row, link.execute(statement)))


def active_skills(link: Link, tenant: str) -> tuple[Skill, ...]:
    """Every active skill, by name."""
    chosen = sa.select(*COLUMNS).where(skill.c.tenant == tenant, skill.c.status == SkillStatus.ACTIVE.value)
    return tuple(map(skill_from_row, link.execute(chosen.order_by(skill.c.name))))


def list_skills(
    link: Link,
    tenant: str,
    *,
    status: SkillStatus | None,
    type: SkillType | None,
    limit: int,
    cursor: str | None,
) -> SkillPage:
    """One page of a tenant's skills, newest name first."""
    mark = fingerprint(["skill", tenant, status, type])
    wanted = [skill.c.tenant == tenant]
    if status is not None:
        wanted.append(skill.c.status == status.value)
    if type is not None:
        wanted.append(skill.c.type == type.value)
    total = link.execute(sa.select(sa.func.count()).select_from(skill).where(*wanted)).scalar_one()
    if cursor is not None:
        wanted.append(skill.c.row < decode_cursor(cursor, mark, operation="skill_list"))
    found = link.execute(sa.select(*COLUMNS).where(*wanted).order_by(skill.c.row.desc()).limit(limit + 1)).all()
    shown = found[:limit]
    following = encode_cursor(shown[-1][0], mark) if len(found) > limit else None
    return SkillPage(skills=tuple(map(skill_from_row, shown)), next_cursor=following, total_count=int(total))


def skill_search(
    engine: SearchEngine,
    tenant: str,
    query: Query,
    *,
    status: SkillStatus | None,
    limit: int,
    threshold: float,
    now: datetime,
) -> Search[list[RankedRow]]:
    """Finds the rows of skills whose name and description fit best; a status chooses before anything is cut off."""
    pool = limit if status is None else limit * _POOL
    wanted = Wanted(scope=skill_scope(tenant), limit=pool, threshold=threshold, counted=False)

    def with_status(link: Link, _scope_id: int) -> NDArray[np.int64]:
        assert status is not None
        found = link.run(_OF_STATUS, {"tenant": tenant, "status": status.value}).fetchall()
        return np.fromiter(chain.from_iterable(found), np.int64, count=len(found))

    def finish(link: Link, rankings: Rankings) -> list[RankedRow]:
        (ranked,) = rankings
        hits = _hits(link, tenant, ranked, status, limit)
        if status is not None and len(hits) < limit and ranked is not None and len(ranked.entries) == wanted.limit:
            # Others have it further down: ask for all that do, and rank only those.
            (ranked,) = engine.rank_all(
                link, [wanted._replace(limit=limit, allowed=with_status)], query, now=now.timestamp()
            )
            hits = _hits(link, tenant, ranked, status, limit)
        return hits

    return Search(wanted=(wanted,), finish=finish)


def _hits(link: Link, tenant: str, ranked: Ranked | None, status: SkillStatus | None, limit: int) -> list[RankedRow]:
    entries = [] if ranked is None else ranked.entries.tolist()
    if ranked is None or not entries:
        return []
    params = {"rows": number_list(entries, link.name), "tenant": tenant}
    read = {row[0]: row for row in link.run(_BY_ROWS[link.name], params).fetchall()}
    # On PostgreSQL an entry can go between ranking and reading.
    found = (
        RankedRow(read[entry], score, Explanation(ranked.signals, at))
        for at, (entry, score) in enumerate(zip(entries, ranked.scores.tolist(), strict=True))
        if entry in read and (status is None or read[entry][STATUS] == status.value)
    )
    return list(islice(found, limit))


def skill_hits(found: Sequence[RankedRow]) -> tuple[SkillHit, ...]:
    """What `skill_search` found, as callers get it."""
    return tuple(SkillHit(skill=skill_from_row(row), score=score, signals=why) for row, score, why in found)


def _find(link: Link, tenant: str, name: str, *, hold: bool = False) -> Any:
    statement = sa.select(*COLUMNS).where(skill.c.tenant == tenant, skill.c.name == name)
    if hold and link.name == "postgresql":  # a SQLite writer is alone anyway
        statement = statement.with_for_update()
    return link.execute(statement).one_or_none()


def _keep_version(link: Link, request: SaveRequest, row: int, new: Skill) -> None:
    stored = skill_values(request.tenant, new)
    same = ("version", "tenant", "description", "type", "definition", "parameters", "metadata")
    kept = {name: stored[name] for name in same}
    link.run(
        KEEP_VERSION,
        {**kept, "created_by": request.created_by, "skill_row": row, "saved_at": stored["updated_at"]},
    )


def _fields(draft: Draft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in Draft.__slots__}


def _taken(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"There is a skill named {name} already; update it, or choose another name.",
        details={"field": "name", "taken": True},
    )
