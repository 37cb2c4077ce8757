"""`lamina db`: what the store is, tidying it, copying it."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from lamina.database.migrate import HEAD
from lamina.database.settings import DatabaseSettings
from lamina.database.upkeep import back_up
from tests.cli.terminal import Terminal
from tests.loose_ends import loose_ends


def marks(store: str | Path) -> int:
    """How many marks of deletions an embedded store holds."""
    with closing(sqlite3.connect(store)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM index_entry WHERE terms IS NULL").fetchone()
        return int(count)


def test_status_on_each_engine(terminal: Terminal, store_url: str) -> None:
    terminal.add("Prefers dark mode", "--user", "u1", "--store", store_url)
    document = terminal.ok("db", "status", "--store", store_url, "--json").document
    assert document["engine"] == ("SQLite" if store_url.startswith("sqlite") else "PostgreSQL")
    assert (document["schema"], document["newest"], document["current"]) == (HEAD, HEAD, True)
    assert document["size_bytes"] > 0
    shown = terminal.ok("db", "status", "--store", store_url).out
    assert f"{HEAD} (current)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "psycopg" not in shown


def test_status_leaves_a_foreign_database_as_it_is(terminal: Terminal, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = foreign.read_bytes()
    answer = terminal.ok("db", "status", "--store", foreign)
    assert "none (newest is" in answer.out
    assert "lamina db migrate" in answer.err
    assert terminal.run("doctor", "--store", foreign).status == 1
    assert foreign.read_bytes() == before
    assert list(tmp_path.iterdir()) == [foreign]


def test_migrate_creates_the_schema_once_on_each_engine(
    terminal: Terminal, bare_store_url: str, tmp_path: Path
) -> None:
    if bare_store_url.startswith("sqlite"):
        (tmp_path / "lamina.db").touch()
    first = terminal.ok("db", "migrate", "--store", bare_store_url, "--json").document
    assert first == {"before": None, "after": HEAD}
    assert terminal.ok("db", "migrate", "--store", bare_store_url).out == f"schema {HEAD}, nothing to do\n"


def test_a_store_of_a_newer_lamina_is_refused_and_named(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    with closing(sqlite3.connect(tmp_path / "lamina.db", isolation_level=None)) as store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")
    error = terminal.run("db", "migrate", "--json").error
    assert (error["code"], error["details"]["found"]) == ("CONFIGURATION_ERROR", "9999")
    (check,) = [one for one in terminal.run("doctor", "--json").document["checks"] if one["name"] == "schema"]
    assert (check["state"], "Upgrade Lamina" in check["next"]) == ("problem", True)


def test_sweep_removes_what_expired_of_every_tenant(terminal: Terminal, store_url: str) -> None:
    on = ("--store", store_url)
    for tenant in ("acme", "umbrella"):
        terminal.add("Gone", "--user", "u1", "--expires", "2020-01-01T00:00+00:00", "--tenant", tenant, *on)
    terminal.add("Stays", "--user", "u1", "--tenant", "acme", *on)
    assert terminal.ok("db", "sweep", *on, "--json").document == {"removed": 2}
    assert terminal.ok("db", "sweep", *on).out == "nothing has expired\n"
    assert terminal.ok("list", "--user", "u1", "--tenant", "acme", *on, "--json").document["total_count"] == 1


def test_vacuum_drops_the_marks_of_every_tenant_on_each_engine(terminal: Terminal, store_url: str) -> None:
    on = ("--store", store_url)
    for tenant in ("acme", "umbrella"):
        terminal.add("Stays about the harbour", "--user", "u1", "--tenant", tenant, *on)
        id = terminal.add("Goes", "--user", "u1", "--tenant", tenant, *on)
        terminal.ok("delete", id, "--user", "u1", "--tenant", tenant, *on)
    document = terminal.ok("db", "vacuum", *on, "--json").document
    assert document["marks_removed"] == 2
    assert terminal.ok("db", "vacuum", *on).out.startswith("0 marks of deletions removed; ")
    for tenant in ("acme", "umbrella"):
        found = terminal.ok("search", "harbour", "--user", "u1", "--tenant", tenant, *on, "--json").document
        assert [hit["content"] for hit in found["results"]] == ["Stays about the harbour"]


def test_vacuum_gives_space_back(terminal: Terminal, tmp_path: Path) -> None:
    ids = [terminal.add("x" * 90_000) for _ in range(8)]
    terminal.ok("delete", *ids, "--user", "u1")
    assert marks("lamina.db") == 8
    document = terminal.ok("db", "vacuum", "--json").document
    assert document["after_bytes"] < document["before_bytes"] / 2
    assert marks("lamina.db") == 0
    assert loose_ends(tmp_path / "lamina.db") == {}


def test_a_backup_is_a_store_of_its_own(terminal: Terminal, tmp_path: Path) -> None:
    id = terminal.add("Prefers dark mode")
    answer = terminal.ok("db", "backup", "copy.db")
    assert "copied to copy.db" in answer.out
    assert "lamina doctor --store copy.db" in answer.err
    terminal.ok("delete", id, "--user", "u1")
    assert terminal.ok("get", id, "--user", "u1", "--store", "copy.db", "--json").document["id"] == id
    document = terminal.ok("db", "backup", "again.db", "--json").document
    assert document == {"file": "again.db", "size_bytes": (tmp_path / "again.db").stat().st_size}
    assert {path.name for path in tmp_path.iterdir()} == {"lamina.db", "copy.db", "again.db"}


def test_a_backup_overwrites_only_by_force_and_never_the_store(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    terminal.ok("db", "backup", "copy.db")
    refused = terminal.run("db", "backup", "copy.db", "--json").error
    assert (refused["code"], "--force" in refused["next"]) == ("INVALID_INPUT", True)
    (tmp_path / "copy.db-wal").write_bytes(b"what an older store left")
    terminal.ok("db", "backup", "copy.db", "--force")
    assert not (tmp_path / "copy.db-wal").exists()
    for name in ("lamina.db", "lamina.db-wal"):
        itself = terminal.run("db", "backup", name, "--force", "--json").error
        assert "the store itself" in itself["message"]
    assert loose_ends(tmp_path / "lamina.db") == {}


def test_a_backup_is_never_written_by_way_of_the_store(terminal: Terminal) -> None:
    terminal.ok("add", "Prefers dark mode", "--user", "u1", "--store", "mine.part")
    assert "the store itself" in terminal.run("db", "backup", "mine", "--store", "mine.part", "--json").error["message"]
    assert terminal.ok("list", "--user", "u1", "--store", "mine.part", "--json").document["total_count"] == 1


def test_a_backup_is_as_private_as_the_store(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    (tmp_path / "lamina.db").chmod(0o600)
    terminal.ok("db", "backup", "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(("target", "code"), [("no/such/folder/x.db", "INVALID_INPUT"), (".", "INVALID_INPUT")])
def test_a_backup_that_cannot_be_written_says_so(terminal: Terminal, target: str, code: str) -> None:
    terminal.add("Prefers dark mode")
    error = terminal.run("db", "backup", target, "--json").error
    assert error["code"] == code
    assert terminal.run("db", "backup", target, "--force", "--json").status == 1


def test_a_backup_is_one_moment_of_a_store_that_is_written_meanwhile(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE filler AS SELECT zeroblob(16000000) AS x")
        writer.execute("CREATE TABLE pair AS SELECT 0 AS a, 0 AS b")
        seen: list[int] = []

        def write_meanwhile(done: int, total: int) -> None:
            seen.append(done)
            writer.execute("UPDATE pair SET a = a + 1, b = b + 1")

        back_up(DatabaseSettings(url=str(store)), copy, write_meanwhile)
    assert len(seen) > 2
    assert seen == sorted(set(seen))  # never started again
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT a, b FROM pair").fetchall() == [(0, 0)]


def test_an_interrupted_backup_leaves_nothing(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE x (y)")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(DatabaseSettings(url=str(store)), copy, interrupt)
    assert list(tmp_path.iterdir()) == [store]


def test_postgres_is_backed_up_by_its_own_tool(terminal: Terminal, fresh_postgres_url: str, tmp_path: Path) -> None:
    error = terminal.run("db", "backup", "copy.dump", "--store", fresh_postgres_url, "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert "pg_dump" in error["next"]
    assert "copy.dump" in error["next"]
    assert "psycopg" not in error["next"]
    hidden = terminal.run("db", "backup", "copy.dump", "--store", "postgresql://ann:hunter2@host/name", "--json").error
    assert "hunter2" not in str(hidden)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["status", "migrate", "sweep", "vacuum"])
@pytest.mark.parametrize(
    ("store", "part"), [("nowhere.db", "no store at"), (".", "is a folder"), (":memory:", "in memory")]
)
def test_without_a_store_there_is_nothing_to_look_after(
    terminal: Terminal, command: str, store: str, part: str, tmp_path: Path
) -> None:
    answer = terminal.run("db", command, "--store", store, "--json")
    if (command, store) != ("sweep", ":memory:"):  # an app of its own opens there, and finds nothing
        assert answer.error["code"] == "CONFIGURATION_ERROR"
        assert part in answer.error["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_named(terminal: Terminal) -> None:
    error = terminal.run("db", "status", "--store", "postgresql://127.0.0.1:1/x", "--json").error
    assert (error["code"], error["retryable"]) == ("PROVIDER_ERROR", True)
    assert "server" in error["next"]


def test_a_store_in_use_can_be_copied_and_looked_at(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    with closing(sqlite3.connect(tmp_path / "lamina.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        terminal.ok("db", "backup", "copy.db")
        terminal.ok("db", "status")
        writer.execute("ROLLBACK")
