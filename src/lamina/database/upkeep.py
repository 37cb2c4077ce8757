"""Looking after a store as a whole: what it is, tidying it, copying it. Each function is one blocking call."""

import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import sqlalchemy as sa

from lamina.database.address import Address, create_engine, parse_address
from lamina.database.failure import is_driver_error, translate
from lamina.database.link import Link
from lamina.database.migrate import HEAD, current_revision, migrate
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError

T = TypeVar("T")

_BACKUP_PAGES = 1000
_SIDE_FILES = ("-wal", "-shm", "-journal")


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
    with _reading(address, settings) as connection:
        schema = current_revision(connection)
        size = _size(address, connection)
    engine = "SQLite" if address.path else "PostgreSQL"
    label = address.label.replace("postgresql+psycopg://", "postgresql://", 1)
    return StoreStatus(address=label, engine=engine, schema=schema, newest=HEAD, size_bytes=size)


def upgrade_schema(settings: DatabaseSettings) -> tuple[str | None, str]:
    """Bring the schema to this version; the version before and after."""
    address = existing_store(settings)
    with _reading(address, settings) as connection:
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
    with _reading(address, settings) as connection:
        answer = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    return None if answer == "ok" else answer


def read_store(settings: DatabaseSettings, work: Callable[[Link], T]) -> T:
    """Run `work` on one view of the store as it is: nothing is created or migrated."""
    with _reading(existing_store(settings), settings) as connection:
        return work(Link(connection))


def try_writing(settings: DatabaseSettings) -> None:
    """Commit a transaction that changes nothing; raises what a write would."""
    with _connected(existing_store(settings), settings) as connection, connection.begin():
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")


def free_space(settings: DatabaseSettings) -> int | None:
    """Bytes left on the disk of an embedded store; None on PostgreSQL, whose disk is the server's."""
    path = existing_store(settings).path
    return None if path is None else shutil.disk_usage(path.absolute().parent).free


def vacuum(settings: DatabaseSettings) -> tuple[int, int]:
    """Give unused space back; the size before and after, in bytes."""
    address = existing_store(settings)
    with _connected(address, settings) as connection:
        tidy = connection.execution_options(isolation_level="AUTOCOMMIT")
        before = _size(address, tidy)
        if address.path is not None:
            tidy.exec_driver_sql("PRAGMA temp_store=FILE")  # the copy it makes may not fit into memory
        tidy.exec_driver_sql("VACUUM")
        if address.path is not None:
            tidy.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            tidy.exec_driver_sql("ANALYZE")
        after = _size(address, tidy)
    return before, after


def back_up(settings: DatabaseSettings, target: Path, progress: Callable[[int, int], None]) -> int:
    """Copy an embedded store while it is in use; the copy's size. `progress` counts pages.

    The copy is complete and consistent or not there at all; a file that was there before is replaced. Raises
    ConfigurationError for PostgreSQL and for a target that cannot be written or is the store itself.
    """
    address = existing_store(settings)
    if address.path is None:
        raise _use_pg_dump(address, target)
    if target.is_dir():
        raise ConfigurationError(f"{target} is a folder.", details={"next": "Name the file the copy goes to."})
    part = target.with_name(f"{target.name}.part")
    refuse_store_itself(address, target, part)
    try:
        part.write_bytes(b"")
        part.chmod(stat.S_IMODE(address.path.stat().st_mode))
        with _translated():
            _copy(address.path, part, progress, settings.busy_timeout_s)
        # What an older store of this name left beside it would be replayed into the copy.
        _unlink_side_files(target)
        part.replace(target)
    except OSError as error:
        raise ConfigurationError(
            f"{target} cannot be written: {error.strerror}.", details={"next": "Check the folder and the disk."}
        ) from error
    finally:
        part.unlink(missing_ok=True)
        _unlink_side_files(part)
    return target.stat().st_size


def refuse_store_itself(address: Address, *targets: Path) -> None:
    """Raise ConfigurationError where writing one of these files would destroy the store."""
    if address.path is None:
        return
    taken = [address.path, *(Path(f"{address.path}{suffix}") for suffix in _SIDE_FILES)]
    for target in targets:
        if target.resolve() in [path.resolve() for path in taken] or (
            target.exists() and address.path.exists() and target.samefile(address.path)
        ):
            raise ConfigurationError(f"{target} is the store itself.", details={"next": "Choose another name."})


def _copy(path: Path, part: Path, progress: Callable[[int, int], None], busy_timeout_s: float) -> None:
    with closing(sqlite3.connect(part)) as copy, closing(sqlite3.connect(path, timeout=busy_timeout_s)) as store:
        # A view held open: without it every write of another process would start the copy again.
        store.execute("BEGIN")
        store.execute("SELECT count(*) FROM sqlite_master").fetchone()
        store.backup(copy, pages=_BACKUP_PAGES, progress=lambda _, left, total: progress(total - left, total))


def _unlink_side_files(path: Path) -> None:
    for suffix in _SIDE_FILES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _use_pg_dump(address: Address, target: Path) -> ConfigurationError:
    place = address.url._replace(drivername="postgresql", password=None).render_as_string()
    return ConfigurationError(
        "Lamina copies embedded stores only; PostgreSQL has a tool of its own.",
        details={"next": f'Run: pg_dump --format=custom --file={target} "{place}"'},
    )


def existing_store(settings: DatabaseSettings) -> Address:
    """The store's place; raises ConfigurationError where there is no such file."""
    if settings.url == ":memory:":
        raise ConfigurationError("A store in memory ends with the command.", details={"next": "Name a file: --store."})
    address = parse_address(settings.url)
    if address.path is None:
        return address
    try:
        if not address.path.exists():
            raise ConfigurationError(
                f"There is no store at {address.path}.",
                details={"path": str(address.path), "next": "Name it with --store, or create it: `lamina add` does."},
            )
        if address.path.is_dir():
            raise ConfigurationError(
                f"{address.path} is a folder.", details={"next": "Name the file of the store with --store."}
            )
    except PermissionError as error:
        raise ConfigurationError(
            f"{address.path} cannot be reached: {error.strerror}.", details={"next": "Check the folder's permissions."}
        ) from error
    return address


@contextmanager
def _reading(address: Address, settings: DatabaseSettings) -> Iterator[sa.Connection]:
    """A connection that cannot write, so that looking at somebody else's file leaves it as it is."""
    if address.path is None:
        with _connected(address, settings) as connection:
            yield connection
        return
    place = f"file:{quote(str(address.path.absolute()))}?mode=ro"
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(place, uri=True, timeout=settings.busy_timeout_s, isolation_level=None),
        poolclass=sa.NullPool,
    )
    try:
        with _translated(), engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
    finally:
        engine.dispose()


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
