"""Entries whose terms are written at once and whose vectors follow.

A room stores an entry with `put_terms`, so that it is found by its words right away. Whoever has computed the
vector calls `add_vectors`: the index row moves to a new version of its scope, which makes every index read it again,
and the room that owns the entry notes the new version beside its own row (see `store`).

Locks are taken in one order everywhere, so that nothing can deadlock: the owner's rows by number, then the scope.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link, Prepared
from lamina.errors import ConfigurationError
from lamina.index.store import Indexable, Place, ScopeKey, touch
from lamina.index.tables import index_entry, index_vector
from lamina.kernel.text import content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEntry:
    """An entry as its owner has it now: its place in the index and the text its vector is made from."""

    entry: int
    key: ScopeKey
    indexed: int
    text: str


class LateOwner(Protocol):
    """A room whose entries get their vectors late."""

    def hold(self, link: Link, tenant: str, entries: Sequence[int]) -> list[HeldEntry]:
        """Those of the entries that exist, locked until the commit, ascending."""
        ...

    def moved(self, link: Link, tenant: str, entries: Sequence[int], version: int) -> None:
        """Note the scope version under which the entries' index rows are now kept."""
        ...


_PUT_ENTRY = Prepared(sa.insert(index_entry))
_MOVE = Prepared(
    sa.update(index_entry)
    .where(
        index_entry.c.tenant == sa.bindparam("of_tenant"),
        index_entry.c.scope_id == sa.bindparam("scope_id"),
        index_entry.c.version == sa.bindparam("indexed"),
        index_entry.c.entry == sa.bindparam("entry"),
    )
    .values(version=sa.bindparam("new"))
)
_PUT_VECTOR = {
    name: Prepared(insert(index_vector).on_conflict_do_nothing())
    for name, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}


def put_terms(
    link: Link, place: Place, *, tenant: str, rows: Sequence[tuple[int, Indexable]], model_id: int | None = None
) -> None:
    """Write the index rows of new or changed entries; their vectors too when `model_id` says where they come from.

    For changed entries call `bury` first. Raises ConfigurationError when the store no longer uses that model.
    """
    values = [
        {
            "tenant": tenant,
            "scope_id": place.scope_id,
            "version": place.version,
            "entry": entry,
            "terms": row.terms,
            "conversation": row.conversation,
            "sequence": row.sequence,
            "author": row.author,
            "said_at": row.said_at,
            "expires_at": row.expires_at,
        }
        for entry, row in rows
    ]
    if values:
        link.run_many(_PUT_ENTRY, values)
    if values and model_id is not None:
        vectors = [(entry, row.content_hash, row.vector) for entry, row in rows]
        _put_vectors(link, place, tenant, model_id, vectors)


def _put_vectors(
    link: Link, place: Place, tenant: str, model_id: int, vectors: Sequence[tuple[int, bytes, bytes | None]]
) -> None:
    if place.model_id != model_id:
        raise ConfigurationError(
            "The store was re-embedded meanwhile and no longer uses this model; open it again with its new embedder."
        )
    common = {"model_id": model_id, "scope_id": place.scope_id, "tenant": tenant}
    rows = [{**common, "entry": entry, "content_hash": digest, "vector": vector} for entry, digest, vector in vectors]
    link.run_many(_PUT_VECTOR[link.name], rows)


def add_vectors(
    link: Link,
    owner: LateOwner,
    *,
    tenant: str,
    model_id: int,
    vectors: Mapping[int, tuple[bytes, bytes | None]],
) -> int:
    """Store vectors by entry, each with the hash of the text it was made from; how many were still wanted.

    An entry that is gone, or whose text has changed since, is passed over: the change queued a job of its own.
    Raises ConfigurationError when the store no longer uses the model.
    """
    held = [
        item for item in owner.hold(link, tenant, sorted(vectors)) if content_hash(item.text) == vectors[item.entry][0]
    ]
    for key, group in groupby(sorted(held, key=lambda item: (item.key.kind, item.key.key, item.entry)), _scope):
        members = list(group)
        place = touch(link, key, added=0)
        _put_vectors(link, place, tenant, model_id, [(item.entry, *vectors[item.entry]) for item in members])
        at = {"of_tenant": tenant, "scope_id": place.scope_id, "new": place.version}
        link.run_many(_MOVE, [{**at, "indexed": item.indexed, "entry": item.entry} for item in members])
        owner.moved(link, tenant, [item.entry for item in members], place.version)
    return len(held)


def _scope(item: HeldEntry) -> ScopeKey:
    return item.key
