"""Finds messages again, live and archived alike: by words and vectors within one or several sessions, or by place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import DialectName, Link, Prepared, any_of, number_list, unindexed
from lamina.errors import InvalidInputError, MissingIdentifierError
from lamina.index.engine import SearchEngine
from lamina.index.query import Query
from lamina.index.ranking import Ranked
from lamina.session.reading import (
    StoredSession,
    read_sequences,
    required_session,
    session_not_found,
    sessions_of_user,
)
from lamina.session.rows import MESSAGE_COLUMNS, message_from_row, message_scope
from lamina.session.tables import message
from lamina.session.types import MessageKind, Recall, RecallHit

NoteSources = Callable[[Link, StoredSession, str], Sequence[int] | None]
"""The sequence numbers that a note, or one of its entries, rests on; None where the session has no such note."""

_DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgresql")
_BY_ROW = {
    name: Prepared(
        sa.select(*MESSAGE_COLUMNS, message.c.session_row).where(
            unindexed(message.c.tenant, name) == sa.bindparam("tenant"), any_of(message.c.row, "rows", name)
        )
    )
    for name in _DIALECTS
}
_WITHIN = {
    name: Prepared(
        sa.select(message.c.row).where(
            message.c.tenant == sa.bindparam("tenant"),
            message.c.session_row == sa.bindparam("session_row"),
            any_of(message.c.sequence, "sequences", name),
        )
    )
    for name in _DIALECTS
}
_ROW_OF = Prepared(
    sa.select(message.c.row).where(
        message.c.tenant == sa.bindparam("tenant"),
        message.c.session_row == sa.bindparam("session_row"),
        message.c.sequence == sa.bindparam("sequence"),
        message.c.kind == sa.literal_column(f"'{MessageKind.MESSAGE.value}'"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What a caller wants to find again, checked field by field."""

    query: str | None
    key: str | None
    """None for every session of the user."""
    user_id: str | None
    first: int | None
    last: int | None
    note: str | None
    limit: int
    threshold: float
    most_sessions: int
    archived: bool = False
    """Whether only what is archived is asked for."""

    def __post_init__(self) -> None:
        if self.query is None and not self.by_place:
            raise InvalidInputError("Say what to recall: a query, first and last, or a note.")
        if self.key is None and self.by_place:
            raise MissingIdentifierError(
                "A range or a note is of one session; pass session_key.", details={"missing": ["session_key"]}
            )

    @property
    def by_place(self) -> bool:
        """Whether only some of a session's messages are asked for."""
        return self.first is not None or self.last is not None or self.note is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    row: int
    score: float
    ranked: Ranked
    place: int


def recall_messages(
    link: Link,
    engine: SearchEngine,
    tenant: str,
    request: RecallRequest,
    query: Query | None,
    *,
    now: datetime,
    note_sources: NoteSources | None,
) -> Recall:
    """What was asked for. Raises SessionNotFoundError, and InvalidInputError for a note there is not.

    A session of another user than the one named reads as absent.
    """
    if request.key is None:
        sessions, total = sessions_of_user(link, tenant, request.user_id or "", limit=request.most_sessions)
        within = None
    else:
        found = required_session(link, tenant, request.key)
        if request.user_id is not None and found.session.user_id != request.user_id:
            raise session_not_found(request.key)
        sessions, total = [found], 1
        within = _within(link, found, request, note_sources) if request.by_place else None
        if query is None:
            return _by_place(link, found, within or (), request.limit)
    assert query is not None  # RecallRequest has it where nothing is asked for by its place
    recalled = _by_words(link, engine, sessions, query, request, now, within)
    return replace(recalled, left_out_sessions=total - len(sessions))


def _within(
    link: Link, found: StoredSession, request: RecallRequest, note_sources: NoteSources | None
) -> Sequence[int]:
    """The sequence numbers that range and note have in common."""
    end = found.session.last_sequence
    numbers = range(request.first or 1, (end if request.last is None else min(request.last, end)) + 1)
    if request.note is None:
        return numbers
    sources = None if note_sources is None else note_sources(link, found, request.note)
    if sources is None:
        raise InvalidInputError(
            "The session has no such note.",
            details={"field": "note", "next": "`lamina session timeline` shows the notes of a session."},
        )
    return [number for number in sorted(set(sources)) if number in numbers]


def _by_place(link: Link, found: StoredSession, numbers: Sequence[int], limit: int) -> Recall:
    messages = read_sequences(link, found, numbers[:limit])
    hits = tuple(RecallHit(message=one, score=1.0) for one in messages)
    return Recall(hits=hits, total_count=len(numbers), searched_sessions=1)


def _by_words(
    link: Link,
    engine: SearchEngine,
    sessions: Sequence[StoredSession],
    query: Query,
    request: RecallRequest,
    now: datetime,
    within: Sequence[int] | None,
) -> Recall:
    """The messages of these sessions that fit best, best first; `within` are the sequence numbers to choose from."""
    found: list[_Found] = []
    total = 0
    for one in sessions:
        last = _last_archived_row(link, one) if request.archived else None
        if last == 0:
            continue
        # Live messages are few and the newest: with room for all of them, the best of the archived ones are there.
        live = 0 if last is None else one.session.last_sequence - one.session.archived_count
        ranked = engine.rank(
            link,
            message_scope(one.tenant, one.row),
            query,
            limit=request.limit + live,
            threshold=request.threshold,
            now=now.timestamp(),
            allowed=None if within is None else _allowed(one, within),
        )
        if ranked is not None:
            rows = enumerate(zip(ranked.entries.tolist(), ranked.scores.tolist(), strict=True))
            asked = [_Found(row=row, score=score, ranked=ranked, place=place) for place, (row, score) in rows]
            kept = [item for item in asked if last is None or item.row <= last]
            total += ranked.total - (len(asked) - len(kept))
            found += kept
    found.sort(key=lambda item: (-item.score, -item.row))
    hits = _read(link, sessions, found[: request.limit])
    return Recall(hits=hits, total_count=total, searched_sessions=len(sessions))


def _read(link: Link, sessions: Sequence[StoredSession], found: Sequence[_Found]) -> tuple[RecallHit, ...]:
    if not found:
        return ()
    keys = {one.row: one.key for one in sessions}
    params = {"tenant": sessions[0].tenant, "rows": number_list([item.row for item in found], link.name)}
    read = {row[0]: row for row in link.run(_BY_ROW[link.name], params).fetchall() if row[-1] in keys}
    # On PostgreSQL a session can go between ranking and reading.
    return tuple(
        RecallHit(
            message=message_from_row(read[item.row], keys[read[item.row][-1]]),
            score=item.score,
            signals=item.ranked.signals[item.place].parts(),
        )
        for item in found
        if item.row in read
    )


def _last_archived_row(link: Link, found: StoredSession) -> int:
    """The row of the last message that is archived, 0 where none is; rows of a session ascend as its messages do."""
    if not found.session.archived_count:
        return 0
    params = {"tenant": found.tenant, "session_row": found.row, "sequence": found.session.archived_count}
    row = link.run(_ROW_OF, params).fetchone()
    return 0 if row is None else int(row[0])


def _allowed(found: StoredSession, within: Sequence[int]) -> Callable[[Link, int], NDArray[np.int64]]:
    def rows(link: Link, _scope_id: int) -> NDArray[np.int64]:
        params = {
            "tenant": found.tenant,
            "session_row": found.row,
            "sequences": number_list(within, link.name),
        }
        return np.array([row[0] for row in link.run(_WITHIN[link.name], params).fetchall()], np.int64)

    return rows
