"""What every test may ask for: a clock moved by hand, a store address on each engine, a terminal, no network."""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from sqlalchemy import make_url

from lamina.kernel.clock import ManualClock
from tests.cli.terminal import Terminal
from tests.network_guard import refuse_outside
from tests.postgres import Lending, create_tables, fresh_database, running_server

# Few examples a run, for the sake of everybody's time; `--hypothesis-profile=long` looks further.
hypothesis.settings.register_profile("short", max_examples=20, deadline=None)
hypothesis.settings.register_profile("long", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("short")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_outside_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches anything but this machine."""
    refuse_outside(monkeypatch)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only when told."""
    return ManualClock()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The libpq address of a PostgreSQL that runs for the whole session."""
    with running_server() as address:
        yield address


@pytest.fixture
def fresh_postgres_url(postgres_server: str) -> Iterator[str]:
    """The SQLAlchemy address of an empty PostgreSQL database that only this test uses."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The SQLAlchemy address of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'lamina.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def bare_store_url(request: pytest.FixtureRequest) -> str:
    """A store without tables on each engine in turn: a test that asks for it runs on both."""
    name = {"sqlite": "sqlite_url", "postgres": "fresh_postgres_url"}[request.param]
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store with tables and nothing in them, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "lamina.db"
    create_tables(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_databases(postgres_server: str) -> Iterator[Lending]:
    """PostgreSQL databases like `migrated_file`, to be lent."""
    with fresh_database(postgres_server) as url:
        create_tables(url)
        with Lending(postgres_server, like=make_url(url).database or "") as lending:
            yield lending


@pytest.fixture
def sqlite_store_url(sqlite_url: str, migrated_file: Path, tmp_path: Path) -> str:
    """The address of an empty store in a file that only this test uses."""
    shutil.copy(migrated_file, tmp_path / "lamina.db")
    return sqlite_url


@pytest.fixture
def postgres_store_url(migrated_databases: Lending) -> Iterator[str]:
    """The address of an empty store in a PostgreSQL database that only this test uses."""
    with migrated_databases.lent() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """An empty store on each engine in turn: a test that asks for it runs on both."""
    url: str = request.getfixturevalue(f"{request.param}_store_url")
    return url


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal in an empty folder, without settings of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAMINA_")]:
        monkeypatch.delenv(name)
    logger = logging.getLogger("lamina")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield Terminal()
    logger.handlers[:], logger.level, logger.propagate = before
