"""Claimed requests and kept answers in the store."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.access.tables import idempotency
from lamina.database.link import Link, Prepared
from lamina.database.schema import to_micros

_columns = idempotency.c
_MINE = (
    _columns.tenant == sa.bindparam("of"),
    _columns.actor == sa.bindparam("by"),
    _columns.key == sa.bindparam("under"),
)
_HELD = (*_MINE, _columns.claim == sa.bindparam("holder"), _columns.status.is_(None))
_NEW: dict[str, Any] = {
    name: sa.bindparam(name) for name in ("tenant", "actor", "key", "request", "id", "claim", "claimed_at")
}
_CLAIM = {
    "postgresql": Prepared(postgresql.insert(idempotency).values(_NEW).on_conflict_do_nothing()),
    "sqlite": Prepared(sqlite.insert(idempotency).values(_NEW).on_conflict_do_nothing()),
}
_FIND = Prepared(
    sa.select(_columns.request, _columns.id, _columns.claim, _columns.claimed_at, _columns.status, _columns.body)
    .where(*_MINE)
    .with_for_update()
)
_TAKE_OVER = Prepared(
    sa.update(idempotency).where(*_MINE).values(claim=sa.bindparam("holder"), claimed_at=sa.bindparam("at"))
)
_RENEW = Prepared(sa.update(idempotency).where(*_HELD).values(claimed_at=sa.bindparam("at")))
_KEEP = Prepared(
    sa.update(idempotency).where(*_HELD).values(status=sa.bindparam("answered"), body=sa.bindparam("told"))
)
_LET_GO = Prepared(sa.update(idempotency).where(*_HELD).values(claim=""))
_FORGET = Prepared(sa.delete(idempotency).where(*_HELD))
_REMOVE = Prepared(sa.delete(idempotency).where(*_MINE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That somebody works on a request."""

    tenant: str
    actor: str
    key: str
    request: bytes
    id: str
    """For what the request makes."""
    holder: str
    """Who works on it; nobody while it is empty."""

    @property
    def place(self) -> dict[str, Any]:
        """Where it is kept."""
        return {"of": self.tenant, "by": self.actor, "under": self.key}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a request stands."""

    request: bytes
    id: str
    holder: str
    claimed_at: int
    status: int | None
    body: bytes


def claim_request(link: Link, claim: Claim, *, now: datetime, keep_s: float, lease_s: float) -> Found:
    """Claim a request that nobody works on; how it stands then. One whose time is over begins anew."""
    at = to_micros(now)
    found = _claimed(link, claim, at)
    if found.claimed_at <= to_micros(now - timedelta(seconds=keep_s)):
        link.run(_REMOVE, claim.place)
        return _claimed(link, claim, at)
    abandoned = not found.holder or found.claimed_at <= to_micros(now - timedelta(seconds=lease_s))
    if found.status is not None or found.request != claim.request or not abandoned:
        return found
    link.run(_TAKE_OVER, {**claim.place, "holder": claim.holder, "at": at})
    return replace(found, holder=claim.holder)


def renew_claim(link: Link, claim: Claim, *, now: datetime) -> None:
    """Say that somebody is still at work."""
    link.run(_RENEW, {**claim.place, "holder": claim.holder, "at": to_micros(now)})


def keep_answer(link: Link, claim: Claim, *, status: int, body: bytes) -> None:
    """Keep an answer, unless another took the request over."""
    link.run(_KEEP, {**claim.place, "holder": claim.holder, "answered": status, "told": body})


def release_claim(link: Link, claim: Claim, *, forget: bool) -> None:
    """Let a request go that was not answered: it may be claimed again, with its id, or is forgotten."""
    link.run(_FORGET if forget else _LET_GO, {**claim.place, "holder": claim.holder})


def sweep_answers(link: Link, *, now: datetime, keep_s: float, most: int) -> int:
    """Remove requests of any tenant whose time is over, at most so many; how many went."""
    over = sa.select(_columns.row).where(_columns.claimed_at <= to_micros(now - timedelta(seconds=keep_s))).limit(most)
    if link.name == "postgresql":
        over = over.with_for_update(skip_locked=True)
    return link.execute(sa.delete(idempotency).where(_columns.row.in_(over.scalar_subquery()))).rowcount


def _claimed(link: Link, claim: Claim, at: int) -> Found:
    values = {
        "tenant": claim.tenant,
        "actor": claim.actor,
        "key": claim.key,
        "request": claim.request,
        "id": claim.id,
        "claim": claim.holder,
        "claimed_at": at,
    }
    while True:  # one that is in the way may be gone when it is looked at
        link.run(_CLAIM[link.name], values)
        row = link.run(_FIND, claim.place).fetchone()
        if row is not None:
            return Found(
                request=bytes(row[0]),
                id=row[1],
                holder=row[2],
                claimed_at=row[3],
                status=row[4],
                body=bytes(row[5] or b""),
            )
