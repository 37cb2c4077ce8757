"""How far a session was observed, and who may go on: a lease, and compare-and-swap on everything that is committed.

The lease spares work: while one process observes a session, another leaves it alone. Correctness does not hang on it,
because every commit names the version it was made from: whoever lost the lease, or the session, changes nothing. A
lease whose holder went silent is taken over when its time is up, and also when it was taken in what is now the future:
then the clock was set back. Locks are taken in one order: the session's row, then its state.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link, Prepared
from lamina.database.schema import from_micros, to_micros
from lamina.observation.tables import note, observation_state
from lamina.observation.types import Spent
from lamina.session.reading import StoredSession, find_session

_c = observation_state.c
_COLUMNS = (
    _c.watermark,
    _c.observed_tokens,
    _c.version,
    _c.unsettled,
    _c.provisional,
    _c.lease_owner,
    _c.leased_at,
    _c.lease_until,
    _c.failures,
    _c.last_error,
    _c.next_attempt_at,
    _c.reflect_failures,
    _c.reflect_at,
    _c.reflect_tried,
    _c.consolidate_tried,
    _c.rewrite_failures,
    _c.rewrite_at,
)
_PLACE = (_c.tenant == sa.bindparam("of_tenant"), _c.session_row == sa.bindparam("of_session"))
_READ = Prepared(sa.select(*_COLUMNS).where(*_PLACE))


def _create(insert: Any) -> Prepared:
    values: dict[str, Any] = {c.name: sa.null() if c.nullable else sa.literal_column("0") for c in _c}
    values |= {"tenant": sa.bindparam("tenant"), "session_row": sa.bindparam("session_row")}
    return Prepared(insert(observation_state).values(values).on_conflict_do_nothing())


_CREATE = {"sqlite": _create(sqlite.insert), "postgresql": _create(postgresql.insert)}
_NOW = sa.bindparam("now", type_=sa.BigInteger)
FREE = sa.or_(
    _c.lease_owner.is_(None), _c.lease_until <= _NOW, _c.leased_at > sa.bindparam("future", type_=sa.BigInteger)
)
"""Whether nobody holds the session's lease, or held it too long; binds `now` and `future`."""
_TAKE = Prepared(
    sa.update(observation_state)
    .where(*_PLACE, FREE)
    .values(
        lease_owner=sa.bindparam("owner"),
        leased_at=_NOW,
        lease_until=sa.bindparam("until", type_=sa.BigInteger),
        version=_c.version + sa.literal_column("1"),
    )
)
_MINE = (*_PLACE, _c.lease_owner == sa.bindparam("mine"))
_RENEW = Prepared(
    sa.update(observation_state)
    .where(*_MINE)
    .values(leased_at=_NOW, lease_until=sa.bindparam("until", type_=sa.BigInteger))
)
_RELEASE = Prepared(
    sa.update(observation_state)
    .where(*_MINE)
    .values(
        lease_owner=sa.null(),
        leased_at=sa.null(),
        lease_until=sa.null(),
        unsettled=sa.case(
            (sa.and_(sa.bindparam("settled", type_=sa.BigInteger) == 1, _c.version == sa.bindparam("seen")), 0),
            else_=_c.unsettled,
        ),
    )
)
_DELETE = Prepared(sa.delete(observation_state).where(*_PLACE))
_PROVISIONAL = (
    sa.select(sa.func.count())
    .select_from(note)
    .where(
        note.c.tenant == sa.bindparam("of_tenant"),
        note.c.session_row == sa.bindparam("of_session"),
        note.c.provisional == sa.literal_column("1"),
    )
    .scalar_subquery()
)
_RECOUNT = Prepared(sa.update(observation_state).where(*_PLACE).values(provisional=_PROVISIONAL))


