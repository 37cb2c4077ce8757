"""Notes on conversations for an export and from an import: one record a session, with how far it was observed.

It comes before the session's messages, and is taken only by a session in which nothing was said yet: so no message is
observed twice, and none is missed. Leases and their versions stay behind.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, load_json
from lamina.kernel.checks import is_whole, refuse
from lamina.observation.tables import note, note_entry, observation_state
from lamina.observation.types import SET_ASIDE, EntryKind, Priority, Speaker, Status
from lamina.session.checked import check_session_key
from lamina.session.reading import find_session
from lamina.session.tables import session
from lamina.transfer.fields import MOST, Field, Shape, choice, each, flag, moment, name, optional, text, whole, words
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record

_OWN = ("tenant", "session_row", "version", "lease_owner", "leased_at", "lease_until")
_MOMENTS = ("next_attempt_at", "reflect_at", "rewrite_at")
_LONGEST = 100_000


def _state_field(column: "sa.Column[Any]") -> Field:
    if column.name in _MOMENTS:
        return optional(moment())
    return optional(words(longest=_LONGEST)) if column.nullable else whole()


def _check_day(name: str, given: object) -> str:
    try:
        return date.fromisoformat(given).isoformat()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        refuse(f"{name} must be a day, such as 2026-05-01.", None, field=name)


def _check_sources(name: str, given: object) -> str:
    if not isinstance(given, list) or not given or not all(is_whole(one, 1, MOST) for one in given):
        refuse(f"{name} must be a list of one or more sequence numbers.", None, field=name)
    if given != sorted(set(given)):
        refuse(f"{name} must rise.", None, field=name)
    return dump_json(given)


_STATE = Shape("state", **{c.name: _state_field(c) for c in observation_state.c if c.name not in _OWN})
_NOTE = Shape(
    "notes",
    id=name(),
    generation=whole(least=SET_ASIDE),
    first_sequence=whole(),
    last_sequence=whole(),
    tokens=whole(),
    source_tokens=whole(),
    written_by=name(longest=1024),
    provisional=flag(stored=int),
    created_at=moment(),
)
_ENTRY = Shape(
    "entries",
    id=name(),
    text=text(longest=_LONGEST),
    kind=choice(EntryKind),
    priority=choice(Priority),
    status=choice(Status),
    origin=choice(Speaker),
    author=optional(name()),
    said_at=moment(),
    refers_first=optional(Field(_check_day)),
    refers_last=optional(Field(_check_day)),
    sources=Field(_check_sources, load_json),
)
_INSERT_STATE = Prepared(sa.insert(observation_state))
_INSERT_NOTE = Prepared(
    sa.insert(note).values({c.name: sa.bindparam(c.name) for c in note.c if c.name != "row"}).returning(note.c.row)
)
_INSERT_ENTRY = Prepared(
    sa.insert(note_entry).values({c.name: sa.bindparam(c.name) for c in note_entry.c if c.name != "row"})
)
_FREE = {"version": 0, "lease_owner": None, "leased_at": None, "lease_until": None}


class NoteCarrier:
    """What was noted of each session, as one record."""

    kind = "notes"

    def count(self, link: Link, tenant: str) -> int:
        """How many sessions were looked at."""
        of = observation_state.c
        return int(link.execute(sa.select(sa.func.count()).where(of.tenant == tenant)).scalar_one())

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """What was noted, session by session; notes in the order in which they are kept."""
        of = observation_state.c
        rows = link.execute(
            sa.select(of.session_row, session.c.key, *(of[name] for name in _STATE.names))
            .join_from(observation_state, session, session.c.row == of.session_row)
            .where(of.tenant == tenant, session.c.tenant == tenant, of.session_row > (after or 0))
            .order_by(of.session_row)
            .limit(limit)
        ).all()
        return [
            (
                row[0],
                {"session_key": row[1], "state": _STATE.record(row[2:]), "notes": _notes(link, tenant, row[0])},
            )
            for row in rows
        ]

    def parse(self, given: object) -> Carried:
        """What was noted of a session."""
        if not isinstance(given, dict) or set(given) != {"session_key", "state", "notes"}:
            refuse("The notes of a session have session_key, state and notes.", None, field="notes")
        key = check_session_key(given["session_key"])
        return Carried(
            key=key, values=_STATE.values(given["state"]), parts=[_note(one) for one in each(given, "notes")]
        )

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store notes of sessions that are empty and that nobody looked at yet."""
        stored = 0
        for item in batch.items:
            held = find_session(link, batch.tenant, item.key, hold=True)
            if held is None:
                raise item.refused("there is no line with its session before it.")
            if held.session.last_sequence or _is_known(link, batch.tenant, held.row):
                continue
            _refuse_known_ids(link, batch.tenant, item)
            common = {"tenant": batch.tenant, "session_row": held.row}
            link.run(_INSERT_STATE, {**item.values, **common, **_FREE})
            for one in item.parts:
                made = {name: one[name] for name in _NOTE.names}
                row: int = link.run(_INSERT_NOTE, {**made, **common}).fetchone()[0]
                of = {"tenant": batch.tenant, "note_row": row}
                entries = [{**entry, **of, "position": place} for place, entry in enumerate(one["entries"])]
                if entries:
                    link.run_many(_INSERT_ENTRY, entries)
            stored += 1
        return Outcome(stored=stored, skipped=len(batch.items) - stored)


