"""Appends messages to a session: one step of a transaction, which keeps the index in step.

Locks are taken in one order everywhere in this room, so that nothing can deadlock: the session's row, its messages by
number, the scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link, Prepared
from lamina.database.schema import to_micros
from lamina.errors import InvalidInputError
from lamina.index.late import put_terms
from lamina.index.store import Indexable, touch
from lamina.kernel.session_key import channel_of
from lamina.session.rows import MESSAGE_COLUMNS, message_from_row, message_scope
from lamina.session.tables import message, session
from lamina.session.types import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMessage:
    """A message with everything computed that needs no transaction; its sequence number comes with its place."""

    message: Message
    given_id: bool
    """Whether the id is the caller's own."""
    parts: str
    """The message's parts as they are stored: writing a large result down takes a while."""
    text: str
    """What is searched."""
    indexable: Indexable


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessages:
    """Messages for one session, checked; a session that is not there yet is made."""

    tenant: str
    key: str
    user_id: str | None
    now: datetime
    messages: tuple[PreparedMessage, ...]
    model_id: int | None
    """Where the vectors come from; None when they follow later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A new message in its place."""

    row: int
    prepared: PreparedMessage
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedMessages:
    """What was asked for, in order, as it is stored now; which of it is new; and what the session is after it."""

    session_row: int
    messages: tuple[Message, ...]
    new: tuple[Placed, ...]
    last_sequence: int
    total_tokens: int


def _advance(insert: Any) -> Prepared:
    count = sa.bindparam("count", type_=sa.BigInteger)
    tokens = sa.bindparam("tokens", type_=sa.BigInteger)
    made = insert(session).values(
        tenant=sa.bindparam("tenant"),
        key=sa.bindparam("key"),
        channel=sa.bindparam("channel"),
        user_id=sa.bindparam("user_id"),
        created_at=sa.bindparam("now"),
        updated_at=sa.bindparam("now"),
        last_sequence=count,
        archived=sa.literal_column("0"),
        total_tokens=tokens,
    )
    newer = made.excluded.updated_at > session.c.updated_at
    return Prepared(
        made.on_conflict_do_update(
            index_elements=[session.c.tenant, session.c.key],
            set_={
                "last_sequence": session.c.last_sequence + count,
                "total_tokens": session.c.total_tokens + tokens,
                # A clock that goes back never makes a session look older.
                "updated_at": sa.case((newer, made.excluded.updated_at), else_=session.c.updated_at),
                "user_id": sa.func.coalesce(session.c.user_id, made.excluded.user_id),
            },
        ).returning(session.c.row, session.c.last_sequence, session.c.total_tokens, session.c.user_id)
    )


