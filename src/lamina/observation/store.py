"""Notes in the store: reads and steps of a transaction, each of which takes the caller's link.

Notes are in the order of what they stand for: by the last message, then by the time they were written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from lamina.database.link import DialectName, Link, Prepared, any_of, number_list, unindexed
from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.observation.tables import note, note_entry
from lamina.observation.types import SET_ASIDE, Entry, EntryKind, Note, Period, Priority, Speaker, Status
from lamina.session.reading import StoredSession

_DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgresql")
_OF_SESSION = (note.c.tenant == sa.bindparam("of_tenant"), note.c.session_row == sa.bindparam("of_session"))
_LEAST, _MOST = sa.bindparam("least", type_=sa.BigInteger), sa.bindparam("most", type_=sa.BigInteger)
_OF_GENERATIONS = (*_OF_SESSION, note.c.generation >= _LEAST, note.c.generation <= _MOST)
_HIGHEST = 2**62
"""Above every generation."""

_NOTE_COLUMNS = (
    note.c.row,
    note.c.id,
    note.c.generation,
    note.c.first_sequence,
    note.c.last_sequence,
    note.c.tokens,
    note.c.source_tokens,
    note.c.written_by,
    note.c.provisional,
    note.c.created_at,
)
_NEWEST = Prepared(
    sa.select(*_NOTE_COLUMNS)
    .where(*_OF_GENERATIONS, note.c.last_sequence < sa.bindparam("before", type_=sa.BigInteger))
    .order_by(note.c.last_sequence.desc(), note.c.row.desc())
    .limit(sa.bindparam("count", type_=sa.BigInteger))
)


def _in_tenant(dialect: DialectName) -> sa.ColumnElement[bool]:
    return unindexed(note_entry.c.tenant, dialect) == sa.bindparam("of_tenant")


_ENTRIES = {
    name: Prepared(
        sa.select(*(column for column in note_entry.c if column.name not in ("row", "tenant")))
        .where(_in_tenant(name), any_of(note_entry.c.note_row, "rows", name))
        .order_by(note_entry.c.note_row, note_entry.c.position)
    )
    for name in _DIALECTS
}
_INSERT = Prepared(
    sa.insert(note).values({c.name: sa.bindparam(c.name) for c in note.c if c.name != "row"}).returning(note.c.row)
)
_INSERT_ENTRY = Prepared(
    sa.insert(note_entry).values({c.name: sa.bindparam(c.name) for c in note_entry.c if c.name != "row"})
)
_DELETE = {name: Prepared(sa.delete(note).where(*_OF_SESSION, any_of(note.c.row, "rows", name))) for name in _DIALECTS}
_DELETE_ENTRIES = {
    name: Prepared(sa.delete(note_entry).where(_in_tenant(name), any_of(note_entry.c.note_row, "rows", name)))
    for name in _DIALECTS
}
_ROWS = Prepared(sa.select(note.c.row).where(*_OF_GENERATIONS))
_SOURCES = {
    name: Prepared(
        sa.select(note_entry.c.sources)
        .join_from(note, note_entry, note_entry.c.note_row == note.c.row)
        .where(
            *_OF_SESSION,
            _in_tenant(name),
            sa.or_(note.c.id == sa.bindparam("id"), note_entry.c.id == sa.bindparam("id")),
        )
    )
    for name in _DIALECTS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNote:
    """A note with the number of its row."""

    row: int
    note: Note


def read_notes(
    link: Link, of: StoredSession, *, least: int = 0, most: int = _HIGHEST, before: int = _HIGHEST, limit: int = 0
) -> list[StoredNote]:
    """Notes of a session of the generations from `least` to `most`, oldest first; the newest `limit`, 0 for all.

    What was set aside is read only where `least` asks for it.
    `before` leaves out those that stand for that message or a later one.
    """
    params = {**_place(of), "least": least, "most": most, "before": before, "count": limit or _HIGHEST}
    rows = link.run(_NEWEST, params).fetchall()[::-1]
    entries = _entries(link, of.tenant, [row[0] for row in rows])
    return [StoredNote(row=row[0], note=_note(row, of.key, entries.get(row[0], ()))) for row in rows]


def list_recent_observations(link: Link, of: StoredSession, *, limit: int = 0) -> list[Note]:
    """The newest observations of a session, oldest first; 0 is all."""
    return [one.note for one in read_notes(link, of, most=0, limit=limit)]


def list_recent_reflections(link: Link, of: StoredSession, *, limit: int = 0) -> list[Note]:
    """The newest reflections of a session, oldest first; 0 is all."""
    return [one.note for one in read_notes(link, of, least=1, limit=limit)]


def insert_note(link: Link, of: StoredSession, made: Note) -> int:
    """Store a note with its entries; the number of its row."""
    values = {
        "tenant": of.tenant,
        "session_row": of.row,
        "id": made.id,
        "generation": made.generation,
        "first_sequence": made.first_sequence,
        "last_sequence": made.last_sequence,
        "tokens": made.tokens,
        "source_tokens": made.source_tokens,
        "written_by": made.written_by,
        "provisional": int(made.provisional),
        "created_at": to_micros(made.created_at),
    }
    row: int = link.run(_INSERT, values).fetchone()[0]
    if made.entries:
        values_of = (_entry_values(one, place) for place, one in enumerate(made.entries))
        link.run_many(_INSERT_ENTRY, [{**values, "tenant": of.tenant, "note_row": row} for values in values_of])
    return row


def delete_notes(link: Link, of: StoredSession, rows: Sequence[int]) -> int:
    """Delete exactly these notes with their entries; how many there were."""
    if not rows:
        return 0
    params = {"of_tenant": of.tenant, "rows": number_list(rows, link.name)}
    link.run(_DELETE_ENTRIES[link.name], params)
    return link.run(_DELETE[link.name], {**params, "of_session": of.row}).rowcount


def delete_observations_by_session(link: Link, of: StoredSession) -> int:
    """Delete every observation of a session; how many there were, which may be none."""
    return _delete_generations(link, of, least=0, most=0)


def delete_reflections_by_session(link: Link, of: StoredSession) -> int:
    """Delete every reflection of a session, what was set aside too; how many there were, which may be none."""
    kept = _delete_generations(link, of, least=SET_ASIDE, most=SET_ASIDE)
    return kept + _delete_generations(link, of, least=1, most=_HIGHEST)


def find_note_sources(link: Link, of: StoredSession, id: str) -> tuple[int, ...] | None:
    """The sequence numbers of the messages that a note of the session, or one of its entries, comes from, by id."""
    rows = link.run(_SOURCES[link.name], {**_place(of), "id": id}).fetchall()
    return _union(_sources(row[0]) for row in rows) if rows else None


def _delete_generations(link: Link, of: StoredSession, *, least: int, most: int) -> int:
    found = link.run(_ROWS, {**_place(of), "least": least, "most": most}).fetchall()
    return delete_notes(link, of, [row[0] for row in found])


def _place(of: StoredSession) -> dict[str, Any]:
    return {"of_tenant": of.tenant, "of_session": of.row}


def _entries(link: Link, tenant: str, rows: Sequence[int]) -> Mapping[int, tuple[Entry, ...]]:
    if not rows:
        return {}
    params = {"of_tenant": tenant, "rows": number_list(rows, link.name)}
    found = link.run(_ENTRIES[link.name], params).fetchall()
    return {row: tuple(map(_entry, of_note)) for row, of_note in groupby(found, key=lambda each: int(each[0]))}


def _note(row: Any, session_key: str, entries: tuple[Entry, ...]) -> Note:
    return Note(
        id=row[1],
        session_key=session_key,
        generation=row[2],
        first_sequence=row[3],
        last_sequence=row[4],
        entries=entries,
        tokens=row[5],
        source_tokens=row[6],
        written_by=row[7],
        provisional=bool(row[8]),
        created_at=from_micros(row[9]),
    )


def _entry(row: Any) -> Entry:
    _, id, _, text, kind, priority, status, origin, author, said_at, first, last, sources = row
    return Entry(
        id=id,
        text=text,
        kind=EntryKind(kind),
        priority=Priority(priority),
        status=Status(status),
        origin=Speaker(origin),
        author=author,
        said_at=from_micros(said_at),
        refers_to=Period(first=date.fromisoformat(first), last=date.fromisoformat(last)) if first else None,
        sources=_sources(sources),
    )


def _entry_values(one: Entry, place: int) -> dict[str, Any]:
    return {
        "id": one.id,
        "position": place,
        "text": one.text,
        "kind": one.kind.value,
        "priority": one.priority.value,
        "status": one.status.value,
        "origin": one.origin.value,
        "author": one.author,
        "said_at": to_micros(one.said_at),
        "refers_first": one.refers_to.first.isoformat() if one.refers_to else None,
        "refers_last": one.refers_to.last.isoformat() if one.refers_to else None,
        "sources": dump_json(list(one.sources)),
    }


def _sources(value: object) -> tuple[int, ...]:
    found = load_json(value)
    assert isinstance(found, list)
    return tuple(map(int, found))


def _union(sources: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sorted({sequence for each in sources for sequence in each}))
