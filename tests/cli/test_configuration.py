"""`lamina config`: every setting, its value and where it came from."""

from pathlib import Path

import pytest

from lamina.config import load_settings
from tests.cli.terminal import Terminal


def origins(terminal: Terminal, *words: str, environ: dict[str, str] | None = None) -> dict[str, tuple[object, str]]:
    answer = terminal.run("config", "show", *words, "--json", environ=environ)
    assert answer.status == 0, answer.err
    return {row["name"]: (row["value"], row["origin"]) for row in answer.document}


def test_every_setting_is_shown_with_its_default(terminal: Terminal) -> None:
    found = origins(terminal)
    assert list(found) == [row.name for row in load_settings(environ={}).rows()]
    assert {origin for _, origin in found.values()} == {"default"}


def test_each_source_overrides_the_one_before_and_is_named(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "lamina.toml").write_text("[memory]\nthreshold = 0.5\nsearch_limit = 7\nlist_limit = 9\n")
    environ = {"LAMINA_MEMORY__SEARCH_LIMIT": "8", "LAMINA_MEMORY__TENANT": "acme"}
    found = origins(terminal, "--tenant", "umbrella", environ=environ)
    assert found["memory.threshold"] == (0.5, "file lamina.toml")
    assert found["memory.search_limit"] == (8, "environment LAMINA_MEMORY__SEARCH_LIMIT")
    assert found["memory.tenant"] == ("umbrella", "argument")
    assert origins(terminal, "--changed").keys() == {"memory.threshold", "memory.search_limit", "memory.list_limit"}


@pytest.mark.parametrize("words", [(), ("database",), ("memory",), ("embedding",)])
def test_the_table_fits_eighty_columns_with_whole_names(terminal: Terminal, words: tuple[str, ...]) -> None:
    store = "postgresql://ann:hunter2@database.internal.example.org:5432/lamina_production"
    shown = terminal.run("config", "show", *words, environ={"LAMINA_STORE": store}).out
    assert max(map(len, shown.splitlines())) <= 80
    for row in load_settings(environ={}).rows():
        if not words or row.name.startswith(words[0]):
            assert f" {row.name} " in shown


def test_a_section_says_what_its_settings_do(terminal: Terminal) -> None:
    assert "Seconds before the first retry." in terminal.ok("config", "show", "retry").out
    assert "lamina config show memory" in terminal.ok("config", "show").err


def test_no_password_is_shown(terminal: Terminal) -> None:
    environ = {"LAMINA_STORE": "postgresql://ann:hunter2@host/name"}
    for words in ((), ("--json",), ("database",)):
        answer = terminal.run("config", "show", *words, environ=environ)
        assert "ann" in answer.out
        assert "hunter2" not in answer.out + answer.err


def test_nothing_changed_is_said(terminal: Terminal) -> None:
    assert terminal.ok("config", "show", "--changed").out == "every setting is at its default\n"


def test_an_unknown_section_names_those_there_are(terminal: Terminal) -> None:
    error = terminal.run("config", "show", "memry", "--json").error
    assert error["code"] == "INVALID_INPUT"
    assert "embedding" in error["message"]


@pytest.mark.parametrize(
    ("content", "environ", "named"),
    [
        ("[memory]\ntreshold = 0.5\n", {}, "memory.threshold"),
        ("[memory]\nthreshold = 7\n", {}, "file lamina.toml: memory.threshold"),
        ("not toml", {}, "lamina.toml"),
        ("", {"LAMINA_MEMORY__TRESHOLD": "0.5"}, "LAMINA_MEMORY__THRESHOLD"),
        ("", {"LAMINA_MEMORY__THRESHOLD": "much"}, "environment LAMINA_MEMORY__THRESHOLD"),
    ],
)
def test_a_wrong_setting_names_source_and_place(
    terminal: Terminal, tmp_path: Path, content: str, environ: dict[str, str], named: str
) -> None:
    (tmp_path / "lamina.toml").write_text(content)
    error = terminal.run("config", "show", "--json", environ=environ).error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert named in error["message"]
    assert "config show" not in error["next"]


def test_path_names_the_file_or_says_that_there_is_none(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.ok("config", "path").out.startswith("none")
    (tmp_path / "lamina.toml").write_text("")
    assert terminal.ok("config", "path").out == "lamina.toml\n"
    given = terminal.ok("config", "path", "--config", "other.toml", "--json").document
    assert given == {"path": "other.toml", "exists": False}
