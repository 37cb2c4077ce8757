"""Conversations for an export and from an import: first the sessions, empty, then their messages.

Between the two comes what other rooms know of a session, so that nobody takes an imported message for a new one. A
conversation is never replaced: what is there stays, and messages are added only to the end of the same conversation.
"""

from collections.abc import Sequence
from itertools import groupby

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import from_micros, load_json
from lamina.index.late import put_terms
from lamina.index.store import touch
from lamina.kernel.checks import refuse
from lamina.kernel.session_key import channel_of
from lamina.session.appending import INSERT, reserve_rows
from lamina.session.checked import check_message, check_session_key
from lamina.session.preparing import ranked_by
from lamina.session.reading import StoredSession, find_session
from lamina.session.rows import dump_parts, load_parts, message_scope, searched_text
from lamina.session.settings import SessionSettings
from lamina.session.tables import message, session
from lamina.session.types import MessageKind, NewMessage, Part, Role
from lamina.transfer.fields import Field, Shape, choice, each, moment, name, optional, whole, words
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, page, present_keys

_KEY = Field(lambda _, given: check_session_key(given))
_SESSION = Shape("session", key=_KEY, user_id=optional(name()), created_at=moment(), updated_at=moment())
_MESSAGE = Shape(
    "message",
    session_key=_KEY,
    sequence=whole(),
    kind=choice(MessageKind),
    id=words(longest=1024),
    role=choice(Role),
    author=optional(name()),
    content=words(),
    tokens=whole(),
    at=moment(),
    archived_at=optional(moment()),
    after=optional(words(longest=1024)),
)
_STORED = ("sequence", "kind", "id", "role", "author", "content", "tokens", "at", "archived_at")
_FURTHER = ("parts", "original")
_TYPES = ("call", "result", "attachment")
_SAID = MessageKind.MESSAGE.value

_INSERT_SESSION = Prepared(
    sa.insert(session).values({c.name: sa.bindparam(c.name) for c in session.c if c.name != "row"})
)
_ADVANCE = Prepared(
    sa.update(session)
    .where(session.c.tenant == sa.bindparam("of_tenant"), session.c.row == sa.bindparam("of_session"))
    .values({name: sa.bindparam(name) for name in ("last_sequence", "archived", "total_tokens")})
)


