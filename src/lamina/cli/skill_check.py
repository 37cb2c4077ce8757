"""The check of scripts from the command line: files with their reasons, or a labelled corpus with its shares."""

import json
import sys
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line
from lamina.errors import InvalidInputError

_LARGEST = 16 * 2**20
_DANGEROUS = "dangerous"


def read_script(path: Path) -> str:
    """A script's text; - is standard input. Raises InvalidInputError for what cannot be read."""
    if str(path) == "-":
        return sys.stdin.read()
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidInputError(f"{path} is larger than {_LARGEST} bytes.", details={"field": "file"})
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}", details={"field": "file"}) from None


def check_files(paths: list[Path]) -> tuple[dict[str, object], Table, bool]:
    """Every script with its verdict, as a document and as a table, and whether one is refused."""
    # Imported here: the parser is a good part of the start-up time of every other command.
    from lamina.skill.check import check_script

    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for column in ("Script", "Verdict", "Reason"):
        table.add_column(column, overflow="fold")
    rows: list[dict[str, object]] = []
    for path in paths:
        verdict = check_script(read_script(path))
        rows.append(
            {
                "file": str(path),
                "allowed": verdict.allowed,
                "reasons": [{"rule": one.rule, "message": one.message, "line": one.line} for one in verdict.reasons],
            }
        )
        word = Text("allowed", style="green") if verdict.allowed else Text("refused", style="bold red")
        table.add_row(one_line(str(path)), word, one_line("; ".join(map(str, verdict.reasons))))
    return {"results": rows}, table, any(not row["allowed"] for row in rows)


def check_corpus(path: Path) -> tuple[dict[str, object], Table]:
    """The shares of dangerous and of other commands that are refused, and how many there are of each.

    Raises InvalidInputError for a row without command and label, naming its line.
    """
    from lamina.skill.check import check_script

    counts = {True: [0, 0], False: [0, 0]}
    for number, line in enumerate(read_script(path).splitlines(), start=1):
        if not line.strip():
            continue
        command, label = _row(line, number)
        seen = counts[label == _DANGEROUS]
        seen[0] += 1
        seen[1] += not check_script(command).allowed
    dangerous, ordinary = counts[True], counts[False]
    document: dict[str, object] = {
        "dangerous": dangerous[0],
        "dangerous_refused": _share(dangerous),
        "ordinary": ordinary[0],
        "ordinary_refused": _share(ordinary),
    }
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for column in ("Commands", "Number", "Refused"):
        table.add_column(column)
    for name, (total, _), share in (
        ("dangerous", dangerous, document["dangerous_refused"]),
        ("ordinary", ordinary, document["ordinary_refused"]),
    ):
        table.add_row(name, str(total), "" if share is None else f"{share:.2%}")
    return document, table


def _row(line: str, number: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InvalidInputError(f"Line {number} is not JSON: {error}", details={"line": number}) from None
    if not isinstance(row, dict) or not isinstance(row.get("command"), str) or not isinstance(row.get("label"), str):
        raise InvalidInputError(f"Line {number} needs command and label as text.", details={"line": number})
    return row["command"], row["label"]


def _share(seen: list[int]) -> float | None:
    return seen[1] / seen[0] if seen[0] else None