class LostError(Exception):
    """The lease or the session is gone, or somebody else committed first: what was made is to be thrown away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is stored about the observation of a session."""

    watermark: int = 0
    observed_tokens: int = 0
    version: int = 0
    unsettled: bool = False
    provisional: int = 0
    lease_owner: str | None = None
    leased_at: datetime | None = None
    lease_until: datetime | None = None
    failures: int = 0
    last_error: str | None = None
    next_attempt_at: datetime | None = None
    reflect_failures: int = 0
    reflect_at: datetime | None = None
    reflect_tried: str | None = None
    consolidate_tried: str | None = None
    rewrite_failures: int = 0
    rewrite_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to commit on a session, as long as nobody else took it."""

    tenant: str
    session_key: str
    session_row: int
    owner: str
    state: State


def read_state(link: Link, of: StoredSession) -> State | None:
    """The state of a session, None for one that nobody looked at yet."""
    row = link.run(_READ, {"of_tenant": of.tenant, "of_session": of.row}).fetchone()
    return None if row is None else _state(row)


def ensure_state(link: Link, of: StoredSession) -> None:
    """Begin the state of a session that was found with `hold`, where it has none."""
    link.run(_CREATE[link.name], {"tenant": of.tenant, "session_row": of.row})


def take_lease(link: Link, tenant: str, key: str, *, owner: str, now: datetime, lease_s: float) -> Lease | None:
    """Take the lease of a session, None when somebody has it. Raises LostError for a session that is not there.

    `owner` must be a new name for each lease.
    """
    held = find_session(link, tenant, key, hold=True)
    if held is None:
        raise LostError(f"there is no session {key}")
    ensure_state(link, held)
    params = {"of_tenant": tenant, "of_session": held.row, "owner": owner}
    if not link.run(_TAKE, {**params, **moments(now, lease_s)}).rowcount:
        return None
    state = read_state(link, held)
    assert state is not None
    return Lease(tenant=tenant, session_key=key, session_row=held.row, owner=owner, state=state)


def renew_lease(link: Link, lease: Lease, *, now: datetime, lease_s: float) -> bool:
    """Say that the holder is still at work; False when the lease was lost."""
    times = moments(now, lease_s)
    return bool(link.run(_RENEW, {**_mine(lease), "now": times["now"], "until": times["until"]}).rowcount)


def release_lease(link: Link, lease: Lease, *, settled: bool) -> bool:
    """Give the lease back; `settled` says that nothing is left to be condensed. False when it was lost before."""
    params = {**_mine(lease), "settled": int(settled), "seen": lease.state.version}
    return bool(link.run(_RELEASE, params).rowcount)


def hold_session(link: Link, lease: Lease) -> StoredSession:
    """The leased session, held until the commit. Raises LostError when it was deleted, also if it came again."""
    return _still_there(find_session(link, lease.tenant, lease.session_key, hold=True), lease)


def leased_session(link: Link, lease: Lease) -> StoredSession:
    """The leased session, for reading. Raises LostError when it was deleted."""
    return _still_there(find_session(link, lease.tenant, lease.session_key), lease)


def _still_there(found: StoredSession | None, lease: Lease) -> StoredSession:
    if found is None or found.row != lease.session_row:
        raise LostError("the session was deleted")
    return found


def commit_state(link: Link, lease: Lease, **changes: Any) -> Lease:
    """Change the state if it is still the one the lease knows, and count the provisional notes anew.

    Moments are given as such. Raises LostError when somebody else committed or took the lease; the caller's whole
    transaction is undone then.
    """
    stored = {name: to_micros(value) if isinstance(value, datetime) else value for name, value in changes.items()}
    statement = (
        sa.update(observation_state)
        .where(
            _c.tenant == lease.tenant,
            _c.session_row == lease.session_row,
            _c.lease_owner == lease.owner,
            _c.version == lease.state.version,
            _c.watermark == lease.state.watermark,
        )
        .values(**stored, version=_c.version + 1, provisional=_PROVISIONAL)
        .returning(*_COLUMNS)
    )
    row = link.execute(statement, {"of_tenant": lease.tenant, "of_session": lease.session_row}).one_or_none()
    if row is None:
        raise LostError("the lease was lost")
    return replace(lease, state=_state(row))


def recount(link: Link, of: StoredSession) -> None:
    """Count the provisional notes anew, after notes were deleted by hand."""
    link.run(_RECOUNT, {"of_tenant": of.tenant, "of_session": of.row})


def delete_state(link: Link, of: StoredSession) -> int:
    """Forget how far a session was observed."""
    return link.run(_DELETE, {"of_tenant": of.tenant, "of_session": of.row}).rowcount


def spent_by(who: str, spent: Spent) -> dict[str, Any]:
    """The changes that add what the `observer` or the `reflector` cost."""
    added = {"calls": spent.calls, "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
    return {f"{who}_{name}": _c[f"{who}_{name}"] + value for name, value in added.items()}


def one_more(name: str, count: int = 1) -> dict[str, Any]:
    """The change that counts something."""
    return {name: _c[name] + count}


def moments(now: datetime, lease_s: float) -> dict[str, int]:
    """What a lease taken now is stored with, and what `FREE` asks for."""
    length = timedelta(seconds=lease_s)
    return {"now": to_micros(now), "until": to_micros(now + length), "future": to_micros(now + length)}


def _mine(lease: Lease) -> dict[str, Any]:
    return {"of_tenant": lease.tenant, "of_session": lease.session_row, "mine": lease.owner}


def _state(row: Any) -> State:
    values = dict(zip((column.name for column in _COLUMNS), row, strict=True))
    for name in ("leased_at", "lease_until", "next_attempt_at", "reflect_at", "rewrite_at"):
        values[name] = None if values[name] is None else from_micros(values[name])
    return State(**{**values, "unsettled": bool(values["unsettled"])})
