"""Finds the examples in Markdown files and runs them as a reader would."""

import ast
import asyncio
import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The examples of one file, in order: they run one after another and share their names."""

    path: Path
    python: tuple[tuple[int, str], ...]
    console: tuple[tuple[int, str], ...]
    toml: str = ""
    """What the page tells its reader to put into `lamina.toml`."""


def pages() -> list[Page]:
    """Every page that a reader can see."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [read_page(path) for path in files if path.exists()]


def read_page(path: Path) -> Page:
    """The fenced blocks of a page: `python` and `console` are run, anything else is only shown."""
    text = path.read_text(encoding="utf-8")
    found = [
        (text.count("\n", 0, match.start()) + 1, match[1], match[2].strip(), match[3])
        for match in _FENCE.finditer(text)
    ]
    unmarked = [line for line, language, note, _ in found if language in ("python", "console") and note not in ("",)]
    if unmarked:
        raise ValueError(f"{path}: unknown mark after the language in line {unmarked[0]}")
    return Page(
        path=path,
        python=tuple((line, body) for line, language, _, body in found if language == "python"),
        console=tuple((line, body) for line, language, _, body in found if language == "console"),
        toml="\n".join(body for _, language, _, body in found if language == "toml"),
    )


def run_python(page: Page) -> str:
    """Run the Python examples of a page, top-level `await` included; what they printed."""
    names: dict[str, object] = {"__name__": "__example__"}
    printed = io.StringIO()

    # One loop for the whole page, running only while an example awaits: another may call `asyncio.run` itself.
    with contextlib.redirect_stdout(printed), asyncio.Runner() as runner:
        for line, body in page.python:
            outcome = eval(_compile(page.path, line, body), names)
            if inspect.iscoroutine(outcome):
                runner.run(outcome)
    return printed.getvalue()


def _compile(path: Path, line: int, body: str) -> CodeType:
    code: CodeType = compile("\n" * line + body, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def commands(page: Page) -> Iterator[tuple[int, str]]:
    """The commands of the console examples: lines that start with `$`, continued by a backslash."""
    for line, body in page.console:
        for offset, command in _prompted(body):
            yield line + offset, command


def _prompted(body: str) -> Iterator[tuple[int, str]]:
    lines = body.splitlines()
    number = 0
    while number < len(lines):
        start = number
        if lines[number].startswith("$ "):
            command = lines[number][2:]
            while command.endswith("\\"):
                number += 1
                command = command[:-1] + " " + lines[number].strip()
            yield start + 1, command
        number += 1