_ADVANCE = {"sqlite": _advance(sqlite.insert), "postgresql": _advance(postgresql.insert)}
INSERT = Prepared(sa.insert(message))
# What SQLite's AUTOINCREMENT keeps: the highest number there ever was.
_LAST_ROW = Prepared(sa.text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'message'"))
_NEXT_ROWS = Prepared(
    sa.select(sa.func.nextval(sa.literal_column("'message_row_seq'"))).select_from(
        sa.func.generate_series(sa.literal_column("1"), sa.bindparam("count", type_=sa.Integer))
    )
)
_BY_ID = Prepared(
    sa.select(*MESSAGE_COLUMNS).where(
        message.c.tenant == sa.bindparam("tenant"),
        message.c.session_row == sa.bindparam("session_row"),
        message.c.id == sa.bindparam("id"),
    )
)


def append_messages(link: Link, new: NewMessages) -> AppendedMessages:
    """Store messages at the end of a session; one whose id the session knows is given back as it is stored.

    Raises InvalidInputError when the session belongs to another user.
    """
    known: dict[str, Message] = {}
    if any(one.given_id for one in new.messages):
        held = _advance_session(link, new, ())  # nobody else stores the same id until the commit
        known = _known(link, new, held[0])
    fresh: dict[str, PreparedMessage] = {}
    for one in new.messages:
        if one.message.id not in known:
            fresh.setdefault(one.message.id, one)
    session_row, last_sequence, total_tokens = _advance_session(link, new, tuple(fresh.values()))
    placed = _place(link, new, tuple(fresh.values()), session_row, last_sequence, total_tokens)
    stored = {**known, **{one.message.id: one.message for one in placed}}
    return AppendedMessages(
        session_row=session_row,
        messages=tuple(stored[one.message.id] for one in new.messages),
        new=placed,
        last_sequence=last_sequence,
        total_tokens=total_tokens,
    )


def _advance_session(link: Link, new: NewMessages, fresh: Sequence[PreparedMessage]) -> tuple[int, int, int]:
    """Make room for messages at the end and hold the session: its row, last sequence number and tokens afterwards."""
    params = {
        "tenant": new.tenant,
        "key": new.key,
        "channel": channel_of(new.key),
        "user_id": new.user_id,
        "now": to_micros(new.now),
        "count": len(fresh),
        "tokens": sum(one.message.tokens for one in fresh),
    }
    row, last_sequence, total_tokens, user_id = link.run(_ADVANCE[link.name], params).fetchone()
    if new.user_id is not None and user_id != new.user_id:
        raise InvalidInputError(
            "The session belongs to another user; leave user_id out to speak in it, and name the speaker as author.",
            details={"field": "user_id"},
        )
    return row, last_sequence, total_tokens


def _known(link: Link, new: NewMessages, session_row: int) -> dict[str, Message]:
    place = {"tenant": new.tenant, "session_row": session_row}
    given = [one.message.id for one in new.messages if one.given_id]
    found = (link.run(_BY_ID, {**place, "id": id}).fetchone() for id in given)
    return {row[3]: message_from_row(row, new.key) for row in found if row is not None}


def _place(
    link: Link,
    new: NewMessages,
    fresh: Sequence[PreparedMessage],
    session_row: int,
    last_sequence: int,
    total_tokens: int,
) -> tuple[Placed, ...]:
    if not fresh:
        return ()
    place = touch(link, message_scope(new.tenant, session_row), added=len(fresh))
    common = {
        "tenant": new.tenant,
        "session_row": session_row,
        "scope_id": place.scope_id,
        "indexed": place.version,
    }
    running = total_tokens - sum(one.message.tokens for one in fresh)
    placed, values = [], []
    numbers = range(last_sequence - len(fresh) + 1, last_sequence + 1)
    for row, sequence, one in zip(reserve_rows(link, len(fresh)), numbers, fresh, strict=True):
        running += one.message.tokens
        numbered = replace(one.message, sequence=sequence)
        placed.append(Placed(row=row, prepared=one, message=numbered))
        values.append({**message_values(numbered, one.parts), **common, "row": row, "total_tokens": running})
    link.run_many(INSERT, values)
    entries = [(one.row, replace(one.prepared.indexable, sequence=one.message.sequence)) for one in placed]
    put_terms(link, place, tenant=new.tenant, rows=entries, model_id=new.model_id)
    return tuple(placed)


def message_values(one: Message, parts: str) -> dict[str, Any]:
    """The stored form of a message and of its parts, without its place in session and index."""
    return {
        "sequence": one.sequence,
        "kind": one.kind.value,
        "id": one.id,
        "role": one.role.value,
        "author": one.author,
        "content": one.content,
        "parts": parts,
        "tokens": one.tokens,
        "at": to_micros(one.at),
        "archived_at": None if one.archived_at is None else to_micros(one.archived_at),
    }


def reserve_rows(link: Link, count: int) -> list[int]:
    """Numbers for as many new messages, ascending."""
    if link.name == "postgresql":
        return [row[0] for row in link.run(_NEXT_ROWS, {"count": count}).fetchall()]
    last = link.run(_LAST_ROW, {}).fetchone()[0]  # safe: SQLite has one writer at a time
    return list(range(last + 1, last + 1 + count))
