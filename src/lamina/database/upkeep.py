"""Looking after a store as a whole: what it is, tidying it, copying it. Each function is one blocking call."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from lamina.database.address import Address, create_engine, parse_address
from lamina.database.failure import is_driver_error, translate
from lamina.database.migrate import HEAD, current_revision, migrate
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError

_BACKUP_PAGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """What a store is."""

    address: str
    engine: str
    schema: str | None
    """The schema's version, None for a database without one."""
    newest: str
    """The version this Lamina works with."""
    size_bytes: int


def read_status(settings: DatabaseSettings) -> StoreStatus:
    """What the store is. Creates and migrates nothing; raises ConfigurationError where there is none."""
    address = existing_store(settings)
    with _connected(address, settings) as connection:
        schema = current_revision(connection)
        size = _size(address, connection)
    engine = "SQLite" if address.path else "PostgreSQL"
    return StoreStatus(address=address.label, engine=engine, schema=schema, newest=HEAD, size_bytes=size)


def upgrade_schema(settings: DatabaseSettings) -> tuple[str | None, str]:
    """Bring the schema to this version; the version before and after."""
    address = existing_store(settings)
    with _connected(address, settings) as connection:
        before = current_revision(connection)
    engine = create_engine(address, busy_timeout_s=settings.busy_timeout_s)
    try:
        migrate(engine)
    finally:
        engine.dispose()
    return before, HEAD


def find_damage(settings: DatabaseSettings) -> str | None:
    """What the engine's own check of its pages complains of; None when it does not, and on PostgreSQL."""
    address = existing_store(settings)
    if address.path is None:
        return None
    with _connected(address, settings) as connection:
        answer = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    return None if answer == "ok" else answer


def try_writing(settings: DatabaseSettings) -> None:
    """Commit a transaction that changes nothing; raises what a write would."""
    with _connected(existing_store(settings), settings) as connection, connection.begin():
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")


def vacuum(settings: DatabaseSettings) -> tuple[int, int]:
    """Give unused space back; the size before and after, in bytes."""
    address = existing_store(settings)
    with _connected(address, settings) as connection:
        before = _size(address, connection)
        tidy = connection.execution_options(isolation_level="AUTOCOMMIT")
        tidy.exec_driver_sql("VACUUM")
        if address.path is not None:
            tidy.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            tidy.exec_driver_sql("ANALYZE")
        after = _size(address, connection)
    return before, after


def back_up(settings: DatabaseSettings, target: Path, progress: Callable[[int, int], None]) -> int:
    """Copy an embedded store while it is in use; the copy's size. `progress` counts pages.

    The copy is complete and consistent or not there at all. Raises ConfigurationError for PostgreSQL.
    """
    address = existing_store(settings)
    if address.path is None:
        raise ConfigurationError(
            "Lamina copies only embedded stores.", details={"next": "Use PostgreSQL's own: pg_dump --format=custom."}
        )
    part = target.with_name(f"{target.name}.part")
    with _translated():
        try:
            with closing(sqlite3.connect(part)) as copy, closing(sqlite3.connect(address.path)) as store:
                store.backup(copy, pages=_BACKUP_PAGES, progress=lambda _, left, total: progress(total - left, total))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return target.stat().st_size


def existing_store(settings: DatabaseSettings) -> Address:
    """The store's place; raises ConfigurationError for a file that does not exist."""
    address = parse_address(settings.url)
    if address.path is not None and not address.path.exists():
        raise ConfigurationError(
            f"There is no store at {address.path}.",
            details={"path": str(address.path), "next": "Name it with --store, or create it: `lamina add` does."},
        )
    return address


@contextmanager
def _connected(address: Address, settings: DatabaseSettings) -> Iterator[sa.Connection]:
    engine = create_engine(address, busy_timeout_s=settings.busy_timeout_s)
    try:
        with _translated(), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # boundary: the driver's exceptions become ours, everything else passes
        if is_driver_error(error):
            raise translate(error) from None
        raise


def _size(address: Address, connection: sa.Connection) -> int:
    if address.path is None:
        return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())
    files = (address.path, *(Path(f"{address.path}{suffix}") for suffix in ("-wal", "-shm")))
    return sum(file.stat().st_size for file in files if file.exists())
