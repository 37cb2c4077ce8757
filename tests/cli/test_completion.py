"""Completion by the shell: the program answers what could come next, and installs itself where it is asked to."""

import subprocess
import sys
from pathlib import Path

from tests.cli.terminal import SCRIPT, process_environment

PROGRAM = "import sys; sys.argv[0] = 'lamina'; " + SCRIPT


def ask(folder: Path, *words: str, **environ: str) -> str:
    """What the program prints in a process of its own, as a shell starts it."""
    detection = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=process_environment({**detection, **environ}),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_commands_and_values_are_completed(tmp_path: Path) -> None:
    bash = {"_LAMINA_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert set(ask(tmp_path, COMP_WORDS="lamina se", **bash).split()) == {"search", "session", "serve"}
    fish = {"_LAMINA_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert "mem0" in ask(tmp_path, _TYPER_COMPLETE_ARGS="lamina import --from ", **fish).split()


def test_the_script_for_a_shell_is_shown_and_installed(tmp_path: Path) -> None:
    assert "_LAMINA_COMPLETE" in ask(tmp_path, "--show-completion", "zsh")
    assert "installed" in ask(tmp_path, "--install-completion", "bash")
    assert any("lamina" in path.name for path in tmp_path.rglob("*") if path.is_file())
