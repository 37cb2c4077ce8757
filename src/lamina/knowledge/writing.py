"""Changes to stored knowledge: each function is one step of a transaction and keeps the index in step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import to_micros
from lamina.database.slots import Slot, reserve_slot
from lamina.errors import ProviderError
from lamina.index.late import put_terms
from lamina.index.store import Indexable, Place, bury, forget, touch
from lamina.knowledge.rows import ENTRY_COLUMNS, entry_from_row, entry_values, knowledge_scope
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.statements import find_to_change, insert_unless_taken, update_row
from lamina.knowledge.tables import knowledge, knowledge_version
from lamina.knowledge.types import Category, KnowledgeEntry, Origin, Outcome

START_RELEVANCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest:
    """What a caller wants to be known, checked; tags and source of None leave what is there."""

    tenant: str
    key: str
    category: Category
    content: str
    tags: tuple[str, ...] | None
    source: str | None
    origin: Origin
    now: datetime
    indexable: Indexable
    model_id: int | None
    """Where the vector in `indexable` comes from; None when it follows later."""
    slot: Slot | None
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """An entry after a save, and its row."""

    row: int
    entry: KnowledgeEntry
    outcome: Outcome


class KeyTakenError(ProviderError):
    """Another process saved the same new key at this moment; try again."""


_INSERT = insert_unless_taken(knowledge, knowledge.c.tenant, knowledge.c.key)
_UPDATE = update_row(knowledge)
_FIND = find_to_change(knowledge, ENTRY_COLUMNS, knowledge.c.key)
_KEEP_VERSION = Prepared(sa.insert(knowledge_version))
_DELETE = Prepared(
    sa.delete(knowledge).where(knowledge.c.row == sa.bindparam("row"), knowledge.c.tenant == sa.bindparam("tenant"))
)
_DELETE_VERSIONS = Prepared(
    sa.delete(knowledge_version).where(
        knowledge_version.c.knowledge_row == sa.bindparam("row"), knowledge_version.c.tenant == sa.bindparam("tenant")
    )
)


def save_entry(link: Link, request: SaveRequest) -> Saved:
    """Store a first or a further version; the same content and category make none.

    Raises RateLimitedError when a new key finds no slot left, and KeyTakenError when another transaction was first.
    """
    found = link.run(_FIND[link.name], {"tenant": request.tenant, "name": request.key}).fetchone()
    if found is None:
        return _create(link, request)
    old = entry_from_row(found)
    if (old.content, old.category) == (request.content, request.category):
        return _annotate(link, found[0], found[1], old, request)
    new = replace(
        old,
        category=request.category,
        content=request.content,
        tags=old.tags if request.tags is None else request.tags,
        source=old.source if request.source is None else request.source,
        origin=request.origin,
        version=old.version + 1,
        updated_at=max(request.now, old.updated_at),  # a clock that goes back never makes a version look older
    )
    place = touch(link, knowledge_scope(request.tenant), added=0)
    bury(link, tenant=request.tenant, scope_id=place.scope_id, rows=[(found[0], found[1])])
    _index(link, place, found[0], request)
    _update(link, found[0], place.version, request.tenant, new)
    _keep_version(link, request.tenant, found[0], new)
    return Saved(row=found[0], entry=new, outcome="changed")


def _create(link: Link, request: SaveRequest) -> Saved:
    if request.slot is not None:
        reserve_slot(link, request.slot, most=request.most)
    entry = KnowledgeEntry(
        key=request.key,
        category=request.category,
        content=request.content,
        tags=request.tags or (),
        source=request.source,
        origin=request.origin,
        version=1,
        relevance=START_RELEVANCE,
        use_count=0,
        created_at=request.now,
        updated_at=request.now,
        last_used_at=None,
    )
    place = touch(link, knowledge_scope(request.tenant), added=1)
    values = {**entry_values(request.tenant, entry), "scope_id": place.scope_id, "indexed": place.version}
    inserted = link.run(_INSERT[link.name], values).fetchone()
    if inserted is None:
        raise KeyTakenError
    _index(link, place, inserted[0], request)
    _keep_version(link, request.tenant, inserted[0], entry)
    return Saved(row=inserted[0], entry=entry, outcome="created")


def _index(link: Link, place: Place, row: int, request: SaveRequest) -> None:
    put_terms(link, place, tenant=request.tenant, rows=[(row, request.indexable)], model_id=request.model_id)


def _annotate(link: Link, row: int, indexed: int, old: KnowledgeEntry, request: SaveRequest) -> Saved:
    """New tags or another source for the same version; who said it first stays, unless the user says it now."""
    new = replace(
        old,
        tags=old.tags if request.tags is None else request.tags,
        source=old.source if request.source is None else request.source,
        origin=Origin.USER if request.origin is Origin.USER else old.origin,
    )
    if new == old:
        return Saved(row=row, entry=old, outcome="unchanged")
    _update(link, row, indexed, request.tenant, new)
    return Saved(row=row, entry=new, outcome="annotated")


def _update(link: Link, row: int, indexed: int, tenant: str, entry: KnowledgeEntry) -> None:
    values = {**entry_values(tenant, entry), "indexed": indexed}
    link.run(_UPDATE, {**values, "at_row": row, "of_tenant": tenant})


def _keep_version(link: Link, tenant: str, row: int, entry: KnowledgeEntry) -> None:
    values = entry_values(tenant, entry)
    kept = {name: values[name] for name in ("version", "tenant", "category", "content", "tags", "source", "origin")}
    link.run(_KEEP_VERSION, {**kept, "knowledge_row": row, "saved_at": values["updated_at"]})


def delete_entry(link: Link, tenant: str, key: str) -> bool:
    """Remove a key with all its versions and its index rows; whether it was there."""
    found = link.run(_FIND[link.name], {"tenant": tenant, "name": key}).fetchone()
    if found is None:
        return False
    place = touch(link, knowledge_scope(tenant), added=-1)
    forget(link, tenant=tenant, scope_id=place.scope_id, version=place.version, rows=[(found[0], found[1])])
    gone = {"row": found[0], "tenant": tenant}
    link.run(_DELETE_VERSIONS, gone)
    link.run(_DELETE, gone)
    return True


def count_use(link: Link, tenant: str, keys: Sequence[str], now: datetime, settings: KnowledgeSettings) -> int:
    """Count one use of each key and raise its relevance, within bounds; how many of them there are."""
    rows = _held(link, tenant, knowledge.c.key.in_(keys))
    change = _moved(settings.relevance_boost, settings)
    statement = sa.update(knowledge).where(knowledge.c.tenant == tenant, knowledge.c.row.in_(rows))
    link.execute(statement.values(use_count=knowledge.c.use_count + 1, relevance=change, last_used_at=to_micros(now)))
    return len(rows)


def shift_relevance(
    link: Link, tenant: str, delta: float, settings: KnowledgeSettings, *, keys: Sequence[str] | None = None
) -> int:
    """Move relevance scores by `delta`, of all keys or of some, within bounds; how many keys there are."""
    rows = _held(link, tenant, sa.true() if keys is None else knowledge.c.key.in_(keys))
    condition = knowledge.c.row.in_(rows) if keys is not None else sa.true()
    link.execute(
        sa.update(knowledge).where(knowledge.c.tenant == tenant, condition).values(relevance=_moved(delta, settings))
    )
    return len(rows)


def _moved(delta: float, settings: KnowledgeSettings) -> sa.ColumnElement[float]:
    """Clamped in the same statement, so that no sequence of changes leaves the bounds, and old values are repaired."""
    moved = knowledge.c.relevance + delta
    low, high = settings.relevance_floor, settings.relevance_ceiling
    return sa.case((moved > high, high), (moved < low, low), else_=moved)


def _held(link: Link, tenant: str, condition: sa.ColumnElement[bool]) -> list[int]:
    """Rows in ascending order, locked on PostgreSQL: two callers with the same keys never wait for each other."""
    statement = sa.select(knowledge.c.row).where(knowledge.c.tenant == tenant, condition).order_by(knowledge.c.row)
    if link.name == "postgresql":
        statement = statement.with_for_update()
    return list(link.execute(statement).scalars())
