"""The program as a person or a script meets it: run inside this process, or as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import typer.main
import typer.testing
from typer.testing import CliRunner

from lamina.cli.program import program

ROOT = Path(__file__).resolve().parents[2]
# Whoever runs the tests in the background has interrupts ignored, and children inherit that.
SCRIPT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from lamina.cli import main; main()"
NARROW = {"COLUMNS": "80"}
# The runner reads the whole program from its functions for every command, which takes longer than most commands do.
typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command wrote and how it ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output read as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error object on standard error; standard output must be empty."""
        assert self.out == ""
        found: dict[str, Any] = json.loads(self.err)["error"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Runs commands in this process, in the current folder, eighty columns wide."""

    runner: CliRunner = field(default_factory=CliRunner)

    def run(
        self, *words: str | Path, input: str | bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command to its end; an exception that escapes it is raised here."""
        done = self.runner.invoke(
            program, [str(word) for word in words], input=input, env={**NARROW, **(environ or {})}
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(status=done.exit_code, out=done.stdout, err=done.stderr)

    def ok(self, *words: str | Path, input: str | bytes | None = None) -> Answer:
        """Run a command that must succeed."""
        answer = self.run(*words, input=input)
        assert answer.status == 0, answer.err
        return answer

    def add(self, content: str, *words: str) -> str:
        """Store a memory of the user u1, or as the options say; its id."""
        return self.ok("add", content, *(words or ("--user", "u1"))).out.strip()


def start(*words: str | Path, folder: Path, environ: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """The program as a process of its own, its streams as pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, words)],
        cwd=folder,
        env=process_environment(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def process_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that runs this checkout, without settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    return {**kept, **NARROW, "PYTHONPATH": str(ROOT / "src"), **(extra or {})}
