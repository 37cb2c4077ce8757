"""`lamina config`: the settings in force. The configuration is imported when a command runs."""

import itertools
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.output import one_line
from lamina.errors import InvalidInputError

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="See the settings in force and where each came from.")
commands.add_typer(_group, name="config", rich_help_panel="Look and check")


@command(
    _group, "show", examples=("lamina config show", "lamina config show memory --json", "lamina config show --changed")
)
def show(
    call: Invocation,
    section: Annotated[str | None, typer.Argument(metavar="SECTION", help="Only this section.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not a default.")] = False,
) -> None:
    """Print every setting, its value and where it came from; secrets are masked."""
    rows = list(call.settings().rows())
    sections = list(dict.fromkeys(row.name.partition(".")[0] for row in rows))
    if section is not None and section not in sections:
        raise InvalidInputError(f"There is no section {section!r}; there are {', '.join(sections)}.")
    chosen = [
        row
        for row in rows
        if section in (None, row.name.partition(".")[0]) and not (changed and row.origin == "default")
    ]
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold", expand=True)
    table.add_column("Setting", no_wrap=True)
    table.add_column("Value", overflow="fold", style="cyan")
    table.add_column("From", overflow="fold")
    table.add_column("What it does", overflow="fold", style="dim", ratio=1)
    for _, group in itertools.groupby(chosen, key=lambda row: row.name.partition(".")[0]):
        table.add_section()
        for row in group:
            origin = one_line(row.origin, "dim" if row.origin == "default" else "yellow")
            table.add_row(row.name, one_line("" if row.value is None else str(row.value)), origin, one_line(row.help))
    document = [{"name": row.name, "value": row.value, "origin": row.origin, "help": row.help} for row in chosen]
    call.output.show(document, table if chosen else "every setting is at its default")


@command(_group, "path", examples=("lamina config path",))
def path(call: Invocation) -> None:
    """Print the file that settings are read from."""
    from lamina.config import DEFAULT_FILE, settings_file

    found = settings_file(call.config)
    document = {"path": None if found is None else str(found), "exists": found is not None and found.is_file()}
    call.output.show(document, f"none: there is no {DEFAULT_FILE} in this folder" if found is None else str(found))
