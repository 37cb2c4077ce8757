"""What a prompt shows of a session: its notes, read anew only when they changed.

A session that did not change costs one small read. The version of the state changes with every note that is written,
the count of notes with every one that is only deleted, and the number of a session is never used again: together they
tell whether the notes that somebody has are still the notes.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.observation.store import read_notes
from lamina.observation.tables import note, observation_state
from lamina.observation.types import Note
from lamina.session.reading import find_session
from lamina.session.tables import session

Stamp = tuple[int, int, int]
"""The session's number, the version of its state, and how many notes it has."""

_COUNT = (
    sa.select(sa.func.count())
    .select_from(note)
    .where(note.c.tenant == session.c.tenant, note.c.session_row == session.c.row)
    .scalar_subquery()
)
_STAMP = Prepared(
    sa.select(session.c.row, observation_state.c.version, _COUNT)
    .join_from(
        session,
        observation_state,
        sa.and_(
            observation_state.c.tenant == session.c.tenant,
            observation_state.c.session_row == session.c.row,
        ),
    )
    .where(session.c.tenant == sa.bindparam("tenant"), session.c.key == sa.bindparam("key"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The notes of a session, oldest first, and the stamp by which to tell whether they are still current.

    `notes` is None where they are those of the stamp that was known.
    """

    stamp: Stamp
    notes: tuple[Note, ...] | None


def read_snapshot(link: Link, tenant: str, key: str, known: Stamp | None = None) -> Snapshot | None:
    """The notes of a session; None where there is no such session or nothing of it was observed."""
    stamp = _stamp(link, tenant, key)
    if stamp is None or stamp == known:
        return None if stamp is None else Snapshot(stamp=stamp, notes=None)
    with link.snapshot():
        found, stamp = find_session(link, tenant, key), _stamp(link, tenant, key)
        if found is None or stamp is None:
            return None
        return Snapshot(stamp=stamp, notes=tuple(one.note for one in read_notes(link, found)))


def _stamp(link: Link, tenant: str, key: str) -> Stamp | None:
    row = link.run(_STAMP, {"tenant": tenant, "key": key}).fetchone()
    return None if row is None else (row[0], row[1], row[2])
