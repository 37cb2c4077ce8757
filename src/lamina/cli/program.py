"""The program `lamina`: its groups of commands, and the options that may stand before them."""

import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, cast

import typer
from typer.core import TyperGroup

from lamina.cli import (
    audit,
    configuration,
    context,
    demo,
    doctor,
    entries,
    evaluation,
    files,
    graph,
    hierarchy,
    init,
    key,
    knowledge,
    learning,
    mcp,
    memory_status,
    models,
    observe,
    proxy,
    quarantine,
    reference,
    search,
    serve,
    session,
    skill,
    store,
    timeline,
)
from lamina.cli.command import shared_options
from lamina.cli.output import is_narrow

# The parent has no public name; it also covers a missing argument and an unknown command.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


class Program(TyperGroup):
    """The group of all commands; answers a wrong command line in JSON where JSON was asked for."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its status: 0, 1 for an error, 2 for a wrong command line, 130."""
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words[: words.index("--") if "--" in words else None]
        _take_any_character()
        try:
            status = super().main(words, prog_name, complete_var, standalone_mode and not as_json, **extra)
        except _UsageError as error:
            if not (as_json and standalone_mode):
                raise
            status = _fail_as_json(error)
        finally:
            _flush()
        if standalone_mode:
            sys.exit(status if isinstance(status, int) else 0)
        return status


def _fail_as_json(error: Any) -> int:
    document = {
        "code": "USAGE_ERROR",
        "message": error.format_message(),
        "operation": None,
        "retryable": False,
        "details": {},
        "next": f"`{error.ctx.command_path if error.ctx else 'lamina'} --help` shows what it takes.",
    }
    print(json.dumps({"error": document}), file=sys.stderr)
    status: int = error.exit_code
    return status


def _take_any_character() -> None:
    """Show what a terminal cannot as question marks instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if is_narrow(stream) and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader left early. What is still buffered would fail once more as the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


program = typer.Typer(
    name="lamina",
    cls=Program,
    help="The memory layer for LLM agents: embedded, offline by default, on a SQLite file or on PostgreSQL.",
    epilog="\n\n".join(
        (
            "[bold]Examples[/bold]",
            "lamina serve --demo",
            "lamina init",
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

for room in (search, entries, hierarchy, files, models, store, init, demo, doctor, configuration, evaluation):
    program.add_typer(room.commands)
for group in (knowledge.commands, graph.commands, learning.commands, skill.commands, reference.commands):
    program.add_typer(group, rich_help_panel="Knowledge")
program.add_typer(audit.commands, rich_help_panel="Knowledge")
timeline.join(session.commands)
program.add_typer(session.commands, rich_help_panel="Conversations")
program.add_typer(mcp.commands, rich_help_panel="Serve and connect")
for room in (observe, memory_status, proxy, serve):
    program.add_typer(room.commands)
program.add_typer(key.commands, rich_help_panel="Serve and connect")
for group in (context.commands, quarantine.commands):
    program.add_typer(group, rich_help_panel="Context")


def main() -> None:
    """Run the program; what the console script calls."""
    program()
