"""Moves the beginning of a conversation to the archive and puts a summary in its place: steps of a transaction.

Nothing is deleted: an archived message keeps its number, its words and its place in the index.
"""

from datetime import datetime

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import from_micros, to_micros
from lamina.errors import InvalidInputError
from lamina.kernel.ids import new_id
from lamina.session.appending import message_values
from lamina.session.cut import safe_ends
from lamina.session.reading import StoredSession, hold_messages, read_messages
from lamina.session.rows import dump_parts
from lamina.session.tables import message, session
from lamina.session.types import Message, MessageKind, Role

_MESSAGE: sa.ColumnElement[str] = sa.literal_column(f"'{MessageKind.MESSAGE.value}'")
_SUMMARY: sa.ColumnElement[str] = sa.literal_column(f"'{MessageKind.SUMMARY.value}'")
_OF_SESSION = (message.c.tenant == sa.bindparam("of_tenant"), message.c.session_row == sa.bindparam("of_session"))
_ARCHIVE = Prepared(
    sa.update(message)
    .where(
        *_OF_SESSION,
        message.c.sequence > sa.bindparam("above"),
        message.c.sequence <= sa.bindparam("up_to"),
        message.c.kind == _MESSAGE,
    )
    .values(archived_at=sa.bindparam("moment"))
)
_NOTE_ARCHIVED = Prepared(
    sa.update(session)
    .where(session.c.tenant == sa.bindparam("of_tenant"), session.c.row == sa.bindparam("of_session"))
    .values(archived=sa.bindparam("through"))
)
_DROP_SUMMARY = Prepared(sa.delete(message).where(*_OF_SESSION, message.c.kind == _SUMMARY))
_AROUND = Prepared(
    sa.select(message.c.sequence, message.c.at, message.c.total_tokens)
    .where(
        *_OF_SESSION,
        message.c.kind == _MESSAGE,
        message.c.sequence >= sa.bindparam("low"),
        message.c.sequence <= sa.bindparam("high"),
    )
    .order_by(message.c.sequence)
)
_INSERT = Prepared(sa.insert(message).values({c.name: sa.bindparam(c.name) for c in message.c if c.name != "row"}))


def refuse_unsafe_cut(link: Link, held: StoredSession, up_to: int) -> None:
    """Raise InvalidInputError for a cut that takes too much; it names the largest one that does not."""
    already = held.session.archived_count
    if up_to <= already:
        return
    live = read_messages(link, held, first=already + 1, limit=held.session.message_count)
    ends = safe_ends(live)
    if up_to not in ends:
        safe = max((end for end in ends if end <= up_to), default=already)
        raise InvalidInputError(
            "A cut must not part a tool call from its result, nor take the user's latest message or what was not said.",
            details={"field": "up_to", "safe": safe, "next": f"Compact up to {safe}."},
        )


def archive_messages(link: Link, held: StoredSession, *, up_to: int, now: datetime) -> int:
    """Archive what was said up to a sequence number; how many messages that moved.

    `held` was found with `hold`: its counts are those of this moment. Whether the cut is safe is the caller's business
    (see `cut`).
    """
    through = min(up_to, held.session.last_sequence)
    if through <= held.session.archived_count:
        return 0
    place = {"of_tenant": held.tenant, "of_session": held.row}
    hold_messages(link, held, above=held.session.archived_count, up_to=through)
    moved = {**place, "above": held.session.archived_count, "up_to": through, "moment": to_micros(now)}
    count = link.run(_ARCHIVE, moved).rowcount
    link.run(_NOTE_ARCHIVED, {**place, "through": through})
    return count


def put_summary(link: Link, held: StoredSession, *, up_to: int, content: str, tokens: int, now: datetime) -> Message:
    """Put a summary in the place of what is archived, instead of the one before it, if there was one.

    It bears the number of the last message it stands for, and that message's time, or the time of the first one that
    is kept where that is earlier, so that it sorts before everything kept by either.
    """
    place = {"of_tenant": held.tenant, "of_session": held.row}
    link.run(_DROP_SUMMARY, place)
    sequence = max(min(up_to, held.session.last_sequence), held.session.archived_count)
    around = link.run(_AROUND, {**place, "low": sequence, "high": sequence + 1}).fetchall()
    total = next((row[2] for row in around if row[0] == sequence), 0)
    summary = Message(
        session_key=held.key,
        sequence=sequence,
        kind=MessageKind.SUMMARY,
        id=new_id(),
        role=Role.SYSTEM,
        content=content,
        at=min((from_micros(row[1]) for row in around), default=now),
        tokens=tokens,
    )
    stored = {"tenant": held.tenant, "session_row": held.row, "scope_id": 0, "indexed": 0}
    link.run(_INSERT, {**message_values(summary, dump_parts(())), **stored, "total_tokens": total})
    return summary


def compact_session(
    link: Link, held: StoredSession, *, up_to: int, summary: str, tokens: int, now: datetime
) -> tuple[int, Message]:
    """Archive and put the summary in place; how many messages moved, and the summary."""
    moved = archive_messages(link, held, up_to=up_to, now=now)
    return moved, put_summary(link, held, up_to=up_to, content=summary, tokens=tokens, now=now)