def _notes(link: Link, tenant: str, session_row: int) -> list[Record]:
    rows = link.execute(
        sa.select(note.c.row, *(note.c[name] for name in _NOTE.names))
        .where(note.c.tenant == tenant, note.c.session_row == session_row)
        .order_by(note.c.last_sequence, note.c.row)
    ).all()
    entries: dict[int, list[Record]] = {row[0]: [] for row in rows}
    found = link.execute(
        sa.select(note_entry.c.note_row, *(note_entry.c[name] for name in _ENTRY.names))
        .join_from(note_entry, note, note_entry.c.note_row == note.c.row)
        .where(note.c.tenant == tenant, note_entry.c.tenant == tenant, note.c.session_row == session_row)
        .order_by(note_entry.c.note_row, note_entry.c.position)
    )
    for row in found:
        entries[row[0]].append(_ENTRY.record(row[1:]))
    return [{**_NOTE.record(row[1:]), "entries": entries[row[0]]} for row in rows]


def _note(given: object) -> Record:
    values = _NOTE.values(given, further=("entries",))
    assert isinstance(given, dict)
    entries = [_ENTRY.values(one) for one in each(given, "entries")]
    if any((one["refers_first"] is None) != (one["refers_last"] is None) for one in entries):
        refuse("refers_first and refers_last go together.", None, field="entries")
    return {**values, "entries": entries}


def _is_known(link: Link, tenant: str, session_row: int) -> bool:
    of = observation_state.c
    found = sa.select(of.session_row).where(of.tenant == tenant, of.session_row == session_row)
    return link.execute(found).first() is not None


def _refuse_known_ids(link: Link, tenant: str, item: Carried) -> None:
    """Raise InvalidInputError for an id that occurs twice, or in another session: each names one note or entry."""
    for table, ids in (
        (note, [one["id"] for one in item.parts]),
        (note_entry, [entry["id"] for one in item.parts for entry in one["entries"]]),
    ):
        if len(set(ids)) < len(ids) or _any_stored(link, table, tenant, ids):
            raise item.refused("the id of one of its notes or entries is that of another.")


def _any_stored(link: Link, table: sa.Table, tenant: str, ids: Sequence[str]) -> bool:
    chunks = (ids[start : start + 500] for start in range(0, len(ids), 500))
    return any(
        link.execute(sa.select(table.c.row).where(table.c.tenant == tenant, table.c.id.in_(chunk)).limit(1)).first()
        for chunk in chunks
    )
