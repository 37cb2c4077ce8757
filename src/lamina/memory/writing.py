"""Changes to stored memories: each function is one step of a transaction and keeps the index in step.

An entry, its index row, its vector and its history change together or not at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, to_micros
from lamina.database.texts import RemovedListener
from lamina.errors import InvalidInputError
from lamina.index.models import StoredModel
from lamina.index.store import Indexable, ScopeKey, bury, forget, put, reschedule, touch
from lamina.index.tables import scope
from lamina.memory.provider import UpdateRequest
from lamina.memory.rows import ENTRY_COLUMNS, entry_from_row, entry_values, indexable_entry, present_state
from lamina.memory.tables import memory, memory_revision
from lamina.memory.types import MemoryEntry, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMemory:
    """An entry ready to be written, with everything computed that needs no transaction."""

    key: ScopeKey
    values: dict[str, Any]
    indexable: Indexable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """An entry as found, with its place."""

    row: int
    key: ScopeKey
    indexed: int
    scope_id: int
    entry: MemoryEntry


class IdTakenError(InvalidInputError):
    """An entry with this id exists already; use update, or leave the id out."""


_INSERT = {
    name: Prepared(insert(memory).on_conflict_do_nothing(index_elements=[memory.c.tenant, memory.c.id]))
    for name, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
# What SQLite's AUTOINCREMENT keeps: the highest number there ever was.
_LAST_ROW = Prepared(sa.text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'memory'"))
_NEXT_ROWS = Prepared(
    sa.select(sa.func.nextval(sa.literal_column("'memory_row_seq'"))).select_from(
        sa.func.generate_series(sa.literal_column("1"), sa.bindparam("count", type_=sa.Integer))
    )
)
_PLACE = (scope.c.kind, scope.c.key, scope.c.label, memory.c.indexed, memory.c.scope_id, memory.c.tenant)
_STORED = sa.select(*ENTRY_COLUMNS, *_PLACE).join_from(memory, scope, memory.c.scope_id == scope.c.id)
_FIND = {
    "sqlite": Prepared(_STORED.where(memory.c.tenant == sa.bindparam("tenant"), memory.c.id == sa.bindparam("id"))),
    "postgresql": Prepared(
        _STORED.where(memory.c.tenant == sa.bindparam("tenant"), memory.c.id == sa.bindparam("id")).with_for_update(
            of=memory
        )
    ),
}
_KEEP_REVISION = Prepared(sa.insert(memory_revision))
_UPDATE = Prepared(
    sa.update(memory)
    .where(memory.c.row == sa.bindparam("at_row"), memory.c.tenant == sa.bindparam("of_tenant"))
    .values(
        {
            name: sa.bindparam(name)
            for name in ("content", "metadata", "tags", "updated_at", "expires_at", "version", "indexed")
        }
    )
)
_DELETE = Prepared(
    sa.delete(memory).where(memory.c.row == sa.bindparam("row"), memory.c.tenant == sa.bindparam("tenant"))
)
_DELETE_REVISIONS = Prepared(
    sa.delete(memory_revision).where(
        memory_revision.c.memory_row == sa.bindparam("row"),
        memory_revision.c.tenant == sa.bindparam("tenant"),
    )
)


def insert_memories(link: Link, model: StoredModel, memories: Sequence[PreparedMemory]) -> list[int]:
    """Store new entries and give back their rows, which rise in the order given.

    Raises IdTakenError when the tenant already has one of the ids.
    """
    rows = _reserve_rows(link, len(memories))
    paired = zip(memories, rows, strict=True)
    ordered = sorted(paired, key=lambda pair: (pair[0].key.tenant, pair[0].key.key))  # one order: no deadlock
    for key, group in groupby(ordered, key=lambda pair: pair[0].key):
        members = list(group)
        place = touch(link, key, added=len(members))
        common = {"scope_id": place.scope_id, "indexed": place.version}
        values = [{**new.values, **common, "row": row} for new, row in members]
        if link.run_many(_INSERT[link.name], values) != len(values):
            raise IdTakenError
        pairs = [(row, new.indexable) for new, row in members]
        put(link, place, tenant=key.tenant, model=model.name, model_id=model.id, rows=pairs)
    return rows


def _reserve_rows(link: Link, count: int) -> list[int]:
    if link.name == "postgresql":
        return [row[0] for row in link.run(_NEXT_ROWS, {"count": count}).fetchall()]
    last = link.run(_LAST_ROW, {}).fetchone()[0]  # safe: SQLite has one writer at a time
    return list(range(last + 1, last + 1 + count))


def find_memory(link: Link, tenant: str, id: str) -> StoredMemory | None:
    """An entry to be changed in this transaction; the caller checks whether it is in reach."""
    row = link.run(_FIND[link.name], {"tenant": tenant, "id": id}).fetchone()
    return None if row is None else _stored(row)


def _stored(row: Any) -> StoredMemory:
    kind, key, label, indexed, scope_id, tenant = row[len(ENTRY_COLUMNS) :]
    return StoredMemory(
        row=row[0],
        key=ScopeKey(tenant=tenant, kind=kind, key=key, label=label),
        indexed=indexed,
        scope_id=scope_id,
        entry=entry_from_row(row),
    )


def apply_update(link: Link, model: StoredModel, stored: StoredMemory, request: UpdateRequest) -> MemoryEntry:
    """Change an entry: the old state goes to its history, the index follows where ranking is concerned."""
    old = stored.entry
    new = _changed(old, request)
    _keep_revision(link, stored)
    indexed = stored.indexed
    if new.content != old.content and request.embedding is not None:
        place = touch(link, stored.key, added=0)
        bury(link, tenant=stored.key.tenant, scope_id=place.scope_id, rows=[(stored.row, stored.indexed)])
        row = (stored.row, indexable_entry(new, request.embedding))
        put(link, place, tenant=stored.key.tenant, model=model.name, model_id=model.id, rows=[row])
        indexed = place.version
    elif new.expires_at != old.expires_at:
        place = touch(link, stored.key, added=0)
        moment = None if new.expires_at is None else new.expires_at.timestamp()
        reschedule(
            link,
            tenant=stored.key.tenant,
            scope_id=place.scope_id,
            entry=stored.row,
            indexed=stored.indexed,
            version=place.version,
            expires_at=moment,
        )
        indexed = place.version
    values = entry_values(request.tenant, new)
    changed = ("content", "metadata", "tags", "updated_at", "expires_at", "version")
    place_of = {"indexed": indexed, "at_row": stored.row, "of_tenant": request.tenant}
    link.run(_UPDATE, {**{name: values[name] for name in changed}, **place_of})
    return new


def _changed(old: MemoryEntry, request: UpdateRequest) -> MemoryEntry:
    expires_at = None if request.clear_expiry else request.expires_at or old.expires_at
    return replace(
        old,
        content=old.content if request.content is None else request.content,
        metadata=old.metadata if request.metadata is None else {**old.metadata, **request.metadata},
        tags=old.tags if request.tags is None else request.tags,
        expires_at=expires_at,
        updated_at=max(request.now, old.updated_at),  # a clock that goes back never makes an update look older
        version=old.version + 1,
    )


def _keep_revision(link: Link, stored: StoredMemory) -> None:
    put_revisions(link, stored.key.tenant, [(stored.row, present_state(stored.entry))])


def put_revisions(link: Link, tenant: str, states: Sequence[tuple[int, Revision]]) -> None:
    """Write past states of entries, given by their rows."""
    values = [
        {
            "memory_row": row,
            "version": state.version,
            "tenant": tenant,
            "content": state.content,
            "metadata": dump_json(dict(state.metadata)),
            "tags": dump_json(list(state.tags)),
            "expires_at": None if state.expires_at is None else to_micros(state.expires_at),
            "changed_at": to_micros(state.changed_at),
        }
        for row, state in states
    ]
    if values:
        link.run_many(_KEEP_REVISION, values)


def delete_memories(link: Link, found: Iterable[StoredMemory], on_removed: RemovedListener | None = None) -> int:
    """Remove entries with everything derived from them: index rows, vectors, history. How many there were.

    `on_removed` removes what other rooms derived from them, in the same transaction.
    """
    ordered = sorted(found, key=lambda stored: (stored.key.tenant, stored.key.key))
    for key, group in groupby(ordered, key=attrgetter("key")):
        members = list(group)
        place = touch(link, key, added=-len(members))
        rows = [(stored.row, stored.indexed) for stored in members]
        forget(link, tenant=key.tenant, scope_id=place.scope_id, version=place.version, rows=rows)
        gone = [{"row": stored.row, "tenant": key.tenant} for stored in members]
        link.run_many(_DELETE_REVISIONS, gone)
        link.run_many(_DELETE, gone)
        if on_removed is not None:
            on_removed(link, key.tenant, key.kind, [stored.entry.id for stored in members])
    return len(ordered)


def find_in_scopes(link: Link, tenant: str, scope_ids: Sequence[int]) -> list[StoredMemory]:
    """Every entry of some scopes, to be changed in this transaction."""
    statement = _STORED.where(memory.c.tenant == tenant, memory.c.scope_id.in_(scope_ids)).order_by(memory.c.row)
    if link.name == "postgresql":
        statement = statement.with_for_update(of=memory)
    return [_stored(row) for row in link.execute(statement)]


def find_expired(link: Link, now: int, limit: int) -> list[StoredMemory]:
    """Entries of any tenant whose time is over, soonest first."""
    statement = _STORED.where(memory.c.expires_at <= now).order_by(memory.c.expires_at).limit(limit)
    if link.name == "postgresql":
        statement = statement.with_for_update(of=memory, skip_locked=True)
    return [_stored(row) for row in link.execute(statement)]
