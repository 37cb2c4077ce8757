"""The commands of the program, found by walking its groups."""

from collections.abc import Iterator
from typing import Any

import typer

from lamina.cli.program import program


def walk(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of a group with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS: dict[tuple[str, ...], Any] = dict(walk(typer.main.get_command(program)))
