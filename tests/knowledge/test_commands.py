"""The commands of knowledge, references and the audit log, as a person and as a program uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lamina.cli.program import program

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Shell":
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMINA_KNOWLEDGE__ENABLED", "true")
    monkeypatch.setenv("COLUMNS", "160")
    return Shell()


class Shell:
    """Runs commands in a folder with a store of its own."""

    def __init__(self) -> None:
        self._runner = CliRunner()

    def run(self, *words: str, input: str | None = None) -> Result:
        return self._runner.invoke(program, list(words), input=input)

    def text(self, *words: str, input: str | None = None) -> str:
        done = self.run(*words, input=input)
        assert done.exit_code == 0, done.output
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.text(*words, "--json"))

    def error(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.exit_code == 1, done.output
        return json.loads(done.stderr)["error"]


def test_knowledge_is_saved_shown_searched_listed_and_deleted(shell: Shell) -> None:
    words = ("knowledge", "save", "deploy-rule")
    first = shell.json(*words, "Never deploy on a Friday", "--category", "rule", "--tag", "ops", "--source", "handbook")
    assert (first["outcome"], first["redacted"], first["knowledge"]["version"]) == ("created", False, 1)
    assert (first["knowledge"]["origin"], first["knowledge"]["tags"]) == ("user", ["ops"])
    assert "changed: version 2" in shell.text(*words, "Deploy on Tuesdays", "-c", "rule")
    assert shell.json("knowledge", "get", "deploy-rule")["content"] == "Deploy on Tuesdays"
    assert "Deploy on Tuesdays" in shell.text("knowledge", "get", "deploy-rule")
    versions = shell.json("knowledge", "history", "deploy-rule")["versions"]
    assert [version["content"] for version in versions] == ["Deploy on Tuesdays", "Never deploy on a Friday"]
    assert "Never deploy" in shell.text("knowledge", "history", "deploy-rule")
    (hit,) = shell.json("knowledge", "search", "when do we deploy?", "--category", "rule")["results"]
    assert hit["key"] == "deploy-rule"
    assert 0 < hit["score"] <= 1
    assert "lexical" in shell.text("knowledge", "search", "deploy", "--explain")
    assert "no results" in shell.text("knowledge", "search", "zebra", "--threshold", "0.7")
    assert shell.json("knowledge", "delete", "deploy-rule") == {"deleted": "deploy-rule"}
    assert shell.json("knowledge", "list") == {"knowledge": [], "next_cursor": None, "total_count": 0}


def test_text_comes_from_standard_input_and_a_hidden_secret_is_mentioned(shell: Shell) -> None:
    done = shell.run("knowledge", "save", "k", "-", "-c", "fact", input=f"push with {SECRET}")
    assert done.exit_code == 0
    assert "hidden" in done.stderr
    assert shell.json("knowledge", "get", "k")["content"] == "push with [redacted]"


def test_a_listing_goes_on_from_its_cursor_or_shows_everything(shell: Shell) -> None:
    for number in range(3):
        shell.text("knowledge", "save", f"k{number}", "text", "-c", "fact")
    page = shell.json("knowledge", "list", "-n", "2")
    rest = shell.json("knowledge", "list", "-n", "2", "--cursor", page["next_cursor"])
    assert [entry["key"] for entry in page["knowledge"] + rest["knowledge"]] == ["k2", "k1", "k0"]
    assert [one["key"] for one in shell.json("knowledge", "list", "-n", "1", "--all")["knowledge"]] == [
        "k2",
        "k1",
        "k0",
    ]
    assert "--cursor" in shell.run("knowledge", "list", "-n", "2").stderr
    assert shell.error("knowledge", "list", "--cursor", "x")["code"] == "INVALID_CURSOR"


def test_references_are_saved_shown_searched_listed_and_deleted(shell: Shell) -> None:
    words = ("reference", "save", "guide", "--type", "wiki", "--location", "https://w.example.org")
    saved = shell.json(*words, "--summary", "How a release goes out", "--metadata", '{"lang": "en"}')
    assert (saved["type"], saved["metadata"], saved["origin"]) == ("wiki", {"lang": "en"}, "user")
    assert shell.json("reference", "get", "guide") == saved
    assert "w.example.org" in shell.text("reference", "get", "guide")
    assert [hit["name"] for hit in shell.json("reference", "search", "release")["results"]] == ["guide"]
    assert "guide" in shell.text("reference", "search", "release", "--type", "wiki")
    assert [one["name"] for one in shell.json("reference", "list", "--all")["references"]] == ["guide"]
    assert "guide" in shell.text("reference", "list")
    assert "deleted" in shell.text("reference", "delete", "guide")
    assert "no references" in shell.text("reference", "list")
    assert shell.error("reference", "get", "guide")["code"] == "REFERENCE_NOT_FOUND"


def test_the_audit_log_is_listed_and_filtered(shell: Shell) -> None:
    shell.text("knowledge", "save", "k", "text", "-c", "fact", "--session", "telegram:1:2")
    shell.text("reference", "save", "r", "--type", "api", "--location", "here", "--summary", "text")
    rows = shell.json("audit", "list")["rows"]
    assert [(row["action"], row["actor"], row["target"]) for row in rows] == [
        ("reference_save", "cli", "r"),
        ("knowledge_save", "cli", "k"),
    ]
    for choice in (("--action", "knowledge_save"), ("--session", "telegram:1:2"), ("--target", "k")):
        assert [row["target"] for row in shell.json("audit", "list", *choice)["rows"]] == ["k"]
    assert len(shell.json("audit", "list", "--since", "1h", "--actor", "cli")["rows"]) == 2
    assert shell.json("audit", "list", "--until", "1h")["rows"] == []
    assert len(shell.json("audit", "list", "-n", "1", "--all")["rows"]) == 2
    page = shell.json("audit", "list", "-n", "1")
    assert [row["target"] for row in shell.json("audit", "list", "--cursor", page["next_cursor"])["rows"]] == ["k"]
    assert "knowledge_save" in shell.text("audit", "list")
    assert shell.error("audit", "list", "--since", "soon")["code"] == "INVALID_INPUT"


def test_the_slots_of_a_session_are_shown_and_freed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_KNOWLEDGE__MAX_SAVES_PER_SESSION", "1")
    shell.text("knowledge", "save", "a", "text", "-c", "fact", "--session", "s")
    refused = shell.error("knowledge", "save", "b", "text", "-c", "fact", "--session", "s")
    assert refused["code"] == "RATE_LIMITED"
    assert "knowledge.max_saves_per_session" in refused["next"]
    assert "1 of 1 taken" in shell.text("knowledge", "slots", "s")
    assert shell.json("knowledge", "slots", "s", "--reset") == {"session_key": "s", "taken": 0, "most": 1}
    shell.text("knowledge", "save", "b", "text", "-c", "fact", "--session", "s")


def test_errors_say_what_to_do(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.error("knowledge", "get", "k")["code"] == "CONFIGURATION_ERROR", "there is no store yet"
    shell.text("knowledge", "save", "k", "text", "-c", "fact")
    missing = shell.error("knowledge", "get", "nothing")
    assert (missing["code"], missing["details"]) == ("KNOWLEDGE_NOT_FOUND", {"key": "nothing"})
    assert "lamina knowledge list" in missing["next"]
    unknown = shell.error("knowledge", "save", "k", "text", "-c", "rumour")
    assert "rule, preference" in unknown["message"]
    monkeypatch.setenv("LAMINA_KNOWLEDGE__ENABLED", "false")
    off = shell.error("knowledge", "get", "k")
    assert off["details"]["setting"] == "knowledge.enabled"


def test_tenants_are_kept_apart(shell: Shell) -> None:
    shell.text("knowledge", "save", "k", "text", "-c", "fact", "--tenant", "one")
    assert shell.error("knowledge", "get", "k", "--tenant", "two")["code"] == "KNOWLEDGE_NOT_FOUND"
    assert shell.json("audit", "list", "--tenant", "two")["rows"] == []
    assert len(shell.json("audit", "list", "--tenant", "one")["rows"]) == 1


def test_untrusted_text_is_shown_as_text(shell: Shell) -> None:
    shell.text("knowledge", "save", "k", "[red]no markup[/red] \x1b[31mno escape", "-c", "fact")
    for words in (("get", "k"), ("list",), ("search", "markup"), ("history", "k")):
        shown = shell.text("knowledge", *words)
        assert "[red]no markup[/red]" in shown
        assert "\x1b[31m" not in shown


@pytest.mark.parametrize(
    "words",
    [
        *(("knowledge", name) for name in ("save", "get", "history", "search", "list", "delete", "slots")),
        *(("reference", name) for name in ("save", "get", "search", "list", "delete")),
        ("audit", "list"),
    ],
    ids=" ".join,
)
def test_every_command_has_json_and_an_example_in_its_help(shell: Shell, words: tuple[str, ...]) -> None:
    shown = shell.text(*words, "--help")
    assert "--json" in shown
    assert "Example" in shown
    assert f"lamina {' '.join(words)}" in shown