class SessionCarrier:
    """Sessions without what was said in them; one that is there stays, except that it can be an error."""

    kind = "session"

    def count(self, link: Link, tenant: str) -> int:
        """How many sessions there are."""
        return count_rows(link, session, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Sessions in the order in which they began."""
        found = page(link, session, tenant, _SESSION.names, after, limit)
        return [(row, _SESSION.record(values)) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A session."""
        values = _SESSION.values(given)
        return Carried(key=values["key"], values=values)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Make those sessions that are not there, empty."""
        present = present_keys(link, session.c.key, batch)
        chosen = [item for item in batch.chosen(present) if item.key not in present]
        empty = {"tenant": batch.tenant, "last_sequence": 0, "archived": 0, "total_tokens": 0}
        if chosen:
            link.run_many(
                _INSERT_SESSION, [{**item.values, **empty, "channel": channel_of(item.key)} for item in chosen]
            )
        return Outcome(stored=len(chosen), skipped=len(batch.items) - len(chosen))


class MessageCarrier:
    """Messages and summaries, each with the id of the message before it: so a conversation is told from another one.

    Where the session here went another way than the one in the lines, the rest of it is left out.
    """

    kind = "message"

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._apart: set[str] = set()

    def count(self, link: Link, tenant: str) -> int:
        """How many messages and summaries there are."""
        return count_rows(link, message, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Messages by session and sequence number, a summary behind the last message it stands for."""
        place = (message.c.session_row, message.c.sequence, message.c.kind)
        wanted = [message.c.tenant == tenant, session.c.tenant == tenant]
        before: str | None = None
        current = 0
        if after is not None:
            current, before = after[0], after[3]
            wanted.append(sa.tuple_(*place) > sa.tuple_(*after[:3]))
        rows = link.execute(
            sa.select(message.c.session_row, message.c.parts, session.c.key, *(message.c[name] for name in _STORED))
            .join_from(message, session, message.c.session_row == session.c.row)
            .where(*wanted)
            .order_by(*place)
            .limit(limit)
        )
        found: list[tuple[Cursor, Record]] = []
        for row in rows:
            if row[0] != current:
                current, before = row[0], None
            record = _MESSAGE.record([*row[2:], before])
            if record["kind"] == _SAID:
                before = record["id"]
            found.append(((current, record["sequence"], record["kind"], before), {**record, **_parts_record(row[1])}))
        return found

    def parse(self, given: object) -> Carried:
        """A message or a summary, checked as if it were appended."""
        values = _MESSAGE.values(given, further=_FURTHER)
        assert isinstance(given, dict)
        at = from_micros(values["at"])
        new = check_message(
            NewMessage(
                role=Role(values["role"]),
                content=values["content"],
                parts=_parts(each({"parts": given.get("parts") or []}, "parts")),
                author=values["author"],
                at=at,
                id=values["id"],
                original=given.get("original"),
            ),
            self._settings,
        )
        key, sequence, kind = values["session_key"], values["sequence"], values["kind"]
        said = kind == _SAID
        if said and not sequence:
            refuse("The sequence of a message begins with 1.", None, field="sequence")
        if said and sequence > 1 and values["after"] is None:
            refuse("A message needs after, the id of the message before it.", None, field="after")
        return Carried(
            key=f"{sequence} {kind} {key}",
            values={**values, "parts": dump_parts(new.parts, new.original)},
            text=searched_text(new.content, new.parts) if said else None,
            about={**ranked_by(key, new.author, at), "sequence": sequence},
        )

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Add what is new to the ends of its sessions."""
        stored = apart = 0
        for key, group in groupby(batch.items, key=lambda item: str(item.values["session_key"])):
            items = list(group)
            held = find_session(link, batch.tenant, key, hold=True)
            if held is None:
                raise items[0].refused("there is no line with its session before it.")
            end = _End(link, held, items)
            new = [(item, values) for item in items if (values := self._next(end, item)) is not None]
            if new:
                _extend(link, held, end, new, batch.model_id)
            stored += len(new)
            apart += end.apart
        return Outcome(stored=stored, apart=apart, skipped=len(batch.items) - stored - apart)

    def _next(self, end: "_End", item: Carried) -> Record | None:
        """The stored form of a record that continues the session, whose end moves with it; None for another one."""
        given = item.values
        key, sequence = given["session_key"], given["sequence"]
        values = {name: given[name] for name in (*_STORED, "parts")}
        if item.text is None and key not in self._apart:
            return values if end.take_summary(sequence) else None
        if sequence > end.sequence + 1 and key not in self._apart:
            raise item.refused(f"message {end.sequence + 1} of its session is missing before it.")
        known = end.at.get(sequence)
        same = given["id"] == known if known else end.id in (None, given["after"])
        if key in self._apart or not same:
            self._apart.add(key)
            end.apart += 1
            return None
        if known:
            return None
        if given["id"] in end.ids:
            raise item.refused("its id is that of another message of its session.")
        return end.take(values)


class _End:
    """The end of a session, as an import moves it."""

    def __init__(self, link: Link, held: StoredSession, items: Sequence[Carried]) -> None:
        columns = message.c
        mine = (columns.tenant == held.tenant, columns.session_row == held.row)
        said = (*mine, columns.kind == _SAID)
        self.sequence = held.session.last_sequence
        self.archived = held.session.archived_count
        self.apart = 0
        self.id: str | None = link.execute(
            sa.select(columns.id).where(*said, columns.sequence == self.sequence)
        ).scalar()
        at = columns.sequence.in_([item.values["sequence"] for item in items])
        self.at = {row[0]: row[1] for row in link.execute(sa.select(columns.sequence, columns.id).where(*said, at))}
        known = sa.select(columns.id).where(*mine, columns.id.in_([item.values["id"] for item in items]))
        self.ids: set[str] = set(link.execute(known).scalars())
        summed = sa.select(columns.row).where(*mine, columns.kind == MessageKind.SUMMARY.value)
        self._summed = link.execute(summed).first() is not None

    def take(self, values: Record) -> Record:
        """Move to a message. It stays out of the archive where the message before it is not in it."""
        archived = values["archived_at"] is not None and self.archived == self.sequence
        self.sequence, self.id = values["sequence"], values["id"]
        self.ids.add(values["id"])
        if archived:
            self.archived = self.sequence
        return values if archived else {**values, "archived_at": None}

    def take_summary(self, sequence: int) -> bool:
        """Whether a summary stands for what is archived here, and there is none yet."""
        if self._summed or sequence != self.archived:
            return False
        self._summed = True
        return True


def _extend(
    link: Link, held: StoredSession, end: _End, new: Sequence[tuple[Carried, Record]], model_id: int | None
) -> None:
    """Store messages at the end of a session, and move it there."""
    said = sum(item.text is not None for item, _ in new)
    place = touch(link, message_scope(held.tenant, held.row), added=said)
    total = held.session.total_tokens
    rows, terms = [], []
    for row, (item, values) in zip(reserve_rows(link, len(new)), new, strict=True):
        index = {"scope_id": 0, "indexed": 0}
        if item.text is not None:
            total += values["tokens"]
            index = {"scope_id": place.scope_id, "indexed": place.version}
            terms.append((row, item.indexed))
        common = {"row": row, "tenant": held.tenant, "session_row": held.row, "total_tokens": total}
        rows.append({**values, **common, **index})
    link.run_many(INSERT, rows)
    put_terms(link, place, tenant=held.tenant, rows=terms, model_id=model_id)
    counts = {"last_sequence": end.sequence, "archived": end.archived, "total_tokens": total}
    link.run(_ADVANCE, {**counts, "of_tenant": held.tenant, "of_session": held.row})


def _parts_record(stored: object) -> Record:
    found = load_json(stored)
    assert isinstance(found, list)
    original = found[-1]["text"] if found and found[-1]["type"] == "original" else None
    return {"parts": [part for part in found if part["type"] in _TYPES], "original": original}


def _parts(given: Sequence[object]) -> tuple[Part, ...]:
    if not all(isinstance(one, dict) and one.get("type") in _TYPES for one in given):
        refuse(f"A part must be an object whose type is one of {', '.join(_TYPES)}.", None, field="parts")
    try:
        return load_parts(list(given))
    except TypeError:
        refuse("A part has a field that is not its own, or lacks one.", None, field="parts")
