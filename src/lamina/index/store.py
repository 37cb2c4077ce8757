"""Writes what ranking needs, inside the transaction of the room that owns the entry.

Owners keep the version that `put` was given beside their own row: it addresses the index row when the entry
changes or goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link, Prepared
from lamina.errors import ConfigurationError
from lamina.index.tables import ACTIVE_MODEL_ID, embedding_model, index_entry, index_vector, scope
from lamina.index.terms import analyse, name_key, pack
from lamina.kernel.text import content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeKey:
    """Names a scope: `kind` is the room that owns it, `key` its partition, `label` what metrics group by."""

    tenant: str
    kind: str
    key: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexable:
    """Everything ranking will know of an entry, prepared before the transaction starts."""

    terms: bytes
    content_hash: bytes
    vector: bytes | None
    conversation: int = 0
    sequence: int = 0
    author: int = 0
    said_at: float = 0.0
    expires_at: float | None = None


def indexable(
    text: str,
    vector: NDArray[np.float32] | None,
    *,
    conversation: str | None = None,
    sequence: int | None = None,
    author: str | None = None,
    said_at: datetime | None = None,
    expires_at: datetime | None = None,
    longest: int | None = None,
) -> Indexable:
    """Analyse a text for ranking. Pure; the vector is stored in half precision.

    A text of more than `longest` words is weighed as if it had so many: a word in it would count for nothing otherwise.
    """
    terms = analyse(text)
    return Indexable(
        terms=pack(terms if longest is None else replace(terms, length=min(terms.length, longest))),
        content_hash=content_hash(text),
        vector=pack_vector(vector),
        conversation=name_key(conversation) if conversation else 0,
        sequence=sequence or 0,
        author=name_key(author) if author else 0,
        said_at=said_at.timestamp() if said_at else 0.0,
        expires_at=expires_at.timestamp() if expires_at else None,
    )


def pack_vector(vector: NDArray[np.float32] | None) -> bytes | None:
    """A vector as stored: little-endian half precision."""
    return None if vector is None else vector.astype("<f2").tobytes()


def unpack_vector(blob: bytes | None) -> NDArray[np.float32] | None:
    """A stored vector."""
    return None if blob is None else np.frombuffer(blob, "<f2").astype(np.float32)


def _touch(insert: Any) -> Prepared:
    added = sa.bindparam("added", type_=sa.BigInteger)
    statement = insert(scope).values(
        tenant=sa.bindparam("tenant"),
        kind=sa.bindparam("kind"),
        key=sa.bindparam("key"),
        label=sa.bindparam("label"),
        version=sa.literal_column("1"),
        entries=added,
    )
    return Prepared(
        statement.on_conflict_do_update(
            index_elements=[scope.c.tenant, scope.c.kind, scope.c.key],
            set_={"version": scope.c.version + sa.literal_column("1"), "entries": scope.c.entries + added},
        ).returning(scope.c.id, scope.c.version, ACTIVE_MODEL_ID)
    )


_TOUCH = {"sqlite": _touch(sqlite.insert), "postgresql": _touch(postgresql.insert)}
_PUT_ENTRY = Prepared(sa.insert(index_entry))
_PUT_VECTOR = Prepared(sa.insert(index_vector))
_DROP_ENTRY = Prepared(
    sa.delete(index_entry).where(
        index_entry.c.tenant == sa.bindparam("tenant"),
        index_entry.c.scope_id == sa.bindparam("scope_id"),
        index_entry.c.version == sa.bindparam("indexed"),
        index_entry.c.entry == sa.bindparam("entry"),
    )
)
_DROP_VECTORS = Prepared(
    sa.delete(index_vector).where(
        index_vector.c.tenant == sa.bindparam("tenant"),
        index_vector.c.scope_id == sa.bindparam("scope_id"),
        index_vector.c.entry == sa.bindparam("entry"),
    )
)
_RESCHEDULE = Prepared(
    sa.update(index_entry)
    .where(
        index_entry.c.tenant == sa.bindparam("of_tenant"),
        index_entry.c.scope_id == sa.bindparam("scope_id"),
        index_entry.c.version == sa.bindparam("indexed"),
        index_entry.c.entry == sa.bindparam("entry"),
    )
    .values(version=sa.bindparam("new"), expires_at=sa.bindparam("moment"))
)
_TOMBSTONE = {
    "terms": None,
    "conversation": 0,
    "sequence": 0,
    "author": 0,
    "said_at": 0.0,
    "expires_at": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a change goes: a scope, its new version, and the model that is active in this very transaction."""

    scope_id: int
    version: int
    model_id: int | None


def touch(link: Link, key: ScopeKey, *, added: int) -> Place:
    """Announce a change of a scope. Holds the scope's row until the commit, so versions appear in order."""
    params = {"tenant": key.tenant, "kind": key.kind, "key": key.key, "label": key.label, "added": added}
    scope_id, version, model_id = link.run(_TOUCH[link.name], params).fetchone()
    return Place(scope_id=scope_id, version=version, model_id=model_id)


