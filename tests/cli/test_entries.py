"""`lamina add`, `get`, `update`, `delete`, `list` and `history`, for people and for programs."""

import json
from pathlib import Path

import pytest

from lamina.cli.options import LAYERS
from lamina.memory.types import MemoryLayer
from tests.cli.terminal import Terminal

NOWHERE = "00000000-0000-7000-8000-000000000000"


def test_add_prints_the_id_and_get_shows_every_field(terminal: Terminal) -> None:
    id = terminal.add("Prefers dark mode", "--user", "u1", "--tag", "ui", "--metadata", '{"room": 7}')
    shown = terminal.ok("get", id, "--user", "u1")
    for part in (id, "Prefers dark mode", "user_id=u1", "ui", "room=7", "version"):
        assert part in shown.out
    assert shown.err == ""


def test_add_and_get_as_json_carry_the_whole_memory(terminal: Terminal) -> None:
    words = ("add", "Hello", "--user", "u1", "--author", "ann", "--conversation", "c1", "--sequence", "3", "--json")
    added = terminal.ok(*words, "--said-at", "2026-05-01T12:00+02:00").document
    assert added["embedding_generated"] is True
    got = terminal.ok("get", added["memory"]["id"], "--user", "u1", "--json").document
    assert got == added["memory"]
    assert got["source"]["author"] == "ann"
    assert got["source"]["said_at"].startswith("2026-05-01T10:00")


@pytest.mark.parametrize(
    ("given", "stored"),
    [("one line\n", "one line"), ("a\r\n", "a"), ("two\nlines", "two\nlines"), ("émoji 🌊\n\n", "émoji 🌊\n")],
)
def test_a_dash_reads_standard_input_without_its_last_line_end(terminal: Terminal, given: str, stored: str) -> None:
    added = terminal.ok("add", "-", "--user", "u1", "--json", input=given.encode()).document
    assert added["memory"]["content"] == stored


def test_update_reads_standard_input_too_and_history_shows_both_states(terminal: Terminal) -> None:
    id = terminal.add("Prefers dark mode", "--user", "u1", "--tag", "ui")
    updated = terminal.ok("update", id, "--content", "-", "--no-tags", "--user", "u1", input="Prefers light mode\n")
    assert "Prefers light mode" in updated.out
    history = terminal.ok("history", id, "--user", "u1")
    assert history.out.index("Prefers dark mode") < history.out.index("Prefers light mode")
    states = terminal.ok("history", id, "--user", "u1", "--json").document["history"]
    assert [(state["version"], state["content"], state["tags"]) for state in states] == [
        (1, "Prefers dark mode", ["ui"]),
        (2, "Prefers light mode", []),
    ]


def test_an_expiry_is_set_as_a_span_and_taken_back(terminal: Terminal) -> None:
    id = terminal.add("Buy milk", "--user", "u1", "--expires", "12h")
    assert terminal.ok("get", id, "--user", "u1", "--json").document["expires_at"] is not None
    updated = terminal.ok("update", id, "--no-expiry", "--user", "u1", "--json").document
    assert updated["memory"]["expires_at"] is None
    assert updated["embedding_regenerated"] is False


def test_delete_counts_what_was_there(terminal: Terminal) -> None:
    first, second = terminal.add("one"), terminal.add("two")
    assert terminal.ok("delete", first, NOWHERE, "--user", "u1").out == "1 deleted\n"
    assert terminal.ok("delete", first, second, "--user", "u1", "--json").document == {"deleted": 1}


def test_list_shows_whole_ids_at_eighty_columns_and_says_how_to_go_on(terminal: Terminal) -> None:
    ids = [terminal.add(f"Note number {number}") for number in range(3)]
    page = terminal.ok("list", "--user", "u1", "--limit", "2")
    assert ids[2] in page.out
    assert ids[0] not in page.out
    assert max(map(len, page.out.splitlines())) <= 80
    assert "2 of 3" in page.err
    cursor = page.err.split("--cursor ")[1].strip()
    assert ids[0] in terminal.ok("list", "--user", "u1", "--limit", "2", "--cursor", cursor).out


def test_list_all_walks_every_page(terminal: Terminal) -> None:
    ids = [terminal.add(f"Note number {number}") for number in range(5)]
    document = terminal.ok("list", "--user", "u1", "--limit", "2", "--all", "--json").document
    assert [entry["id"] for entry in document["memories"]] == ids[::-1]
    assert (document["next_cursor"], document["total_count"]) == (None, 5)


