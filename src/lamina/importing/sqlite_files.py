"""Reads SQLite files of other programs: nothing in them is changed, and nothing in them is trusted."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from lamina.errors import InvalidInputError

_MAGIC = b"SQLite format 3\0"
_LONGEST_VALUE = 256 * 1024 * 1024
_AT_ONCE = 500


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


@contextmanager
def foreign_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database opened for reading. Raises InvalidInputError for what is none, or is damaged, while it is read."""
    if not is_sqlite(path):
        raise InvalidInputError(f"{path} is not a SQLite database.", details={"next": "Check the path."})
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as error:
        raise InvalidInputError(f"{path} cannot be read: {error}", details={"next": "Is the file complete?"}) from error


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table; none where there is no such table."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)) if known else ()
    return frozenset(row[0] for row in rows)


def rows_of(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], *, order: Sequence[str] = ()
) -> Iterator[tuple[object, ...]]:
    """These columns of every row, a few hundred rows at a time. The names are the caller's own, never a file's."""
    names = ", ".join(f'"{column}"' for column in columns)
    sorting = f" ORDER BY {', '.join(order)}" if order else ""
    cursor = connection.execute(f'SELECT {names} FROM "{table}"{sorting}')  # noqa: S608 -- names are the caller's own
    while rows := cursor.fetchmany(_AT_ONCE):
        yield from rows
