"""The commands of the graph, as a person and as a program uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lamina.cli.program import program


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Shell":
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMINA_GRAPH__ENABLED", "true")
    monkeypatch.setenv("LAMINA_KNOWLEDGE__ENABLED", "true")
    monkeypatch.setenv("COLUMNS", "120")
    return Shell()


class Shell:
    """Runs commands in a folder with a store of its own."""

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(program, list(words))

    def text(self, *words: str) -> str:
        done = self.run(*words)
        assert done.exit_code == 0, done.output
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.text(*words, "--json"))

    def error(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.exit_code == 1, done.output
        return json.loads(done.stderr)["error"]


def test_a_neighbourhood_is_drawn_as_a_tree(shell: Shell) -> None:
    text = "Acme uses PostgreSQL. The billing service depends on PostgreSQL."
    shell.text("knowledge", "save", "stack", text, "-c", "fact")
    shell.text("add", "Ann works at Acme since 2021.", "--user", "u1")
    drawn = shell.text("graph", "show", "ann", "--user", "u1", "--depth", "3")
    lines = [line.split("  memory")[0].split("  knowledge")[0].rstrip() for line in drawn.splitlines()]
    assert lines == [
        "Ann",
        "└── ── works at ─▶ Acme  from 2021-01-01",
        "    └── ── uses ─▶ PostgreSQL",
        "        └── ◀─ depends on ── billing service",
    ]
    assert "nothing is known of 'ann'" in shell.text("graph", "show", "ann")
    walk = shell.json("graph", "show", "Ann", "--user", "u1", "-d", "3")
    assert [(visit["depth"], visit["name"]) for visit in walk["visits"]] == [
        (1, "Acme"),
        (2, "PostgreSQL"),
        (3, "billing service"),
    ]
    assert walk["entity"]["name"] == "Ann"


def test_triples_are_added_listed_followed_and_removed(shell: Shell) -> None:
    added = shell.json("graph", "add", "Ann", "works_at", "Acme", "--from", "2021-03-01T00:00Z")
    assert (added["predicate"], added["valid_from"]) == ("works_at", "2021-03-01T00:00:00+00:00")
    assert "Acme ── uses ─▶ Git" in shell.text("graph", "add", "Acme", "uses", "Git")
    assert "◀─ works at" in shell.text("graph", "neighbours", "acme", "--in")
    (out,) = shell.json("graph", "neighbours", "acme", "--out")["neighbours"]
    assert (out["name"], out["direction"]) == ("Git", "out")
    assert shell.json("graph", "neighbours", "ann", "--at", "2020-01-01T00:00Z")["neighbours"] == []
    assert [step["name"] for step in shell.json("graph", "path", "ann", "git")["path"]] == ["Acme", "Git"]
    assert "uses" in shell.text("graph", "path", "ann", "git")
    assert "no way" in shell.text("graph", "path", "ann", "nobody")
    assert shell.json("graph", "remove", "ann", "works_at") == {"removed": 1}
    source = out["triple"]["source"]
    words = ("graph", "remove", "--source-kind", source["kind"], "--source-key", source["key"])
    assert "1 source removed" in shell.text(*words)
    assert "0 sources removed" in shell.text(*words)


def test_a_back_fill_reads_what_was_saved_while_the_graph_was_off(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_GRAPH__ENABLED", "false")
    shell.text("add", "Ann works at Acme.", "--user", "u1")
    assert shell.error("graph", "backfill")["code"] == "CONFIGURATION_ERROR"
    monkeypatch.setenv("LAMINA_GRAPH__ENABLED", "true")
    assert shell.json("graph", "backfill") == {"found": 1, "done": 1, "failed": 0, "left": 0}
    assert "0 of 0 texts read" in shell.text("graph", "backfill")
    assert "works at" in shell.text("graph", "show", "Ann", "--user", "u1")


def test_mistakes_are_explained(shell: Shell) -> None:
    error = shell.error("graph", "add", "Ann", "likes to work at", "Acme")
    assert error["code"] == "INVALID_INPUT"
    assert "works_at" in error["message"]
    shell.text("graph", "add", "Ann", "knows", "Bob")
    assert "SUBJECT" in shell.error("graph", "remove")["message"]
    assert "SUBJECT" in shell.error("graph", "remove", "--source-kind", "manual")["message"]
    assert shell.error("graph", "show", "Ann", "--depth", "99")["details"]["field"] == "depth"


def test_text_of_texts_cannot_drive_the_terminal(shell: Shell) -> None:
    shell.text("knowledge", "save", "k", 'Ann uses "x [red]y\x1b[31mz".', "-c", "fact")
    drawn = shell.text("graph", "show", "Ann")
    assert "\x1b[31m" not in drawn
    assert "[red]" in drawn
