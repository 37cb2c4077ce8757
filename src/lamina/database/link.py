"""A connection in the hands of one thread, and statements compiled once.

`Prepared` statements go straight to the driver: SQLAlchemy's execution costs 35 to 60 microseconds a statement
where SQLite itself needs 8, and an add runs five of them inside the time of one fsync. They are still built with
SQLAlchemy Core, so both engines get their own SQL from one definition and values are always bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import sqlalchemy as sa

DialectName = Literal["sqlite", "postgresql"]


class Cursor(Protocol):
    """What both drivers' cursors offer."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def fetchmany(self, size: int) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Prepared:
    """A Core statement compiled once per engine. Parameters are passed by name, already in stored form."""

    __slots__ = ("_compiled", "statement")

    def __init__(self, statement: sa.Executable) -> None:
        self.statement = statement
        self._compiled: dict[str, tuple[str, dict[str, Any]]] = {}

    def compiled(self, dialect: sa.Dialect) -> tuple[str, dict[str, Any]]:
        """The SQL text and the values fixed inside the statement itself."""
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self.statement.compile(dialect=dialect)  # type: ignore[attr-defined]
            fixed = {name: value for name, value in compiled.params.items() if value is not None}
            found = self._compiled[dialect.name] = (str(compiled), fixed)
        return found


class Link:
    """One open connection, used by one thread at a time."""

    __slots__ = ("connection", "dialect", "name", "raw")

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.dialect = connection.dialect
        self.name: DialectName = "postgresql" if self.dialect.name == "postgresql" else "sqlite"
        self.raw: Any = connection.connection.driver_connection

    def run(self, statement: Prepared, params: Mapping[str, Any]) -> Cursor:
        """Execute a prepared statement with its values."""
        text, fixed = statement.compiled(self.dialect)
        cursor: Cursor = self.raw.execute(text, {**fixed, **params} if fixed else params)
        return cursor

    def run_many(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute a prepared statement once a row; how many rows it changed."""
        if len(rows) == 1:
            return self.run(statement, rows[0]).rowcount
        text, fixed = statement.compiled(self.dialect)
        cursor = self.raw.cursor()
        cursor.executemany(text, [{**fixed, **row} for row in rows] if fixed else rows)
        changed: int = cursor.rowcount
        return changed

    def execute(
        self, statement: sa.Executable, params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        """Execute a Core statement that is not worth preparing, such as one built from a caller's filter."""
        result: sa.CursorResult[*tuple[Any, ...]] = self.connection.execute(statement, params)
        return result

    def lock(self, key: int) -> None:
        """Hold a lock named by `key` until this transaction ends; a SQLite writer is alone anyway."""
        if self.name == "postgresql":
            self.raw.execute("SELECT pg_advisory_xact_lock(%s)", (key,))

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of this transaction that is undone alone when the block raises."""
        if self.name == "postgresql":
            with self.raw.transaction():
                yield
            return
        self.raw.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:  # boundary: whatever went wrong, the part is undone and the caller told
            if self.raw.in_transaction:  # not after an error that made SQLite give up the whole transaction
                self.raw.execute("ROLLBACK TO part")
                self.raw.execute("RELEASE part")
            raise
        self.raw.execute("RELEASE part")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One view of the store for several reads; a SQLite read has that anyway."""
        if self.name == "sqlite":
            yield
            return
        with self.raw.transaction():
            self.raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def any_of(column: sa.ColumnElement[int], name: str, dialect: DialectName) -> sa.ColumnElement[bool]:
    """`column` is one of the whole numbers bound as `name` (see `number_list`), whatever their count."""
    if dialect == "postgresql":
        numbers = sa.bindparam(name, type_=sa.ARRAY(sa.BigInteger))
        return column == sa.any_(numbers)
    values = sa.func.json_each(sa.bindparam(name, type_=sa.Text)).table_valued("value")
    return column.in_(sa.select(values.c.value))


def number_list(values: Sequence[int], dialect: DialectName) -> object:
    """The bound form of the numbers for `any_of`."""
    return list(values) if dialect == "postgresql" else "[" + ",".join(map(str, values)) + "]"


def unindexed(column: sa.ColumnElement[Any], dialect: DialectName) -> sa.ColumnElement[Any]:
    """The column for a check only: SQLite would rather scan a tenant's whole index than look up ten rows."""
    return sa.type_coerce(sa.literal_column(f"+{column}"), column.type) if dialect == "sqlite" else column
