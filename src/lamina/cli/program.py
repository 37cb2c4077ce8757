"""The program `lamina`: its groups of commands, and the options that may stand before them."""

import typer

from lamina.cli import (
    audit,
    context,
    demo,
    entries,
    evaluation,
    files,
    graph,
    knowledge,
    learning,
    quarantine,
    reference,
    search,
    skill,
)
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

for group in (entries.commands, search.commands, files.commands, demo.commands, evaluation.commands):
    program.add_typer(group)
for group in (knowledge.commands, graph.commands, learning.commands, skill.commands, reference.commands):
    program.add_typer(group, rich_help_panel="Knowledge")
program.add_typer(audit.commands, rich_help_panel="Knowledge")
for group in (context.commands, quarantine.commands):
    program.add_typer(group, rich_help_panel="Context")


def main() -> None:
    """Run the program; what the console script calls."""
    program()
