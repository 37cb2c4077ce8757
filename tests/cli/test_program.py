"""The program as a whole: help, options before and after a command, wrong command lines, streams, start-up."""

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lamina import __version__
from tests.cli.terminal import SCRIPT, Terminal, process_environment, start
from tests.cli.tree import COMMANDS

DEADLINE_S = 60
# Not pydantic: typer reads options with it.
NEVER_FOR_HELP = ("asyncio", "anyio", "numpy", "sqlalchemy", "tokenizers", "opentelemetry", "lamina.app")
NEVER_FOR_A_SEARCH = ("alembic", "psycopg", "openai", "onnxruntime", "fastembed", "rich.progress", "prometheus_client")


def test_the_program_has_the_commands_it_promises() -> None:
    assert {" ".join(path) for path in COMMANDS} >= {
        *("add", "search", "get", "update", "delete", "list", "history", "import", "export"),
        *("hierarchy set", "hierarchy show", "hierarchy remove", "reembed", "calibrate", "doctor", "demo"),
        *("db status", "db migrate", "db sweep", "db vacuum", "db backup"),
        *("config show", "config path", "eval locomo"),
    }


MUST_EXIST = {"locomo10.json", "tools.json", "prompt.md"}
"""Files of the examples that the program opens; this one stands in for them."""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_within_eighty_columns(terminal: Terminal, path: tuple[str, ...]) -> None:
    shown = terminal.ok(*path, "--help").out
    assert "--json" in shown
    assert f"lamina {' '.join(path)}" in shown.split("Example")[1]
    assert "bool" not in shown.replace("--help", "").split("-h ")[0]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_example_in_a_help_is_a_command_line_that_parses(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    examples = [line for line in command.epilog.split("\n\n")[1:] if line.startswith("lamina ")]
    for example in examples:
        words = _words(example.split(" | ")[0].split(" > ")[0])[1 + len(path) :]
        command.make_context(path[-1], [__file__ if word in MUST_EXIST else word for word in words])


def _words(line: str) -> list[str]:
    return shlex.split(line)


def test_shared_options_may_stand_before_or_after_the_command(terminal: Terminal, tmp_path: Path) -> None:
    terminal.ok("--store", "before.db", "add", "x", "--user", "u1")
    terminal.ok("--store", "before.db", "add", "x", "--user", "u1", "--store", "after.db")
    assert {path.name for path in tmp_path.iterdir()} == {"before.db", "after.db"}
    assert terminal.ok("--json", "config", "path").document["path"] is None


def test_the_version_is_printed(terminal: Terminal) -> None:
    assert terminal.ok("--version").out == f"lamina {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [("nonsense",), ("search",), ("search", "x", "--limit", "many"), ("search", "x", "--nonsense"), ("db", "nonsense")],
)
def test_a_wrong_command_line_has_status_two_and_says_where_help_is(terminal: Terminal, words: tuple[str, ...]) -> None:
    for_people = terminal.run(*words)
    assert (for_people.status, for_people.out) == (2, "")
    assert "for help" in for_people.err
    for_programs = terminal.run(*words, "--json")
    assert for_programs.status == 2
    assert for_programs.error["code"] == "USAGE_ERROR"
    assert "--help" in for_programs.error["next"]


def test_json_after_a_double_dash_is_text(terminal: Terminal) -> None:
    terminal.ok("add", "--user", "u1", "--", "--json")
    assert terminal.run("get", "--", "--json", "x").err.startswith("Usage")


def test_a_reader_that_leaves_early_is_no_traceback(terminal: Terminal, tmp_path: Path) -> None:
    lines = [json.dumps({"content": f"Note {n} " + "x" * 900, "identifiers": {"user_id": "u1"}}) for n in range(300)]
    terminal.ok("import", "-", input="\n".join(lines))
    for words in (("list", "--user", "u1", "--all", "--json"), ("export", "-")):
        with start(*words, folder=tmp_path) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            complaint = process.stderr.read()
            assert process.wait(DEADLINE_S) in (0, 1)
        assert "Traceback" not in complaint
        assert "BrokenPipe" not in complaint


def test_two_commands_can_be_joined_by_a_pipe(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    line = f"'{sys.executable}' -c '{SCRIPT}'"
    done = subprocess.run(
        f"{line} export - | {line} import - --store other.db --json",
        shell=True,
        cwd=tmp_path,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["stored"] == 1


def on_a_terminal(folder: Path, environ: dict[str, str], *words: str) -> str:
    """What a command writes when its streams are a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=folder,
        env=process_environment({"TERM": "xterm-256color", **environ}),
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
    )
    os.close(theirs)
    written = b""
    try:
        while block := os.read(ours, 65536):
            written += block
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(DEADLINE_S) == 0
    return written.decode()


def test_colour_is_for_terminals_that_want_it(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    words = ("search", "dark mode", "--user", "u1")
    assert "\x1b[36m" in on_a_terminal(tmp_path, {"COLORTERM": "truecolor"}, *words)
    assert "\x1b[36m" not in on_a_terminal(tmp_path, {"NO_COLOR": "1"}, *words)
    assert "\x1b" not in terminal.ok(*words).out


def test_output_fits_the_width_of_the_terminal(terminal: Terminal) -> None:
    terminal.add("A long sentence about the harbour, the boats in it and the weather that is expected", "--user", "u1")
    for width in (40, 60, 120):
        for words in (("list", "--user", "u1"), ("search", "harbour boats", "--user", "u1"), ("doctor",)):
            shown = terminal.run(*words, environ={"COLUMNS": str(width)}).out
            assert max(map(len, shown.splitlines())) <= width


def test_a_stream_that_carries_only_ascii_loses_no_meaning(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Le café est fermé")
    environ = {"PYTHONIOENCODING": "ascii"}
    checked = start("doctor", folder=tmp_path, environ=environ)
    assert checked.communicate(timeout=DEADLINE_S)[0].startswith("ok")
    listed = start("list", "--user", "u1", "--json", folder=tmp_path, environ=environ)
    (entry,) = json.loads(listed.communicate(timeout=DEADLINE_S)[0])["memories"]
    assert entry["content"] == "Le café est fermé"


def loaded(folder: Path, *words: str) -> set[str]:
    """The modules in memory at the end of a command."""
    script = (
        "import atexit, json, os, sys\n"
        "atexit.register(lambda: os.write(2, ('\\n' + json.dumps(sorted(sys.modules))).encode()))\n"
        f"{SCRIPT}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_loads_nothing_it_does_not_need(tmp_path: Path) -> None:
    for words in (("--help",), ("search", "--help")):
        assert loaded(tmp_path, *words) & set(NEVER_FOR_HELP) == set()


def test_a_search_loads_only_what_a_search_needs(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    assert loaded(tmp_path, "search", "dark mode", "--user", "u1") & set(NEVER_FOR_A_SEARCH) == set()
