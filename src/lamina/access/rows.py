"""Keys in the store. Whose secret this is, and which keys there are at all, is asked of all tenants at once.

That is what tells a caller's tenant in the first place; everything else names one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from lamina.access.tables import access_key
from lamina.access.types import Key, Right
from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.memory.types import Identifiers

_columns = access_key.c
_SHOWN = (
    _columns.id,
    _columns.tenant,
    _columns.name,
    _columns.rights,
    _columns.identifiers,
    _columns.created_at,
    _columns.expires_at,
    _columns.revoked_at,
    _columns.last_used_at,
)
_MINE = (_columns.tenant == sa.bindparam("of"), _columns.id == sa.bindparam("which"))
_ADD = Prepared(sa.insert(access_key).values({one.name: sa.bindparam(one.name) for one in (*_SHOWN, _columns.digest)}))
_GET = Prepared(sa.select(*_SHOWN).where(*_MINE))
_LIST = Prepared(sa.select(*_SHOWN).where(_columns.tenant == sa.bindparam("of")).order_by(_columns.row.desc()))
_REVOKE = Prepared(
    sa.update(access_key).where(*_MINE, _columns.revoked_at.is_(None)).values(revoked_at=sa.bindparam("at"))
)
_USE = Prepared(
    sa.update(access_key)
    .where(*_MINE, sa.or_(_columns.last_used_at.is_(None), _columns.last_used_at < sa.bindparam("at")))
    .values(last_used_at=sa.bindparam("at"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key and what is kept of its secret."""

    key: Key
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """That a key was used."""

    tenant: str
    id: str
    at: datetime


def insert_key(link: Link, key: Key, digest: bytes) -> None:
    """Store a new key."""
    link.run(
        _ADD,
        {
            "id": key.id,
            "tenant": key.tenant,
            "name": key.name,
            "rights": key.right.value,
            "identifiers": dump_json(key.identifiers.to_dict()),
            "created_at": to_micros(key.created_at),
            "expires_at": None if key.expires_at is None else to_micros(key.expires_at),
            "revoked_at": None,
            "last_used_at": None,
            "digest": digest,
        },
    )


def find_key(link: Link, tenant: str, id: str) -> Key | None:
    """A tenant's key."""
    row = link.run(_GET, {"of": tenant, "which": id}).fetchone()
    return None if row is None else _key(row)


def list_keys(link: Link, tenant: str) -> tuple[Key, ...]:
    """Every key of a tenant, newest first."""
    return tuple(map(_key, link.run(_LIST, {"of": tenant})))


def revoke_key(link: Link, tenant: str, id: str, at: datetime) -> bool:
    """Revoke a key from now on; whether it was not revoked before."""
    return link.run(_REVOKE, {"of": tenant, "which": id, "at": to_micros(at)}).rowcount > 0


def note_uses(link: Link, uses: "list[KeyUse]") -> None:
    """Keep when keys were used last."""
    # In one order in every process, so that no two wait for each other's rows.
    for use in sorted(uses, key=lambda one: one.id):
        link.run(_USE, {"of": use.tenant, "which": use.id, "at": to_micros(use.at)})


def find_bearer(link: Link, id: str) -> StoredKey | None:
    """The key of this id, whichever tenant's it is."""
    row = link.execute(sa.select(*_SHOWN, _columns.digest).where(_columns.id == id)).fetchone()
    return None if row is None else StoredKey(key=_key(row), digest=bytes(row[-1]))


def is_any_key(link: Link) -> bool:
    """Whether any tenant has a key that was not revoked."""
    return link.execute(sa.select(_columns.row).where(_columns.revoked_at.is_(None)).limit(1)).fetchone() is not None


def count_keys(link: Link, now: datetime) -> tuple[int, int]:
    """The keys of all tenants that were not revoked: those that are good, and those that have expired."""
    ends = _columns.expires_at
    live = sa.select(sa.func.count(), sa.func.count().filter(ends <= to_micros(now))).where(
        _columns.revoked_at.is_(None)
    )
    total, expired = link.execute(live).one()
    return total - expired, expired


def _key(row: Any) -> Key:
    created, expires, revoked, used = (None if at is None else from_micros(at) for at in row[5:9])
    return Key(
        id=row[0],
        tenant=row[1],
        name=row[2],
        right=Right(row[3]),
        identifiers=Identifiers(**cast(dict[str, str], load_json(row[4]))),
        created_at=cast(datetime, created),
        expires_at=expires,
        revoked_at=revoked,
        last_used_at=used,
    )
