"""`lamina config`: the settings in force. The configuration is imported when a command runs."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.output import one_line, plain
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.config import SettingRow

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="See the settings in force and where each came from.")
commands.add_typer(_group, name="config", rich_help_panel="Look and check")


@command(
    _group, "show", examples=("lamina config show", "lamina config show memory --json", "lamina config show --changed")
)
def show(
    call: Invocation,
    section: Annotated[str | None, typer.Argument(metavar="SECTION", help="Only this section.")] = None,
    changed: Annotated[bool, flag("--changed", "Only what is not a default.")] = False,
) -> None:
    """Print every setting, its value and where it came from; secrets are masked."""
    rows = list(call.settings().rows())
    sections = list(dict.fromkeys(row.name.partition(".")[0] for row in rows))
    if section is not None and section not in sections:
        raise InvalidInputError(
            f"There is no section {section!r}; there are {', '.join(sections)}.",
            details={"next": "`lamina config show` prints every section."},
        )
    chosen = [
        row
        for row in rows
        if section in (None, row.name.partition(".")[0]) and not (changed and row.origin == "default")
    ]
    table = _table(chosen, helps=section is not None)
    call.output.show([asdict(row) for row in chosen], table if chosen else "every setting is at its default")
    if section is None:
        call.output.note("What the settings of a section do: lamina config show memory")


def _table(rows: "Sequence[SettingRow]", *, helps: bool) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold", show_lines=helps)
    table.add_column("Setting", overflow="fold", min_width=max((len(row.name) for row in rows), default=0))
    table.add_column("Value", overflow="fold", style="cyan")
    table.add_column("From", overflow="fold")
    for _, group in itertools.groupby(rows, key=lambda row: row.name.partition(".")[0]):
        table.add_section()
        for row in group:
            name = Text.assemble(row.name, "\n", one_line(row.help, "dim")) if helps else Text(row.name)
            origin = one_line(row.origin, "dim" if row.origin == "default" else "yellow")
            table.add_row(name, one_line("" if row.value is None else str(row.value)), origin)
    return table


@command(_group, "path", examples=("lamina config path",))
def path(call: Invocation) -> None:
    """Print the file that settings are read from."""
    from lamina.config import DEFAULT_FILE, settings_file

    found = settings_file(call.config)
    document = {"path": None if found is None else str(found), "exists": found is not None and found.is_file()}
    words = f"none: there is no {DEFAULT_FILE} in this folder" if found is None else str(found)
    call.output.show(document, plain(words))
