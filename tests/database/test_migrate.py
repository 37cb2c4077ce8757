"""The schema: migrations and tables say the same, versions are checked, and many may open a store at once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import lamina.access.tables
import lamina.context.tables
import lamina.database.slots
import lamina.graph.tables
import lamina.index.tables
import lamina.knowledge.tables
import lamina.learning.tables
import lamina.memory.tables
import lamina.observation.tables
import lamina.session.tables
import lamina.skill.tables  # noqa: F401 -- every room that has tables
from lamina.database import migrate as migration
from lamina.database.address import create_engine, parse_address
from lamina.database.migrate import HEAD, current_revision, migrate
from lamina.database.schema import metadata
from lamina.errors import ConfigurationError
from tests.stores import app_on


@pytest.fixture
def engine(bare_store_url: str) -> Iterator[sa.Engine]:
    made = create_engine(parse_address(bare_store_url), busy_timeout_s=30)
    yield made
    made.dispose()


def test_migrations_and_tables_say_the_same(engine: sa.Engine) -> None:
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        expected = {*metadata.tables, "alembic_version"}
        assert set(sa.inspect(connection).get_table_names()) == expected


def test_a_column_that_no_migration_made_would_be_noticed(engine: sa.Engine) -> None:
    migrate(engine)
    changed = sa.MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        table.to_metadata(changed)
    changed.tables["memory"].append_column(sa.Column("colour", sa.Text))
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), changed)
    assert [step[0] for step in found] == ["add_column"]


def test_head_is_what_the_folder_says() -> None:
    config = Config()
    config.set_main_option("script_location", str(migration._FOLDER))
    folder = ScriptDirectory.from_config(config)
    assert folder.get_heads() == [HEAD]
    assert folder.get_bases() == ["0001"]
    assert [script.revision for script in folder.walk_revisions()][::-1] == [f"{n + 1:04}" for n in range(int(HEAD))]


def test_migrating_again_changes_nothing(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert current_revision(connection) is None
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        assert current_revision(connection) == HEAD


@pytest.mark.anyio
async def test_a_store_of_a_newer_version_is_refused_with_what_to_do_and_left_alone(
    bare_store_url: str, engine: sa.Engine
) -> None:
    async with app_on(bare_store_url) as app:
        kept = await app.memory.add("from the future", user_id="u")
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigurationError, match="upgrade Lamina") as refused:
        await app_on(bare_store_url).start()
    assert refused.value.details == {"found": "9999", "known": HEAD}
    with engine.begin() as connection:
        assert current_revision(connection) == "9999"
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :head"), {"head": HEAD})
    async with app_on(bare_store_url) as app:
        assert await app.memory.get(kept.id, user_id="u") == kept.memory


@pytest.mark.anyio
async def test_many_apps_may_create_one_store_at_once(bare_store_url: str) -> None:
    apps = [app_on(bare_store_url) for _ in range(6)]
    async with anyio.create_task_group() as group:
        for app in apps:
            group.start_soon(app.start)
    for number, app in enumerate(apps):
        await app.memory.add(f"note {number}", user_id="u")
    assert [(await app.memory.list(user_id="u")).total_count for app in apps] == [6] * 6
    for app in apps:
        await app.close()


@pytest.mark.anyio
async def test_many_stores_may_be_created_at_once(tmp_path: Path) -> None:
    apps = [app_on(str(tmp_path / f"{number}.db")) for number in range(6)]
    async with anyio.create_task_group() as group:
        for app in apps:
            group.start_soon(app.start)
    for app in apps:
        await app.memory.add("a note", user_id="u")
        assert (await app.memory.list(user_id="u")).total_count == 1
        await app.close()


OPENING = """
import sys, lamina.sync
print("ready", flush=True)
sys.stdin.readline()
with lamina.sync.open(sys.argv[1]) as app:
    print(app.memory.add("made by one of several", user_id="u").id)
"""


def test_processes_that_create_one_store_at_once_agree(bare_store_url: str, engine: sa.Engine, tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENING, bare_store_url]
    pipe = subprocess.PIPE
    workers = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path) for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [worker.communicate(timeout=120) for worker in workers]
    assert [(worker.returncode, errors) for worker, (_, errors) in zip(workers, answers, strict=True)] == [(0, "")] * 3
    with engine.connect() as connection:
        stored = connection.execute(sa.text("SELECT id FROM memory")).scalars().all()
        models = connection.execute(sa.text("SELECT count(*) FROM embedding_model")).scalar_one()
        versions = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
    assert sorted(stored) == sorted(out.strip() for out, _ in answers)
    assert (models, versions) == (1, [HEAD])
