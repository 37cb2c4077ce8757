"""The example agent, word for word as its guide shows it: it fails at first, and not the second time."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shown(page: Path) -> list[tuple[str, str]]:
    """The commands that a page shows in its text blocks, each with what it prints."""
    blocks = re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    runs = [run for block in blocks for run in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(run.partition("\n")[0], run.partition("\n")[2].strip()) for run in runs]


def printed(command: str, folder: Path) -> str:
    """What a command prints that runs a file of the project."""
    program, script, *words = shlex.split(command)
    assert program == "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LAMINA_", "GOOGLE_"))}
    run = [sys.executable, "-W", "error", str(ROOT / script), *words]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_agent_fails_at_first_and_not_the_second_time_in_a_new_session_and_a_new_process(tmp_path: Path) -> None:
    first, second = shown(ROOT / "docs" / "adk.md")
    assert "That failed" in first[1]
    assert "That failed" not in second[1]
    for command, output in (first, second):
        assert printed(command, tmp_path) == output
