"""Reads stores of LangGraph: SQLite or PostgreSQL tables, or their items as JSON.

Items become what Lamina's own store for LangGraph would have made of them, so that an agent finds them there again.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from lamina.database.address import create_engine, parse_address
from lamina.errors import InvalidInputError
from lamina.importing.json_files import json_items
from lamina.importing.moments import moment_text
from lamina.importing.sqlite_files import columns_of, foreign_database, is_sqlite, rows_of
from lamina.importing.types import Found, FoundMemory, LeftOut
from lamina.integrations.langgraph_items import KEY, item_id, item_metadata, item_text
from lamina.integrations.langgraph_namespaces import LAYOUTS, Namespace, Namespaces
from lamina.memory.settings import MemorySettings
from lamina.memory.types import Identifiers

_COLUMNS: Final = ("prefix", "key", "value", "created_at", "updated_at")
_LATER: Final = ("expires_at", "ttl_minutes")


def read_langgraph(path: Path, whose: Identifiers, layouts: Sequence[Namespace] = ()) -> Iterator[Found]:
    """The items of a store; `path` may also be a postgresql:// address. `layouts` are those of `LaminaStore`."""
    namespaces = Namespaces([*layouts, *LAYOUTS], project_id=whose.project_id or KEY)
    for item in _items(path):
        yield _memory(item, namespaces)


def _items(path: Path) -> Iterator[Mapping[str, Any]]:
    address = str(path).replace(":/", "://", 1) if str(path).startswith("postgres") else ""
    if address:
        yield from _from_postgres(address)
    elif is_sqlite(path):
        with foreign_database(path) as connection:
            yield from _from_sqlite(path, connection)
    else:
        for item in json_items(path, lists=("items", "results")):
            labels = item.get("namespace")
            namespace = labels.split(".") if isinstance(labels, str) else labels
            yield {**item, "namespace": namespace}


def _from_sqlite(path: Path, connection: sqlite3.Connection) -> Iterator[Mapping[str, Any]]:
    known = columns_of(connection, "store")
    if not set(_COLUMNS) <= known:
        raise InvalidInputError(f"{path} is no store of LangGraph: it has no table `store` with prefix, key and value.")
    columns = [*_COLUMNS, *(name for name in _LATER if name in known)]
    for row in rows_of(connection, "store", columns):
        yield _item(dict(zip(columns, row, strict=True)))


def _from_postgres(address: str) -> Iterator[Mapping[str, Any]]:
    table = sa.table("store", *(sa.column(name) for name in (*_COLUMNS, *_LATER)))
    with _reading(address) as connection:
        for row in connection.execution_options(yield_per=500).execute(sa.select(*table.c)).mappings():
            yield _item(dict(row))


@contextmanager
def _reading(address: str) -> Iterator[sa.Connection]:
    try:
        with create_engine(parse_address(address), busy_timeout_s=10).connect() as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        raise InvalidInputError(
            f"The store of LangGraph cannot be read: {type(error.orig).__name__}.",
            details={"next": "Check the address, and that the table `store` is there."},
        ) from None


def _item(row: Mapping[str, Any]) -> Mapping[str, Any]:
    value = row["value"]
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    return {**row, "namespace": str(row["prefix"]).split("."), "value": value}


def _memory(item: Mapping[str, Any], namespaces: Namespaces) -> Found:
    key, value, namespace = item.get("key"), item.get("value"), _labels(item.get("namespace"))
    if not isinstance(key, str) or not isinstance(value, dict) or namespace is None:
        return LeftOut(why="it has no namespace, no key or no object as its value", what=str(key or "")[:80])
    place = namespaces.place(namespace)
    text = item_text(value)[: MemorySettings().max_content_length]
    made = moment_text(item.get("created_at"))
    changed = moment_text(item.get("updated_at")) or made
    ttl = item.get("ttl_minutes")
    return FoundMemory(
        record={
            "id": item_id(namespace, key),
            "content": (text.strip() and text) or key.strip() or "(no key)",
            "layer": place.layer.value,
            "identifiers": place.identifiers.to_dict(),
            "metadata": item_metadata(
                namespace,
                key,
                value,
                indexed=bool(text.strip()),
                ttl=float(ttl) if isinstance(ttl, int | float) else None,
                put_at=changed or "1970-01-01T00:00:00+00:00",
            ),
            "source": {"kind": "import", "reference": f"langgraph:{'.'.join(namespace)}"[:200]},
            "created_at": made,
            "updated_at": changed,
            "expires_at": moment_text(item.get("expires_at")),
        }
    )


def _labels(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)
