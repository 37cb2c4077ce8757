"""`lamina doctor` looks at conversations too, and other rooms' index rows are no damage."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal


def examine(terminal: Terminal, name: str) -> Any:
    checks = terminal.run("doctor", "--json").document["checks"]
    return next(check for check in checks if check["name"] == name)


@pytest.fixture
def talk(terminal: Terminal) -> Terminal:
    for text in ("Where did I park?", "On the second floor"):
        terminal.ok("session", "append", "s", text)
    return terminal


def test_conversations_in_order_are_counted(talk: Terminal) -> None:
    assert examine(talk, "conversations")["found"] == "1 session, 2 messages"
    assert examine(talk, "conversations")["state"] == "ok"
    assert examine(talk, "index")["state"] == "ok"


def test_the_index_rows_of_knowledge_are_no_damage(talk: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_KNOWLEDGE__ENABLED", "true")
    talk.ok("knowledge", "save", "rule", "Be brief", "--category", "rule")
    assert examine(talk, "index")["state"] == "ok"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM index_entry", "2 messages without index row"),
        ("DELETE FROM message WHERE sequence = 1", "1 index rows without message"),
        ("DELETE FROM message WHERE sequence = 1", "1 sessions that miscount"),
        ("DELETE FROM session", "2 messages without session"),
        ("UPDATE scope SET entries = 7", "1 scopes that miscount"),
        ("UPDATE session SET total_tokens = 1", "1 sessions that miscount"),
        ("UPDATE message SET archived_at = 1 WHERE sequence = 2", "1 sessions that miscount"),
    ],
)
def test_damage_is_found(talk: Terminal, tmp_path: Path, statement: str, found: str) -> None:
    with closing(sqlite3.connect(tmp_path / "lamina.db", isolation_level=None)) as connection:
        connection.execute(statement)
    check = examine(talk, "conversations")
    assert check["state"] == "problem"
    assert found in check["found"]
    assert check["next"]