def test_list_filters_by_tag_and_metadata(terminal: Terminal) -> None:
    terminal.add("Paint the door", "--user", "u1", "--tag", "todo", "--metadata", '{"priority": 3}')
    terminal.add("Water the plants", "--user", "u1", "--tag", "todo", "--metadata", '{"priority": 1}')
    document = terminal.ok("list", "--user", "u1", "--where", '{"priority": {"gte": 2}}', "--json").document
    assert [entry["content"] for entry in document["memories"]] == ["Paint the door"]
    assert terminal.ok("list", "--user", "u1", "--tag", "other").out == "no memories\n"


def test_a_memory_cannot_drive_the_terminal(terminal: Terminal) -> None:
    id = terminal.add("red \x1b[31m and [bold]markup[/bold] and a bell \x07")
    for shown in (terminal.ok("list", "--user", "u1"), terminal.ok("get", id, "--user", "u1")):
        assert "\x1b" not in shown.out
        assert "\x07" not in shown.out
        assert "[bold]markup[/bold]" in shown.out
    assert terminal.ok("get", id, "--user", "u1", "--json").document["content"].startswith("red \x1b[31m")


def test_quiet_leaves_the_result_alone(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    assert terminal.ok("list", "--user", "u1", "-q").err == ""


def test_a_missing_identifier_is_asked_for_by_its_option(terminal: Terminal) -> None:
    error = terminal.run("add", "x", "--layer", "session", "--user", "u1", "--json").error
    assert (error["code"], error["next"]) == ("MISSING_IDENTIFIER", "Say whose memory it is: --session NAME.")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("get", "no-such-id", "--user", "u1"), "MEMORY_NOT_FOUND"),
        (("get", NOWHERE, "--user", "u1"), "MEMORY_NOT_FOUND"),
        (("history", NOWHERE, "--user", "u1"), "MEMORY_NOT_FOUND"),
        (("update", NOWHERE, "--content", "x", "--user", "u1"), "MEMORY_NOT_FOUND"),
        (("update", NOWHERE, "--user", "u1"), "INVALID_INPUT"),
        (("add", "  ", "--user", "u1"), "INVALID_INPUT"),
        (("add", "x"), "MISSING_IDENTIFIER"),
        (("add", "x", "--layer", "galaxy", "--user", "u1"), "INVALID_LAYER"),
        (("add", "x", "--user", "u1", "--metadata", "{"), "INVALID_INPUT"),
        (("add", "x", "--user", "u1", "--metadata", "[1]"), "INVALID_INPUT"),
        (("add", "x", "--user", "u1", "--expires", "tomorrow"), "INVALID_INPUT"),
        (("add", "x" * 100_001, "--user", "u1"), "CONTENT_TOO_LONG"),
        (("list", "--user", "u1", "--cursor", "rubbish"), "INVALID_CURSOR"),
        (("list", "--user", "u1", "--where", "{"), "INVALID_FILTER"),
        (("list", "--user", "u1", "--limit", "0"), "INVALID_INPUT"),
    ],
)
def test_each_error_has_its_code_and_says_what_to_do(terminal: Terminal, words: tuple[str, ...], code: str) -> None:
    terminal.add("so that there is a store")
    for_people = terminal.run(*words)
    assert for_people.status == 1
    assert for_people.out == ""
    assert for_people.err.startswith(code)
    assert "\nnext  " in for_people.err
    error = terminal.run(*words, "--json").error
    assert error["code"] == code
    assert error["next"] in for_people.err
    assert "next" not in error["details"]


def test_bytes_that_are_no_text_are_refused(terminal: Terminal) -> None:
    error = terminal.run("add", "-", "--user", "u1", "--json", input=b"\xff\xfe").error
    assert error["code"] == "INVALID_INPUT"
    assert "UTF-8" in error["message"]


@pytest.mark.parametrize("words", [("--metadata", "{"), ("--expires", "soon"), ("--said-at", "then")])
def test_a_wrong_option_creates_no_store(terminal: Terminal, words: tuple[str, str], tmp_path: Path) -> None:
    assert terminal.run("add", "x", "--user", "u1", *words).status == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [("list", "--user", "u1"), ("search", "x", "--user", "u1"), ("export", "x.jsonl")])
def test_a_mistyped_path_becomes_no_empty_store(terminal: Terminal, command: tuple[str, ...], tmp_path: Path) -> None:
    error = terminal.run(*command, "--store", "mistyped.db", "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert "mistyped.db" in error["message"]
    assert "lamina add" in error["next"]
    assert list(tmp_path.iterdir()) == []


def test_tenants_do_not_see_each_other(terminal: Terminal) -> None:
    id = terminal.add("Prefers dark mode", "--user", "u1", "--tenant", "acme")
    assert terminal.run("get", id, "--user", "u1").status == 1
    assert json.loads(terminal.ok("get", id, "--user", "u1", "--tenant", "acme", "--json").out)["id"] == id


def test_the_layers_in_the_help_are_those_of_memory() -> None:
    assert tuple(layer.value for layer in MemoryLayer) == LAYERS