def put(
    link: Link, place: Place, *, tenant: str, model: str, model_id: int, rows: Sequence[tuple[int, Indexable]]
) -> None:
    """Write the index rows and vectors of new or changed entries. For changed ones call `bury` first.

    Raises ConfigurationError when the store no longer uses the model the vectors come from.
    """
    if place.model_id != model_id:
        raise ConfigurationError(
            f"The store was re-embedded and no longer uses {model}; open it again with its new embedder.",
            details={"expected": model},
        )
    entries, vectors = [], []
    for entry, row in rows:
        common = {"tenant": tenant, "scope_id": place.scope_id, "entry": entry}
        entries.append(
            {
                **common,
                "version": place.version,
                "terms": row.terms,
                "conversation": row.conversation,
                "sequence": row.sequence,
                "author": row.author,
                "said_at": row.said_at,
                "expires_at": row.expires_at,
            }
        )
        vectors.append({**common, "model_id": model_id, "content_hash": row.content_hash, "vector": row.vector})
    link.run_many(_PUT_ENTRY, entries)
    link.run_many(_PUT_VECTOR, vectors)


def bury(link: Link, *, tenant: str, scope_id: int, rows: Sequence[tuple[int, int]]) -> None:
    """Remove the index rows and the vectors, of every model, of (entry, indexed version) pairs."""
    place = {"tenant": tenant, "scope_id": scope_id}
    link.run_many(_DROP_ENTRY, [{**place, "indexed": indexed, "entry": entry} for entry, indexed in rows])
    link.run_many(_DROP_VECTORS, [{**place, "entry": entry} for entry, _ in rows])


def forget(link: Link, *, tenant: str, scope_id: int, version: int, rows: Sequence[tuple[int, int]]) -> None:
    """`bury` for good: a tombstone tells other processes' indexes to let the entries go."""
    bury(link, tenant=tenant, scope_id=scope_id, rows=rows)
    place = {"tenant": tenant, "scope_id": scope_id, "version": version, **_TOMBSTONE}
    link.run_many(_PUT_ENTRY, [{**place, "entry": entry} for entry, _ in rows])


def reschedule(
    link: Link, *, tenant: str, scope_id: int, entry: int, indexed: int, version: int, expires_at: float | None
) -> None:
    """Change only when an entry expires; its terms and vector stay."""
    place = {"of_tenant": tenant, "scope_id": scope_id, "indexed": indexed, "entry": entry}
    link.run(_RESCHEDULE, {**place, "new": version, "moment": expires_at})


def drop_tombstones(link: Link, *, tenant: str) -> int:
    """Forget which entries were deleted; indexes older than that load anew. How many there were."""
    graves = sa.select(index_entry.c.scope_id).where(index_entry.c.tenant == tenant, index_entry.c.terms.is_(None))
    # A version of its own, which no index has reached: one that is reading right now may miss what goes.
    raised = scope.c.version + 1
    held = sa.update(scope).where(scope.c.tenant == tenant, scope.c.id.in_(graves))
    link.execute(held.values(version=raised, floor=raised))
    # Entries deleted meanwhile, in scopes not held, keep their tombstones.
    floor = sa.select(scope.c.floor).where(scope.c.id == index_entry.c.scope_id).scalar_subquery()
    gone = sa.delete(index_entry).where(
        index_entry.c.tenant == tenant, index_entry.c.terms.is_(None), index_entry.c.version <= floor
    )
    return link.execute(gone).rowcount


def clear_scope(link: Link, key: ScopeKey) -> tuple[int | None, int]:
    """Remove all a scope holds, tombstones too; its id, None for a scope there is not, and how many vectors went.

    Its row stays, empty: a scope that took over its number would be mistaken for it by the indexes of other processes.
    """
    held = (scope.c.tenant == key.tenant, scope.c.kind == key.kind, scope.c.key == key.key)
    raised = scope.c.version + 1  # a floor that no index has reached: each starts afresh
    emptied = sa.update(scope).where(*held).values(version=raised, floor=raised, entries=0).returning(scope.c.id)
    row = link.execute(emptied).first()
    if row is None:
        return None, 0
    link.execute(sa.delete(index_entry).where(index_entry.c.tenant == key.tenant, index_entry.c.scope_id == row[0]))
    # Vectors are kept by model first: without naming all models, every vector of the store would be looked at.
    vectors = sa.delete(index_vector).where(
        index_vector.c.model_id.in_(sa.select(embedding_model.c.id)),
        index_vector.c.tenant == key.tenant,
        index_vector.c.scope_id == row[0],
    )
    return int(row[0]), link.execute(vectors).rowcount


def stored_vectors(link: Link, *, tenant: str, model_id: int, hashes: Sequence[bytes]) -> dict[bytes, bytes | None]:
    """The embedding cache: vectors this tenant already has for contents with these hashes, by hash.

    Stored vectors are their own cache, so deleting the last entry with a content forgets its vector too.
    """
    rows = link.execute(
        sa.select(index_vector.c.content_hash, index_vector.c.vector).where(
            index_vector.c.content_hash.in_(hashes),
            index_vector.c.model_id == model_id,
            index_vector.c.tenant == tenant,
        )
    )
    return {bytes(row[0]): row[1] and bytes(row[1]) for row in rows}


def entry_counts(link: Link, *, kind: str) -> list[tuple[str, int]]:
    """How many entries each label has over all tenants, for the storage gauge."""
    counted = sa.select(scope.c.label, sa.func.sum(scope.c.entries)).where(scope.c.kind == kind)
    return [(row[0], int(row[1])) for row in link.execute(counted.group_by(scope.c.label))]
