"""From what a user types to an engine: a path, `:memory:`, or an address."""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from lamina.errors import ConfigurationError

_EXACT_INTEGER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A store's place. `path` is the file of an embedded store."""

    url: sa.URL
    path: Path | None

    @property
    def label(self) -> str:
        """For people: never shows a password."""
        return str(self.path) if self.path else self.url.render_as_string(hide_password=True)


def parse_address(text: str) -> Address:
    """Where the store is; raises ConfigurationError for what is neither a path nor a known address."""
    if "://" not in text:
        path = Path(text.removeprefix("file:")).expanduser()
        return Address(url=sa.URL.create("sqlite", database=str(path)), path=path)
    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        raise ConfigurationError(
            "The store's address cannot be read; use a file path or postgresql://user:password@host/database."
        ) from None
    kind = url.get_backend_name()
    if kind in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    elif kind == "sqlite":
        if not url.database:
            raise ConfigurationError("An embedded store needs a file; use a path such as lamina.db.")
        return Address(url=url, path=Path(url.database))
    else:
        raise ConfigurationError(
            f"Lamina keeps its store in SQLite or PostgreSQL, not in {kind!r}; use a file path or postgresql://..."
        )
    return Address(url=url, path=None)


def create_engine(address: Address, *, busy_timeout_s: float) -> sa.Engine:
    """An engine whose connections are held by threads, not pooled: the Database owns them."""
    if address.path is not None:
        return _sqlite_engine(address, busy_timeout_s)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigurationError("PostgreSQL needs the extra `postgres`: pip install 'lamina[postgres]'") from None
    return sa.create_engine(
        address.url, poolclass=sa.NullPool, json_deserializer=_load_jsonb, connect_args={"connect_timeout": 10}
    )


def _load_jsonb(text: str | bytes) -> Any:
    """JSON as it was stored: JSONB writes 1e16 as a whole number, and no whole number that large is ever stored."""
    return json.loads(text, parse_int=_number)


def _number(digits: str) -> int | float:
    value = int(digits)
    return value if abs(value) <= _EXACT_INTEGER else float(digits)


def _sqlite_engine(address: Address, busy_timeout_s: float) -> sa.Engine:
    engine = sa.create_engine(
        address.url,
        poolclass=sa.NullPool,
        paramstyle="named",
        connect_args={"check_same_thread": False, "timeout": busy_timeout_s},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves; the driver's guesses break snapshots
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA cache_size=-16000")

    return engine
