"""Reads mem0: its Qdrant folder, its SQLite history, or a JSON export of what `get_all` gives.

A memory of a user belongs to the user layer, one of a user's agent to the agent layer, one of a user's run to the
session layer. The history does not say whose a memory is: there the caller has to.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from lamina.errors import InvalidInputError
from lamina.importing.json_files import json_items
from lamina.importing.moments import moment_text
from lamina.importing.pickled import Thing, read_pickled
from lamina.importing.sqlite_files import columns_of, foreign_database, is_sqlite, rows_of
from lamina.importing.types import Found, FoundMemory, LeftOut
from lamina.memory.types import Identifiers

_OWN: Final = frozenset(
    (
        *("id", "memory", "data", "text", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id"),
        *("metadata", "categories", "score", "text_lemmatized", "attributed_to"),
    )
)
_HISTORY: Final = ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")


def read_mem0(path: Path, whose: Identifiers) -> Iterator[Found]:
    """What mem0 keeps in a folder, a SQLite file or a JSON file."""
    stores = sorted(path.rglob("storage.sqlite")) if path.is_dir() else []
    if stores:
        for store in stores:
            yield from _points(store, whose)
    elif path.is_dir() and (path / "history.db").exists():
        yield from _history(path / "history.db", whose)
    elif is_sqlite(path):
        with foreign_database(path) as connection:
            is_history = bool(columns_of(connection, "history"))
        yield from _history(path, whose) if is_history else _points(path, whose)
    else:
        for item in json_items(path, lists=("results", "memories")):
            yield _memory(item, whose)


def _points(path: Path, whose: Identifiers) -> Iterator[Found]:
    with foreign_database(path) as connection:
        if not {"id", "point"} <= columns_of(connection, "points"):
            raise InvalidInputError(f"{path} is no collection of Qdrant: it has no table of points.")
        for name, raw in rows_of(connection, "points", ("id", "point")):
            payload = _payload(raw)
            if payload is None:
                yield LeftOut(why="the point holds nothing that can be read", what=str(name)[:80])
            elif "data" in payload or "memory" in payload:
                yield _memory(payload, whose)
            else:
                yield LeftOut(why="the point is not one of mem0's memories", what=str(payload.get("id", name))[:80])


def _payload(raw: object) -> dict[str, Any] | None:
    """What a stored point says, with its id."""
    try:
        point = read_pickled(raw) if isinstance(raw, bytes) else None
    except InvalidInputError:
        return None
    state = point.state if isinstance(point, Thing) else None
    fields = state.get("__dict__") if isinstance(state, dict) else None
    payload = fields.get("payload") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(payload, dict):
        return None
    return {**payload, "id": fields.get("id")}


def _memory(item: Mapping[str, Any], whose: Identifiers) -> Found:
    id, content = item.get("id"), item.get("memory") or item.get("data") or item.get("text")
    if not id or not isinstance(content, str) or not content.strip():
        return LeftOut(why="it has no id or no text", what=str(id or "")[:80])
    user = item.get("user_id") or whose.user_id
    agent, run = item.get("agent_id") or whose.agent_id, item.get("run_id") or whose.session_id
    if not user:
        return LeftOut(why="it does not say which user it belongs to; name one with --user", what=str(id))
    if agent:
        layer, identifiers = "agent", {"agent_id": agent, "user_id": user}
    elif run:
        layer, identifiers = "session", {"user_id": user, "session_id": run}
    else:
        layer, identifiers = "user", {"user_id": user}
    own, categories = item.get("metadata"), item.get("categories")
    extra = {name: value for name, value in item.items() if name not in _OWN and value is not None}
    return FoundMemory(
        record={
            "id": f"mem0-{id}",
            "content": content,
            "layer": layer,
            "identifiers": identifiers,
            "metadata": {**extra, **(own if isinstance(own, dict) else {})},
            "tags": [str(one) for one in categories] if isinstance(categories, list) else [],
            "source": {"kind": "import", "reference": f"mem0:{id}"},
            "created_at": moment_text(item.get("created_at")),
            "updated_at": moment_text(item.get("updated_at")),
        }
    )


def _history(path: Path, whose: Identifiers) -> Iterator[Found]:
    """Memories with their earlier texts, as far as they were not deleted."""
    with foreign_database(path) as connection:
        missing = set(_HISTORY) - columns_of(connection, "history")
        if missing:
            raise InvalidInputError(f"{path} is no history of mem0: it has no {', '.join(sorted(missing))}.")
        rows = rows_of(connection, "history", _HISTORY, order=("memory_id", "created_at", "updated_at", "rowid"))
        for id, events in groupby(rows, key=lambda row: row[0]):
            yield _remembered(str(id or ""), list(events), whose)


def _remembered(id: str, events: list[tuple[Any, ...]], whose: Identifiers) -> Found:
    deleted = events[-1][3] == "DELETE" or bool(events[-1][6])
    if deleted:
        return LeftOut(why="it was deleted in mem0", what=id)
    states = [(text, moment_text(changed) or moment_text(made)) for _, _, text, _, made, changed, _ in events if text]
    if not states:
        return LeftOut(why="it has no id or no text", what=id)
    first = moment_text(events[0][4]) or states[0][1]
    latest = {"id": id, "memory": states[-1][0], "created_at": first, "updated_at": states[-1][1]}
    found = _memory(latest, whose)
    if not isinstance(found, FoundMemory):
        return found
    earlier = [
        {"version": number, "content": text, "changed_at": at or first}
        for number, (text, at) in enumerate(states[:-1], start=1)
        if at or first
    ]
    return FoundMemory(record={**found.record, "revisions": earlier, "version": len(states)})
