"""Between a memory and its row."""

from datetime import datetime
from functools import lru_cache
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.index.store import Indexable, ScopeKey, indexable
from lamina.memory.provider import Embedding
from lamina.memory.tables import memory, memory_revision
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, Metadata, Revision, Scope, Source

ENTRY_COLUMNS: tuple[sa.Column[Any], ...] = (
    memory.c.row,
    memory.c.id,
    memory.c.content,
    memory.c.layer,
    memory.c.identifiers,
    memory.c.metadata,
    memory.c.tags,
    memory.c.source,
    memory.c.created_at,
    memory.c.updated_at,
    memory.c.expires_at,
    memory.c.version,
)
"""In the order `entry_from_row` reads them."""

REVISION_COLUMNS: tuple[sa.Column[Any], ...] = (
    memory_revision.c.version,
    memory_revision.c.content,
    memory_revision.c.metadata,
    memory_revision.c.tags,
    memory_revision.c.expires_at,
    memory_revision.c.changed_at,
)


@lru_cache(maxsize=4096)
def scope_key(scope: Scope) -> ScopeKey:
    """The index's name for a scope: injective, whatever characters the identifiers hold."""
    return ScopeKey(
        tenant=scope.tenant,
        kind="memory",
        key=f"{scope.layer.value}:{dump_json(scope.identifiers.to_dict())}",
        label=scope.layer.value,
    )


def indexable_entry(entry: MemoryEntry, embedding: Embedding) -> Indexable:
    """What ranking is told of an entry."""
    source = entry.source
    return indexable(
        entry.content,
        embedding.vector,
        conversation=source.conversation if source else None,
        sequence=source.sequence if source else None,
        author=source.author if source else None,
        said_at=source.said_at if source else None,
        expires_at=entry.expires_at,
    )


def entry_values(tenant: str, entry: MemoryEntry) -> dict[str, Any]:
    """The stored form of an entry, without its place in the index."""
    return {
        "tenant": tenant,
        "id": entry.id,
        "layer": entry.layer.value,
        "identifiers": dump_json(entry.identifiers.to_dict()),
        "content": entry.content,
        "metadata": dump_json(dict(entry.metadata)),
        "tags": dump_json(list(entry.tags)),
        "source": None if entry.source is None else dump_json(_dump_source(entry.source)),
        "created_at": to_micros(entry.created_at),
        "updated_at": to_micros(entry.updated_at),
        "expires_at": _micros(entry.expires_at),
        "version": entry.version,
    }


def entry_from_row(row: Any) -> MemoryEntry:
    """An entry from a row of `ENTRY_COLUMNS`; further columns are ignored."""
    return MemoryEntry(
        id=row[1],
        content=row[2],
        layer=MemoryLayer(row[3]),
        identifiers=_load_identifiers(row[4]) if isinstance(row[4], str) else Identifiers(**row[4]),
        metadata={} if row[5] == "{}" else cast(Metadata, load_json(row[5])),
        tags=() if row[6] == "[]" else tuple(cast(list[str], load_json(row[6]))),
        source=None if row[7] is None else _load_source(load_json(row[7])),
        created_at=from_micros(row[8]),
        updated_at=from_micros(row[9]),
        expires_at=_moment(row[10]),
        version=row[11],
    )


def revision_from_row(row: Any) -> Revision:
    """A past state from a row of `REVISION_COLUMNS`."""
    return Revision(
        version=row[0],
        content=row[1],
        metadata=cast(Metadata, load_json(row[2])),
        tags=tuple(cast(list[str], load_json(row[3]))),
        expires_at=_moment(row[4]),
        changed_at=from_micros(row[5]),
    )


def present_state(entry: MemoryEntry) -> Revision:
    """The state an entry is in now, as the last line of its history."""
    return Revision(
        version=entry.version,
        content=entry.content,
        metadata=entry.metadata,
        tags=entry.tags,
        expires_at=entry.expires_at,
        changed_at=entry.updated_at,
    )


def _dump_source(source: Source) -> dict[str, object]:
    fields = {
        "kind": source.kind,
        "conversation": source.conversation,
        "sequence": source.sequence,
        "author": source.author,
        "said_at": _micros(source.said_at),
        "reference": source.reference,
    }
    return {name: value for name, value in fields.items() if value is not None}


@lru_cache(maxsize=4096)
def _load_identifiers(text: str) -> Identifiers:
    """The same object for the same text: entries of a scope share theirs."""
    return Identifiers(**cast(dict[str, str], load_json(text)))


def _load_source(value: object) -> Source:
    fields = cast(dict[str, Any], value)
    return Source(**{**fields, "said_at": _moment(fields.get("said_at"))})


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
