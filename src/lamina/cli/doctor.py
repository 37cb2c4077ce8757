"""`lamina doctor`: looks at everything a store needs. The checks are imported when the command runs."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.output import is_narrow, one_line
from lamina.cli.sizes import count_text
from lamina.errors import LaminaError

if TYPE_CHECKING:
    from lamina.cli.checks import Check

commands = typer.Typer()
_MARKS = {
    "ok": ("✓", "ok", "green"),
    "warning": ("!", "!", "yellow"),
    "problem": ("✗", "x", "bold red"),
    "not checked": ("-", "-", "dim"),
}
"""By state: the mark, what stands in for it where only ASCII can be shown, the style."""


@command(
    commands,
    "doctor",
    panel="Look and check",
    examples=("lamina doctor", "lamina doctor --store postgresql://localhost/lamina --json"),
)
def doctor(call: Invocation) -> None:
    """Check settings, store, schema, disk space, embedder and index, and say what to do about each problem.

    Changes nothing. The exit status is 1 when there is a problem; a warning is none.
    """
    with call.output.progress("checking"):
        found = _examine(call)
    problems = sum(check.state == "problem" for check in found)
    warnings = sum(check.state == "warning" for check in found)
    document = {"healthy": not problems, "problems": problems, "warnings": warnings}
    call.output.show(
        {**document, "checks": [asdict(check) for check in found]},
        checks_table(found, narrow=is_narrow(sys.stdout)),
        Text(),
    )
    if not call.output.json:
        call.output.console.print(_verdict(problems, warnings))
    if problems:
        raise typer.Exit(1)


def _examine(call: Invocation) -> "list[Check]":
    import asyncio

    from lamina.cli.checks import configuration_check, embedder_check, failure, store_checks

    try:
        loaded = call.settings()
    except LaminaError as error:
        return [failure("configuration", error)]
    embedder, model = asyncio.run(embedder_check(loaded.settings))
    return [configuration_check(loaded), embedder, *store_checks(loaded.settings.database, model)]


def checks_table(found: "list[Check]", *, narrow: bool) -> Table:
    """What was looked at, line by line, each problem with what to do about it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for check in found:
        mark, word, style = _MARKS[check.state]
        shown = Text(word if narrow else mark, style=style)
        table.add_row(shown, check.name, one_line(check.found, style if check.state == "problem" else ""))
        if check.next is not None:
            table.add_row("", "", Text.assemble(("next  ", "bold"), one_line(check.next)))
    return table


def _verdict(problems: int, warnings: int) -> Text:
    if not problems and not warnings:
        return Text("Everything is in order.", style="green")
    numbers = ((problems, "problem"), (warnings, "warning"))
    counted = [count_text(number, noun) for number, noun in numbers if number]
    return Text(", ".join(counted), style="bold red" if problems else "yellow")
