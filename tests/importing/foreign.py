"""Files of other programs, written the way those programs write them."""

import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel


@contextmanager
def qdrant_module() -> Iterator[type[BaseModel]]:
    """The class that Qdrant's client pickles its points as, under the name it has there."""
    module = ModuleType("qdrant_client.http.models.models")

    class PointStruct(BaseModel):
        id: int | str
        vector: list[float]
        payload: dict[str, Any] | None = None

    PointStruct.__module__, PointStruct.__qualname__ = module.__name__, "PointStruct"
    module.PointStruct = PointStruct  # type: ignore[attr-defined]
    parts = module.__name__.split(".")
    packages = {name: ModuleType(name) for end in range(1, len(parts)) if (name := ".".join(parts[:end]))}
    modules = {**packages, module.__name__: module}
    sys.modules.update(modules)
    try:
        yield PointStruct
    finally:
        for name in modules:
            del sys.modules[name]


def write_qdrant(folder: Path, payloads: Mapping[str, Mapping[str, Any]], *, protocol: int = 4) -> None:
    """A local collection of Qdrant with these payloads by id."""
    place = folder / "collection" / "mem0"
    place.mkdir(parents=True)
    with closing(sqlite3.connect(place / "storage.sqlite")) as connection, connection, qdrant_module() as point:
        connection.execute("CREATE TABLE IF NOT EXISTS points (id TEXT PRIMARY KEY, point BLOB)")
        for id, payload in payloads.items():
            raw = pickle.dumps(point(id=id, vector=[0.5] * 8, payload=dict(payload)), protocol)
            connection.execute("INSERT INTO points VALUES (?, ?)", (id, raw))


def write_history(path: Path, rows: Sequence[tuple[str, str | None, str | None, str, str, int]]) -> None:
    """A history of mem0: memory, old and new text, event, time, whether it is deleted."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        for number, (memory, old, new, event, at, deleted) in enumerate(rows):
            values = (str(number), memory, old, new, event, "2026-01-01T08:00:00+00:00", at, deleted, None, None)
            connection.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def write_langgraph(path: Path, items: Sequence[tuple[str, str, object]]) -> None:
    """A SQLite store of LangGraph: prefix, key, value."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP"
            " DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expires_at TIMESTAMP,"
            " ttl_minutes REAL, PRIMARY KEY (prefix, key))"
        )
        for prefix, key, value in items:
            told = json.dumps(value).encode()
            connection.execute("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", (prefix, key, told))


def chatgpt_node(
    id: str, parent: str | None, role: str, text: str, *, at: float = 1_700_000_000.0, **more: Any
) -> dict[str, Any]:
    """A node of a conversation of ChatGPT."""
    message = {
        "id": id,
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {"id": id, "message": message, "parent": parent, "children": []}
