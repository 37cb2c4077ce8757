"""Finds sessions with something to do from stored state: what was dropped, failed, or left by a process that died."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.observation.desk import Desk
from lamina.observation.observing import LONGEST_DELAY_S
from lamina.observation.rewriting import LONGEST_DELAY_S as LONGEST_REWRITE_DELAY_S
from lamina.observation.state import FREE, moments
from lamina.observation.tables import observation_state
from lamina.session.tables import session

_state = observation_state.c
_JOINED = sa.outerjoin(
    session,
    observation_state,
    sa.and_(_state.tenant == session.c.tenant, _state.session_row == session.c.row),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSession:
    """A session that may have something to do."""

    row: int
    tenant: str
    key: str
    total_tokens: int
    unsettled: bool
    """Whether there is work on its notes, whatever its messages are."""


def due_sessions(
    link: Link, desk: Desk, *, after: int, limit: int, tenant: str | None = None, patient: bool = True
) -> list[DueSession]:
    """The next sessions after a row, of every tenant unless one is named, whose turn is due and nobody has.

    Without `patient` those are due, too, that wait after a failure.
    """
    settings, now = desk.settings, desk.clock.now()

    def passed(until: "sa.Column[int | None]", longest_s: float) -> sa.ColumnElement[bool]:
        return _passed(until, now, longest_s) if patient else sa.true()

    awake = rested = passed(_state.next_attempt_at, LONGEST_DELAY_S)
    if desk.writers.fallback is not None and settings.fallback_after_failures:
        rested = sa.or_(rested, _state.failures >= settings.fallback_after_failures)
    enough = settings.message_token_threshold + settings.retained_tail_tokens
    observable = sa.and_(_pending() > enough, rested)
    unsettled = sa.and_(_state.unsettled == 1, passed(_state.reflect_at, LONGEST_DELAY_S))
    if desk.writers.model is not None:
        again = passed(_state.rewrite_at, LONGEST_REWRITE_DELAY_S)
        unsettled = sa.or_(unsettled, sa.and_(_state.provisional > 0, again, awake))
    waiting = sa.func.coalesce(unsettled, sa.false())
    statement = (
        sa.select(session.c.row, session.c.tenant, session.c.key, session.c.total_tokens, waiting)
        .select_from(_JOINED)
        .where(
            session.c.tenant == tenant if tenant is not None else session.c.tenant.is_not(None),
            session.c.row > after,
            sa.or_(observable, unsettled),
            sa.or_(_state.session_row.is_(None), FREE),
        )
        .order_by(session.c.row)
        .limit(limit)
    )
    times = moments(now, settings.lease_s)
    rows = link.execute(statement, {"now": times["now"], "future": times["future"]})
    return [
        DueSession(row=row[0], tenant=row[1], key=row[2], total_tokens=row[3], unsettled=bool(row[4])) for row in rows
    ]


def unobserved_sessions(link: Link, tenant: str, *, after: int, limit: int) -> list[tuple[int, str]]:
    """The next sessions of a tenant after a row that have anything unobserved, or notes to look at: row and key."""
    statement = (
        sa.select(session.c.row, session.c.key)
        .select_from(_JOINED)
        .where(
            session.c.tenant == tenant,
            session.c.row > after,
            sa.or_(_pending() > 0, _state.unsettled == 1, _state.provisional > 0),
        )
        .order_by(session.c.row)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in link.execute(statement)]


def _pending() -> sa.ColumnElement[int]:
    return session.c.total_tokens - sa.func.coalesce(_state.observed_tokens, 0)


def _passed(until: "sa.Column[int | None]", now: datetime, longest_s: float) -> sa.ColumnElement[bool]:
    """Whether a delay is over; one further off than any delay comes from a clock that was set back since."""
    far = to_micros(now + timedelta(seconds=longest_s))
    return sa.or_(until.is_(None), until <= to_micros(now), until > far)
