"""Reads of sessions and messages, each usable inside a caller's own transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from lamina.database.link import DialectName, Link, Prepared, any_of, number_list
from lamina.errors import SessionNotFoundError
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.session.cut import said_by_user, unanswered_results
from lamina.session.rows import MESSAGE_COLUMNS, SESSION_COLUMNS, message_from_row, session_from_row
from lamina.session.tables import message, session
from lamina.session.types import Message, MessageKind, Session, SessionPage

_DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgresql")
_CHUNK = 128
_FAR = 1024  # messages in which a call that belongs to a result is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session with its row, which other rooms keep as `session_row`."""

    tenant: str
    row: int
    session: Session

    @property
    def key(self) -> str:
        """The session's key."""
        return self.session.key


_OF_KEY = sa.select(*SESSION_COLUMNS).where(
    session.c.tenant == sa.bindparam("tenant"), session.c.key == sa.bindparam("key")
)
_FIND = Prepared(_OF_KEY)
_HOLD = {"sqlite": _FIND, "postgresql": Prepared(_OF_KEY.with_for_update())}
_OF_SESSION = (message.c.tenant == sa.bindparam("tenant"), message.c.session_row == sa.bindparam("session_row"))
_SAID = (*_OF_SESSION, message.c.kind == sa.literal_column(f"'{MessageKind.MESSAGE.value}'"))
_SUMMARY = Prepared(
    sa.select(*MESSAGE_COLUMNS).where(
        *_OF_SESSION, message.c.kind == sa.literal_column(f"'{MessageKind.SUMMARY.value}'")
    )
)
_BETWEEN = Prepared(
    sa.select(*MESSAGE_COLUMNS)
    .where(*_SAID, message.c.sequence >= sa.bindparam("first"), message.c.sequence <= sa.bindparam("last"))
    .order_by(message.c.sequence)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_NEWEST_BEFORE = Prepared(
    sa.select(*MESSAGE_COLUMNS)
    .where(*_SAID, message.c.sequence > sa.bindparam("above"), message.c.sequence < sa.bindparam("before"))
    .order_by(message.c.sequence.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_OF_USER = Prepared(
    sa.select(*MESSAGE_COLUMNS)
    .where(
        *_SAID,
        message.c.sequence > sa.bindparam("above"),
        message.c.sequence < sa.bindparam("before"),
        message.c.role == sa.literal_column("'user'"),
    )
    .order_by(message.c.sequence.desc())
    .limit(sa.literal_column("8"))
)
_BY_SEQUENCE = {
    name: Prepared(
        sa.select(*MESSAGE_COLUMNS)
        .where(*_SAID, any_of(message.c.sequence, "sequences", name))
        .order_by(message.c.sequence)
    )
    for name in _DIALECTS
}
_HOLD_MESSAGES = Prepared(
    sa.select(message.c.row)
    .where(*_SAID, message.c.sequence > sa.bindparam("above"), message.c.sequence <= sa.bindparam("up_to"))
    .order_by(message.c.row)
    .with_for_update()
)
_TOTAL_AT = Prepared(sa.select(message.c.total_tokens).where(*_SAID, message.c.sequence == sa.bindparam("sequence")))


def find_session(link: Link, tenant: str, key: str, *, hold: bool = False) -> StoredSession | None:
    """The session of a key. `hold` keeps it until the commit: nothing is appended, archived or deleted meanwhile."""
    statement = _HOLD[link.name] if hold else _FIND
    row = link.run(statement, {"tenant": tenant, "key": key}).fetchone()
    return None if row is None else StoredSession(tenant=tenant, row=row[0], session=session_from_row(row))


def required_session(link: Link, tenant: str, key: str, *, hold: bool = False) -> StoredSession:
    """`find_session`; raises SessionNotFoundError."""
    found = find_session(link, tenant, key, hold=hold)
    if found is None:
        raise session_not_found(key)
    return found


def session_not_found(key: str) -> SessionNotFoundError:
    """What to say of a session there is not."""
    return SessionNotFoundError(details={"session_key": key, "next": "`lamina session list` shows those there are."})


def hold_messages(link: Link, found: StoredSession, *, above: int, up_to: int) -> None:
    """Hold messages until the commit, in the order in which whoever adds their vectors does; SQLite needs no locks."""
    if link.name == "postgresql":
        link.run(_HOLD_MESSAGES, {**_place(found), "above": above, "up_to": up_to})


def read_messages(
    link: Link, found: StoredSession, *, first: int = 1, last: int | None = None, limit: int
) -> list[Message]:
    """Messages by their place, archived ones too, oldest first; summaries are none."""
    end = found.session.last_sequence if last is None else last
    params = {**_place(found), "first": first, "last": end, "most": limit}
    return _messages(link.run(_BETWEEN, params).fetchall(), found)


def read_before(link: Link, found: StoredSession, *, above: int, before: int, limit: int) -> list[Message]:
    """The newest messages between two places, both left out, oldest first."""
    params = {**_place(found), "above": above, "before": before, "most": limit}
    return _messages(link.run(_NEWEST_BEFORE, params).fetchall()[::-1], found)


def read_unobserved(link: Link, found: StoredSession, *, after: int, limit: int) -> list[Message]:
    """What was said after a watermark, oldest first, archived or not."""
    return read_messages(link, found, first=after + 1, limit=limit)


def read_sequences(link: Link, found: StoredSession, sequences: Sequence[int]) -> list[Message]:
    """The messages with these numbers, oldest first; those there are not are left out."""
    params = {**_place(found), "sequences": number_list(sorted(set(sequences)), link.name)}
    return _messages(link.run(_BY_SEQUENCE[link.name], params).fetchall(), found)


def read_summary(link: Link, found: StoredSession) -> Message | None:
    """What stands for the archived messages, where something does."""
    row = link.run(_SUMMARY, _place(found)).fetchone()
    return None if row is None else message_from_row(row, found.key)


def read_latest_of_user(link: Link, found: StoredSession) -> Message | None:
    """What the user said last, where that is not archived."""
    before = found.session.last_sequence + 1
    while True:
        params = {**_place(found), "above": found.session.archived_count, "before": before}
        rows = link.run(_OF_USER, params).fetchall()
        for one in _messages(rows, found):
            if said_by_user(one):
                return one
        if not rows:
            return None
        before = rows[-1][1]


def read_live(link: Link, found: StoredSession, *, after: int, limit: int) -> list[Message]:
    """Messages that are not archived, oldest first; from the start, what stands for the archived ones comes first."""
    summary = read_summary(link, found) if after == 0 else None
    first = max(after, found.session.archived_count) + 1
    live = read_messages(link, found, first=first, limit=limit - (summary is not None))
    return live if summary is None else [summary, *live]


def read_window(link: Link, found: StoredSession, budget_tokens: int) -> list[Message]:
    """Live messages to choose a recent window from, oldest first: the newest that fit, and the user's latest one.

    A little more is read where that may complete an exchange of tool call and result. A budget of 0 reads all.
    """
    window: list[Message] = []
    left = float(budget_tokens or "inf")
    before = found.session.last_sequence + 1
    while True:
        params = {**_place(found), "above": found.session.archived_count, "before": before, "most": _CHUNK}
        rows = link.run(_NEWEST_BEFORE, params).fetchall()
        window = [*_messages(rows[::-1], found), *window]
        left -= sum(row[8] for row in rows)
        if len(rows) < _CHUNK or (left < 0 and (len(window) >= _FAR or not unanswered_results(window))):
            break
        before = rows[-1][1]
    asked = read_latest_of_user(link, found)
    return window if asked is None or asked.sequence >= window[0].sequence else [asked, *window]


def tokens_through(link: Link, found: StoredSession, sequence: int) -> int:
    """The session's tokens up to and with a message; 0 before the first."""
    row = link.run(_TOTAL_AT, {**_place(found), "sequence": sequence}).fetchone()
    return 0 if row is None else int(row[0])


def list_sessions(link: Link, tenant: str, *, user_id: str | None, limit: int, cursor: str | None) -> SessionPage:
    """One page of a tenant's sessions, the newest first; of one user where one is named."""
    mark = fingerprint(["session", tenant, user_id])
    wanted = [session.c.tenant == tenant]
    if user_id is not None:
        wanted.append(session.c.user_id == user_id)
    total = link.execute(sa.select(sa.func.count()).select_from(session).where(*wanted)).scalar_one()
    if cursor is not None:
        wanted.append(session.c.row < decode_cursor(cursor, mark, operation="session_list"))
    chosen = sa.select(*SESSION_COLUMNS).where(*wanted).order_by(session.c.row.desc()).limit(limit + 1)
    rows = link.execute(chosen).all()
    following = encode_cursor(rows[limit - 1][0], mark) if len(rows) > limit else None
    return SessionPage(
        sessions=tuple(map(session_from_row, rows[:limit])), next_cursor=following, total_count=int(total)
    )


def sessions_of_user(link: Link, tenant: str, user_id: str, *, limit: int) -> tuple[list[StoredSession], int]:
    """A user's sessions, the most recently used first, and how many there are in all."""
    wanted = (session.c.tenant == tenant, session.c.user_id == user_id)
    total = link.execute(sa.select(sa.func.count()).select_from(session).where(*wanted)).scalar_one()
    chosen = sa.select(*SESSION_COLUMNS).where(*wanted).order_by(session.c.updated_at.desc(), session.c.row.desc())
    rows = link.execute(chosen.limit(limit)).all()
    return [StoredSession(tenant=tenant, row=row[0], session=session_from_row(row)) for row in rows], int(total)


def _place(found: StoredSession) -> dict[str, Any]:
    return {"tenant": found.tenant, "session_row": found.row}


def _messages(rows: Sequence[Any], found: StoredSession) -> list[Message]:
    return [message_from_row(row, found.key) for row in rows]
