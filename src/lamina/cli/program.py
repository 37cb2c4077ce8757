"""The program `lamina`: its groups of commands, and the options that may stand before them."""

import typer

from lamina.cli import configuration, demo, entries, evaluation, files, hierarchy, models, search, store
from lamina.cli.command import shared_options

program = typer.Typer(
    name="lamina",
    help="The memory layer for LLM agents: embedded, offline by default, on a SQLite file or on PostgreSQL.",
    epilog="\n\n".join(
        (
            "[bold]Examples[/bold]",
            "lamina demo",
            'lamina add "Prefers dark mode" --user u1',
            'lamina search "dark mode" --user u1',
        )
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.callback()(shared_options)

for room in (search, entries, hierarchy, files, models, store, demo, configuration, evaluation):
    program.add_typer(room.commands)


def main() -> None:
    """Run the program; what the console script calls."""
    program()
