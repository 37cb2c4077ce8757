"""Deletes a session with everything that was derived from it, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.index.store import clear_scope
from lamina.session.reading import StoredSession, hold_messages
from lamina.session.rows import message_scope
from lamina.session.tables import message, session


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Who deletes a session, and for whom."""

    actor: str = "agent"
    only_of: str | None = None
    """The one user whose memories and receipts go with it; None for those of everybody who took part."""


SessionRemovedListener = Callable[[Link, StoredSession, Deletion], Mapping[str, int]]
"""Removes what another room derived from a session, in the transaction that deletes it, and counts it by kind.

It is called while session and messages are still there; what it raises undoes the whole deletion.
"""

_OF_SESSION = (message.c.tenant == sa.bindparam("tenant"), message.c.session_row == sa.bindparam("session_row"))
_DELETE_MESSAGES = Prepared(sa.delete(message).where(*_OF_SESSION, message.c.kind == sa.bindparam("kind")))
_DELETE_SESSION = Prepared(
    sa.delete(session).where(session.c.tenant == sa.bindparam("tenant"), session.c.row == sa.bindparam("session_row"))
)


def delete_session(
    link: Link, held: StoredSession, deletion: Deletion, listeners: Sequence[SessionRemovedListener] = ()
) -> tuple[int | None, dict[str, int]]:
    """Remove a session found with `hold`; the id of its scope, whose index can go, and what went by kind."""
    place = {"tenant": held.tenant, "session_row": held.row}
    hold_messages(link, held, above=0, up_to=held.session.last_sequence)
    removed: dict[str, int] = {}
    for listener in listeners:
        for kind, count in listener(link, held, deletion).items():
            removed[kind] = removed.get(kind, 0) + count
    messages = link.run(_DELETE_MESSAGES, {**place, "kind": "message"}).rowcount
    summaries = link.run(_DELETE_MESSAGES, {**place, "kind": "summary"}).rowcount
    scope_id, vectors = clear_scope(link, message_scope(held.tenant, held.row))
    link.run(_DELETE_SESSION, place)
    return scope_id, {"messages": messages, "summaries": summaries, "vectors": vectors, **removed}
