"""`lamina doctor`: finds what is wrong, says what to do, and changes nothing."""

import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import fixed

Usage = namedtuple("Usage", ["total", "used", "free"])
ALL = ["configuration", "embedder", "store", "schema", "disk space", "pages", "writing", "model", "index"]
ALL += ["conversations", "keys"]


def change(store: Path, statement: str) -> None:
    """Damage a store behind Lamina's back."""
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute(statement)


def examine(terminal: Terminal, *words: str, environ: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The checks by name; status and verdict must agree with them."""
    answer = terminal.run("doctor", *words, "--json", environ=environ)
    document = answer.document
    checks = {check["name"]: check for check in document["checks"]}
    states = [check["state"] for check in checks.values()]
    assert document["problems"] == states.count("problem")
    assert document["warnings"] == states.count("warning")
    assert document["healthy"] == (answer.status == 0) == ("problem" not in states)
    assert all(check["next"] for check in checks.values() if check["state"] in ("problem", "warning"))
    return checks


def test_a_store_in_order_passes_every_check(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    assert list(examine(terminal)) == ALL
    shown = terminal.ok("doctor")
    assert "Everything is in order." in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


def test_each_engine_is_examined(terminal: Terminal, store_url: str) -> None:
    terminal.add("Prefers dark mode", "--user", "u1", "--store", store_url)
    checks = examine(terminal, "--store", store_url)
    assert list(checks) == ALL
    unlooked = {name for name, check in checks.items() if check["state"] == "not checked"}
    assert unlooked == (set() if store_url.startswith("sqlite") else {"disk space", "pages"})


def test_no_store_is_a_problem_and_none_is_created(terminal: Terminal, tmp_path: Path) -> None:
    checks = examine(terminal)
    assert list(checks) == ["configuration", "embedder", "store"]
    assert "lamina add" in checks["store"]["next"]
    shown = terminal.run("doctor")
    assert shown.status == 1
    assert "next  Name it with --store" in shown.out
    assert "1 problem" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_told_from_a_store(terminal: Terminal, fresh_postgres_url: str) -> None:
    checks = examine(terminal, "--store", fresh_postgres_url)
    assert checks["schema"]["state"] == "problem"
    assert "lamina db migrate" in checks["schema"]["next"]


def test_settings_that_cannot_be_read_are_the_only_problem(terminal: Terminal) -> None:
    checks = examine(terminal, environ={"LAMINA_NONSENSE": "1"})
    assert list(checks) == ["configuration"]
    assert "LAMINA_NONSENSE" in checks["configuration"]["found"]


@pytest.mark.parametrize("embedder", ["nonsense", "static:/no/such/folder", "openai:house"])
def test_an_embedder_that_cannot_be_made_does_not_hide_the_rest(
    terminal: Terminal, embedder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    terminal.add("Prefers dark mode")
    checks = examine(terminal, "--embedder", embedder)
    assert list(checks) == ALL
    assert (checks["embedder"]["state"], checks["embedder"]["code"]) == ("problem", "CONFIGURATION_ERROR")


def test_an_endpoint_that_refuses_is_a_problem(terminal: Terminal, server: EmbeddingsServer) -> None:
    terminal.add("Prefers dark mode")
    server.always = fixed({"error": {"message": "no"}}, status=401)
    environ = {"LAMINA_EMBEDDING__BASE_URL": server.url, "OPENAI_API_KEY": "hunter2hunter2"}
    checks = examine(terminal, "--embedder", "openai:house", environ=environ)
    assert checks["embedder"]["code"] == "UNAUTHORIZED"
    assert "hunter2" not in str(checks)


def test_another_model_than_the_stores_is_a_problem(terminal: Terminal, server: EmbeddingsServer) -> None:
    terminal.add("Prefers dark mode")
    environ = {"LAMINA_EMBEDDING__BASE_URL": server.url}
    checks = examine(terminal, "--embedder", "openai:house", environ=environ)
    assert checks["embedder"]["state"] == "ok"
    assert checks["model"]["state"] == "problem"
    assert "lamina reembed" in checks["model"]["next"]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM index_entry", "1 memories without index row"),
        ("DELETE FROM index_vector", "1 memories without vector"),
        ("DELETE FROM memory", "1 index rows without memory"),
        ("UPDATE scope SET entries = 7", "1 scopes that miscount"),
    ],
)
def test_an_index_that_does_not_match_its_memories_is_a_problem(
    terminal: Terminal, tmp_path: Path, statement: str, found: str
) -> None:
    terminal.add("Prefers dark mode")
    change(tmp_path / "lamina.db", statement)
    index = examine(terminal)["index"]
    assert index["state"] == "problem"
    assert found in index["found"]
    assert "lamina export" in index["next"]


def test_what_the_doctor_advises_for_a_broken_index_helps(terminal: Terminal, tmp_path: Path) -> None:
    id = terminal.add("Prefers dark mode")
    change(tmp_path / "lamina.db", "DELETE FROM index_vector")
    change(tmp_path / "lamina.db", "DELETE FROM index_entry")
    terminal.ok("export", "all.jsonl")
    terminal.ok("import", "all.jsonl", "--store", "new.db")
    assert examine(terminal, "--store", "new.db")["index"]["state"] == "ok"
    hits = terminal.ok("search", "dark mode", "--user", "u1", "--store", "new.db", "--json").document["results"]
    assert [hit["id"] for hit in hits] == [id]


def test_damaged_pages_are_found(terminal: Terminal, tmp_path: Path) -> None:
    for number in range(20):
        terminal.add(f"Note {number} " + "x" * 3000)
    store = tmp_path / "lamina.db"
    content = bytearray(store.read_bytes())
    content[8 * 4096 :] = b"\xaa" * (len(content) - 8 * 4096)
    store.write_bytes(content)
    checks = examine(terminal)
    assert "problem" in {check["state"] for check in checks.values()}
    assert any(word in str(checks) for word in ("export", "backup"))


@pytest.mark.parametrize(("free", "state"), [(10_000_000, "problem"), (150_000_000, "ok")])
def test_little_space_is_a_problem(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    terminal.add("Prefers dark mode")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - free, free))
    assert examine(terminal)["disk space"]["state"] == state


def test_a_store_that_cannot_be_written_is_a_problem(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    environ = {"LAMINA_DATABASE__BUSY_TIMEOUT_S": "0"}
    with closing(sqlite3.connect(tmp_path / "lamina.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = examine(terminal, environ=environ)["writing"]
        other.execute("ROLLBACK")
    assert (writing["state"], writing["code"]) == ("problem", "TIMEOUT")


def test_many_marks_of_deletions_are_a_warning(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    change(
        tmp_path / "lamina.db",
        """INSERT INTO index_entry (scope_id, version, entry, tenant, conversation, sequence, author, said_at)
        WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT 1, 1, i, 'default', 0, 0, 0, 0.0 FROM n""",
    )
    index = examine(terminal)["index"]
    assert (index["state"], "lamina db vacuum" in index["next"]) == ("warning", True)
    terminal.ok("db", "vacuum")
    assert examine(terminal)["index"]["state"] == "ok"


def test_keys_are_counted_and_it_is_said_when_nobody_can_come_in(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    assert "this machine" in examine(terminal)["keys"]["found"]
    made = [terminal.ok("key", "create", name, "--expires", "1d", "--json").document for name in ("a", "b", "c")]
    terminal.ok("key", "revoke", made[0]["id"])
    change(tmp_path / "lamina.db", f"UPDATE access_key SET expires_at = 1 WHERE id = '{made[1]['id']}'")
    assert examine(terminal)["keys"]["found"] == "1 good, 1 expired"
    terminal.ok("key", "revoke", made[2]["id"])
    keys = examine(terminal)["keys"]
    assert (keys["state"], keys["found"]) == ("warning", "0 good, 1 expired")
    assert "lamina key create" in keys["next"]
