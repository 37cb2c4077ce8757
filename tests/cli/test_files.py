"""`lamina export` and `lamina import`: files, pipes, and what is wrong with them."""

import json
from pathlib import Path

import pytest

from lamina.cli.files import PARTS
from lamina.config import Settings
from lamina.house.carriers import all_carriers
from lamina.house.transfer import MEMORIES
from tests.cli.terminal import Terminal

LINE = json.dumps({"content": "Prefers dark mode", "identifiers": {"user_id": "u1"}})


def test_what_was_exported_can_be_imported_elsewhere(terminal: Terminal) -> None:
    id = terminal.add("Prefers dark mode")
    terminal.ok("update", id, "--content", "Prefers light mode", "--user", "u1")
    assert terminal.ok("export", "all.jsonl").out == "1 exported to all.jsonl\n"
    assert terminal.ok("import", "all.jsonl", "--store", "other.db").out == "1 stored\n"
    here = terminal.ok("history", id, "--user", "u1", "--json").document
    assert terminal.ok("history", id, "--user", "u1", "--store", "other.db", "--json").document == here
    assert terminal.ok("import", "all.jsonl", "--json").document["skipped"] == 1


def test_a_dash_is_a_pipe_in_both_directions(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    lines = terminal.ok("export", "-").out
    assert len(lines.splitlines()) == 2
    assert all(isinstance(json.loads(line), dict) for line in lines.splitlines())
    report = terminal.ok("import", "-", "--store", "other.db", "--json", input=lines).document
    assert (report["stored"], report["skipped"]) == (1, 0)


def test_a_file_that_is_there_is_overwritten_only_by_force(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    (tmp_path / "all.jsonl").write_text("precious")
    error = terminal.run("export", "all.jsonl", "--json").error
    assert (error["code"], "--force" in error["next"]) == ("INVALID_INPUT", True)
    assert (tmp_path / "all.jsonl").read_text() == "precious"
    assert terminal.ok("export", "all.jsonl", "--force", "--json").document == {"exported": 1, "file": "all.jsonl"}


@pytest.mark.parametrize("file", ["mine.part", "mine.part-wal", "link", "mine"])
def test_an_export_never_overwrites_the_store_itself(terminal: Terminal, tmp_path: Path, file: str) -> None:
    terminal.ok("add", "Prefers dark mode", "--user", "u1", "--store", "mine.part")
    (tmp_path / "link").symlink_to("mine.part")
    error = terminal.run("export", file, "--force", "--store", "mine.part", "--json").error
    assert (error["code"], error["next"]) == ("CONFIGURATION_ERROR", "Choose another name.")
    assert terminal.ok("list", "--user", "u1", "--store", "mine.part", "--json").document["total_count"] == 1


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    error = terminal.run("export", "no/such/folder/all.jsonl", "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert "folder" in error["next"]
    assert [path.name for path in tmp_path.iterdir() if "jsonl" in path.name] == []


@pytest.mark.parametrize("file", ["nowhere.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(terminal: Terminal, file: str) -> None:
    error = terminal.run("import", file, "--json").error
    assert (error["code"], error["next"]) == ("INVALID_INPUT", "Check the path.")
    assert error["message"].startswith(f"{file} cannot be read")


@pytest.mark.parametrize("bad", ["{", "[]", '{"content": "no owner"}', '{"identifiers": {"user_id": "u1"}}', "\udcff"])
def test_a_wrong_line_is_named_and_can_be_corrected(terminal: Terminal, bad: str) -> None:
    lines = f"{LINE}\n{bad}\n".encode("utf-8", "surrogateescape")
    error = terminal.run("import", "-", "--json", input=lines).error
    assert error["message"].startswith("Line 2")
    assert error["details"]["line"] == 2
    assert "same command again" in error["next"]
    assert terminal.ok("import", "-", "--json", input=f"{LINE}\n").document["stored"] == 1


def test_a_conflict_can_be_an_error(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    lines = terminal.ok("export", "-").out
    assert terminal.run("import", "-", "--on-conflict", "error", input=lines).status == 1
    assert terminal.ok("import", "-", "--on-conflict", "replace", "--json", input=lines).document["replaced"] == 1
    assert terminal.run("import", "-", "--on-conflict", "shrug", "--json").error["code"] == "USAGE_ERROR"


def test_a_file_cut_short_is_remarked_upon(terminal: Terminal) -> None:
    for number in range(3):
        terminal.add(f"Note {number}")
    lines = terminal.ok("export", "-").out.splitlines()
    answer = terminal.ok("import", "-", "--store", "other.db", input="\n".join(lines[:-1]) + "\n")
    assert "announced 3 records and held 2" in answer.err


def test_parts_are_named_as_the_rooms_name_them(terminal: Terminal) -> None:
    assert (MEMORIES, *all_carriers(Settings())) == PARTS
    terminal.add("Prefers dark mode")
    terminal.ok("session", "append", "telegram:42:7", "Where did I park?", "--user", "u1")
    assert terminal.ok("export", "said.jsonl", "--only", "sessions, graph").out == "2 exported to said.jsonl\n"
    report = terminal.ok("import", "said.jsonl", "--store", "other.db", "--json").document
    assert report["kinds"] == {"session": 1, "message": 1}
    error = terminal.run("export", "none.jsonl", "--only", "keys", "--json").error
    assert error["code"] == "INVALID_INPUT"
    assert "memories, knowledge" in error["message"]
