"""Reads ADK's SQLite files: the sessions of its session services, and the events of its memory service.

Sessions get the keys that Lamina's plugin for ADK gives them, and memories the ids of its memory service, so that an
agent goes on where it was. Of the oldest form of the file only what is plain text is read: the rest of it is pickled.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina.errors import ConfigurationError, InvalidInputError
from lamina.importing.moments import moment_of
from lamina.importing.sqlite_files import columns_of, foreign_database, rows_of
from lamina.importing.types import Found, FoundConversation, FoundMemory, LeftOut
from lamina.memory.settings import MemorySettings
from lamina.memory.types import Identifiers

if TYPE_CHECKING:
    from google.adk.events.event import Event

    from lamina.session.types import NewMessage

_WHERE: Final = ("app_name", "user_id", "session_id")
_OF_MEMORY: Final = ("event_id", "author", "timestamp", "content_json")
_AT_ONCE: Final = 500


def read_adk(path: Path, whose: Identifiers) -> Iterator[Found]:
    """The conversations and memories in one of ADK's files; it says itself whose they are."""
    _require_adk()
    with foreign_database(path) as connection:
        events, memories = columns_of(connection, "events"), columns_of(connection, "memory_events")
        if not set(_WHERE) <= events | memories:
            raise InvalidInputError(f"{path} holds neither sessions nor memories of ADK.")
        if events:
            yield from _conversations(connection, events)
        if memories:
            yield from _memories(connection)


def _conversations(connection: sqlite3.Connection, known: frozenset[str]) -> Iterator[Found]:
    from google.adk.sessions.session import Session

    from lamina.integrations.adk_turn import session_key_of

    told = ("event_data",) if "event_data" in known else ("author", "content")
    columns = (*_WHERE, "id", "timestamp", *told)
    rows = rows_of(connection, "events", columns, order=(*_WHERE, "timestamp", "rowid"))
    for place, of_session in groupby(rows, key=lambda row: row[:3]):
        app_name, user_id, session_id = map(str, place)
        key = session_key_of(Session(app_name=app_name, user_id=user_id, id=session_id))
        while stretch := list(islice(of_session, _AT_ONCE)):
            messages: list[NewMessage] = []
            for row in stretch:
                found = _message(dict(zip(columns, row, strict=True)))
                if isinstance(found, LeftOut):
                    yield found
                else:
                    messages.append(found)
            yield FoundConversation(session_key=key, user_id=user_id, messages=messages)


def _message(row: Mapping[str, Any]) -> "NewMessage | LeftOut":
    from lamina.integrations.adk_messages import message_of

    if "event_data" in row:
        fields = _object(row["event_data"])
    else:
        content = _object(row["content"])
        fields = content and {"author": row["author"], "content": content}
    event = None if fields is None else _event({**fields, "id": row["id"]}, row["timestamp"])
    if event is None:
        return LeftOut(why="the event cannot be read", what=str(row["id"])[:80])
    return message_of(event) or LeftOut(why="the event says nothing")


def _memories(connection: sqlite3.Connection) -> Iterator[Found]:
    from lamina.integrations.adk_contents import said
    from lamina.integrations.adk_memory import piece_id, pieces_of

    longest = MemorySettings().max_content_length
    for app_name, user_id, session_id, id, author, at, content in rows_of(
        connection, "memory_events", (*_WHERE, *_OF_MEMORY), order=("id",)
    ):
        event = _event({"id": str(id), "author": str(author), "content": _object(content)}, at)
        pieces = [] if event is None else pieces_of(said(event.content), longest)
        if not pieces:
            yield LeftOut(why="the event says nothing" if event else "the event cannot be read", what=str(id)[:80])
        for number, piece in enumerate(pieces):
            moment = moment_of(at)
            yield FoundMemory(
                record={
                    "id": piece_id(str(app_name), str(user_id), str(session_id), str(id), number),
                    "content": piece,
                    "layer": "agent",
                    "identifiers": {"agent_id": app_name, "user_id": user_id},
                    "metadata": {"adk_event": id, "adk_session": session_id},
                    "source": {
                        "kind": "conversation",
                        "conversation": session_id,
                        "author": author or None,
                        "said_at": moment and moment.isoformat(),
                        "reference": id,
                    },
                    "created_at": moment and moment.isoformat(),
                }
            )


def _event(fields: Mapping[str, Any], at: object) -> "Event | None":
    from google.adk.events.event import Event
    from pydantic import ValidationError

    moment = moment_of(at)
    given = {"timestamp": moment.timestamp()} if moment is not None else {}
    try:
        return Event.model_validate({**given, **fields})
    except ValidationError:
        return None


def _object(text: object) -> dict[str, Any] | None:
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else text
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _require_adk() -> None:
    try:
        import google.adk.events.event  # noqa: F401
    except ImportError:
        raise ConfigurationError("Files of ADK are read with its package: pip install 'lamina[adk]'") from None
