"""The commands of learning, as a person and as a program uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lamina.cli.learning import commands
from lamina.cli.program import program

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Shell":
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMINA_KNOWLEDGE__ENABLED", "true")
    monkeypatch.setenv("COLUMNS", "160")
    return Shell()


class Shell:
    """Runs commands of learning in a folder with a store of its own."""

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(program, ["learning", *words])

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


SAVE = ("save", "Raise the timeout to 60 s.", "--tool", "deploy", "--error", "request timed out after 30 s")


def test_a_fix_is_saved_tried_offered_and_found(shell: Shell) -> None:
    saved = shell.json(*SAVE, "--origin", "agent", "--tag", "ops")
    one = saved["learning"]
    assert saved["outcome"] == "created"
    assert (one["pattern"], one["category"]) == ("request timed out after <number> s", "timeout")
    assert (one["confidence"], one["tags"]) == (0.5, ["ops"])
    assert shell.json("lookup", "deploy", "request timed out after 10 s") == {"learning": None}
    assert "no trusted fix" in shell.text("lookup", "deploy", "request timed out after 10 s")
    assert shell.json("outcome", one["id"], "--helped")["success_count"] == 1
    assert "confidence 0.75" in shell.text("outcome", one["id"], "--helped")
    assert shell.json("lookup", "deploy", "request timed out after 10 s")["learning"]["id"] == one["id"]
    (hit,) = shell.json("search", "the deploy request timed out")["results"]
    assert (hit["id"], hit["explain"]["confidence"]) == (one["id"], 0.75)
    assert "lexical" in shell.text("search", "the deploy request timed out", "--explain")
    assert shell.json("outcome", one["id"], "--failed")["confidence"] == 0.6
    assert "no known solution" in shell.text("search", "the deploy request timed out")
    assert len(shell.json("search", "the deploy request timed out", "--unsolved")["results"]) == 1


def test_learnings_are_listed_shown_fixed_corrected_and_deleted(shell: Shell) -> None:
    id = shell.json(*SAVE)["learning"]["id"]
    assert "created:" in shell.text("correct", "deploying", "Run the migrations first.")
    page = shell.json("list")
    assert page["total_count"] == 2
    assert shell.json("list", "--tool", "deploy")["learnings"][0]["id"] == id
    assert shell.json("list", "--limit", "1")["next_cursor"]
    assert len(shell.json("list", "--limit", "1", "--all")["learnings"]) == 2
    assert shell.json("list", "--without-fix")["total_count"] == 0
    assert "request timed out after <number> s" in shell.text("show", id)
    assert "changed" in shell.text("fix", id, "Ask for less at once.")
    assert shell.json("show", id)["fix"] == "Ask for less at once."
    assert shell.text("fix", id, "Ask for less at once.", "-q").strip() == id
    assert "Ask for less at once." in shell.text("list")
    assert shell.json("delete", id) == {"deleted": id}
    assert shell.error("show", id)["code"] == "LEARNING_NOT_FOUND"


def test_a_users_fix_is_kept_against_an_agents(shell: Shell) -> None:
    shell.json(*SAVE)
    done = shell.run("save", "Do nothing.", *SAVE[2:], "--origin", "agent")
    assert "kept:" in done.stdout
    assert "still works" in done.stderr


def test_a_clean_up_shows_first_and_removes_then(shell: Shell) -> None:
    shell.json(*SAVE, "--origin", "agent")
    shell.json("correct", "deploying", "Run the migrations first.")
    assert shell.error("cleanup", "--dry-run")["code"] == "INVALID_INPUT"
    dry = shell.json("cleanup", "--max-confidence", "0.5", "--dry-run")
    assert (dry["dry_run"], dry["count"]) == (True, 1)
    assert "1 would be removed" in shell.text("cleanup", "--max-confidence", "0.5", "--dry-run")
    real = shell.json("cleanup", "--max-confidence", "0.5")
    assert (real["dry_run"], real["learnings"]) == (False, dry["learnings"])
    assert "0 removed" in shell.text("cleanup", "--not-seen-since", "90d")
    assert shell.json("stats")["total_count"] == 1


def test_statistics_and_slots_are_shown(shell: Shell) -> None:
    shell.json(*SAVE, "--session", "s")
    assert shell.json("stats")["by_category"]["timeout"] == 1
    assert "known solutions" in shell.text("stats")
    assert shell.json("slots", "s") == {"session_key": "s", "taken": 1, "most": 10}
    assert "0 of 10 taken" in shell.text("slots", "s", "--reset")


def test_text_of_learnings_cannot_drive_the_terminal(shell: Shell) -> None:
    shell.json("correct", "a \x1b[31mred\x1b[0m [bold]trigger[/bold]", "fix \x1b]0;title\x07 it")
    for words in (("list",), ("search", "red trigger")):
        shown = shell.text(*words)
        assert "\x1b[31m" not in shown
        assert "\x1b]0" not in shown
        assert "[bold]" in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", UNKNOWN), "LEARNING_NOT_FOUND"),
        (("fix", UNKNOWN, "x"), "LEARNING_NOT_FOUND"),
        (("outcome", UNKNOWN, "--helped"), "LEARNING_NOT_FOUND"),
        (("save", "x"), "INVALID_INPUT"),
        (("list", "--category", "nonsense"), "INVALID_INPUT"),
        (("list", "--cursor", "nonsense"), "INVALID_CURSOR"),
        (("list", "--not-seen-since", "soon"), "INVALID_INPUT"),
        (("search", "x", "--limit", "0"), "INVALID_INPUT"),
    ],
)
def test_what_goes_wrong_has_a_code_and_a_next_step(shell: Shell, words: tuple[str, ...], code: str) -> None:
    shell.json("correct", "deploying", "Run the migrations first.")
    error = shell.error(*words)
    assert error["code"] == code
    assert error["next"]


def test_while_knowledge_is_off_the_commands_say_how_to_switch_it_on(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.json("correct", "deploying", "Run the migrations first.")
    monkeypatch.delenv("LAMINA_KNOWLEDGE__ENABLED")
    assert "knowledge.enabled" in shell.error("stats")["message"]
    assert shell.json("list")["total_count"] == 0


def test_every_command_has_examples_and_json() -> None:
    for one in commands.registered_commands:
        shown = CliRunner().invoke(program, ["learning", one.name or "", "--help"], env={"COLUMNS": "200"}).stdout
        assert "Example" in shown, one.name
        assert "--json" in shown, one.name
