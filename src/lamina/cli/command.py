"""Turns a function into a command with the options that every command has.

The function takes an `Invocation` and its own parameters. Shared options may stand before or after the command's
name; the later one wins.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, cast

import typer

from lamina import __version__
from lamina.cli.invocation import Invocation
from lamina.cli.output import Output
from lamina.errors import LaminaError

if TYPE_CHECKING:
    from lamina.memory.types import IdentifierArguments

P = ParamSpec("P")

_SHARED_PANEL = "Options of every command"
_WHOSE_PANEL = "Whose memory"
INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


def _option(*names: str, help: str, panel: str = _SHARED_PANEL, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=False)


SHARED: Mapping[str, Any] = {
    "store": Annotated[
        str | None,
        _option("--store", help="The store: a file, or a postgresql:// address.", metavar="PATH|URL"),
    ],
    "config": Annotated[
        Path | None, _option("--config", help="Settings from this file instead of lamina.toml.", metavar="FILE")
    ],
    "tenant": Annotated[str | None, _option("--tenant", help="Whose rows to work on.", metavar="NAME")],
    "embedder": Annotated[
        str | None,
        _option("--embedder", help="static, openai:MODEL, onnx:FOLDER or fastembed:NAME.", metavar="SPEC"),
    ],
    "json": Annotated[bool, _option("--json", help="One JSON document on standard output, nothing else.", metavar="")],
    "quiet": Annotated[bool, _option("--quiet", "-q", help="Only the result: no progress, no remarks.", metavar="")],
}
_WHOSE = ("user", "agent", "session", "project", "team", "org", "company")
WHOSE: Mapping[str, Any] = {
    f"{name}_id": Annotated[
        str | None, _option(f"--{name}", help=f"The {name}'s id.", panel=_WHOSE_PANEL, metavar="ID")
    ]
    for name in _WHOSE
}


def _take(function: Callable[..., None], signature: inspect.Signature) -> None:
    """Make a function look as if it had this signature, which is where options are read from."""
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}


def command(
    group: typer.Typer, name: str, *, examples: tuple[str, ...], panel: str | None = None, whose: bool = False
) -> Callable[[Callable[Concatenate[Invocation, P], None]], Callable[Concatenate[Invocation, P], None]]:
    """Register a function as a command; with `whose` it also takes identifiers."""

    def register(function: Callable[Concatenate[Invocation, P], None]) -> Callable[Concatenate[Invocation, P], None]:
        run = _runner(function, whose)
        group.command(name, help=inspect.getdoc(function), epilog=_shown(examples), rich_help_panel=panel)(run)
        return function

    return register


def group_command(
    group: typer.Typer, *, examples: tuple[str, ...], whose: bool = False
) -> Callable[[Callable[Concatenate[Invocation, P], None]], Callable[Concatenate[Invocation, P], None]]:
    """Register a function as what a group does by itself, when none of its commands is named."""

    def register(function: Callable[Concatenate[Invocation, P], None]) -> Callable[Concatenate[Invocation, P], None]:
        run = _runner(function, whose)
        group.callback(invoke_without_command=True, help=inspect.getdoc(function), epilog=_shown(examples))(run)
        return function

    return register


def _runner(function: Callable[Concatenate[Invocation, P], None], whose: bool) -> Callable[..., None]:
    def run(ctx: typer.Context, **values: Any) -> None:
        shared = {key: values.pop(key) for key in SHARED}
        if ctx.invoked_subcommand is not None:
            _hand_on(ctx, shared, values)
            return
        identifiers = {key: values.pop(key) for key in WHOSE} if whose else {}
        call = _invocation(ctx.obj or {}, shared, identifiers)
        guarded(call.output, lambda: cast(Any, function)(call, **values))

    _take(run, _signature(function, whose))
    return run


def _hand_on(ctx: typer.Context, shared: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Let a command of a group have the shared options before it; the group's own are for the group alone."""
    if any(value not in (None, False) for value in own.values()):
        raise typer.BadParameter(f"Options of {ctx.info_name} itself cannot stand before {ctx.invoked_subcommand}.")
    ctx.obj = {**(ctx.obj or {}), **{key: value for key, value in shared.items() if value not in (None, False)}}


def _shown(examples: tuple[str, ...]) -> str:
    return "\n\n".join(["[bold]Examples[/bold]" if len(examples) > 1 else "[bold]Example[/bold]", *examples])


def _shared_parameters(extra: Mapping[str, Any]) -> list[inspect.Parameter]:
    flags = {"json", "quiet", "version"}
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=False if name in flags else None
        )
        for name, annotation in {**extra, **SHARED}.items()
    ]


_CONTEXT = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _signature(function: Callable[..., None], whose: bool) -> inspect.Signature:
    own = list(inspect.signature(function).parameters.values())[1:]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    return inspect.Signature([_CONTEXT, *named, *_shared_parameters(WHOSE if whose else {})])


def _show_version(asked: bool) -> None:
    if asked:
        print(f"lamina {__version__}")
        raise typer.Exit


def shared_options(ctx: typer.Context, **values: Any) -> None:
    """Remember the options that stand before the command."""
    ctx.obj = values


_VERSION = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.", metavar=""),
]
_take(shared_options, inspect.Signature([_CONTEXT, *_shared_parameters({"version": _VERSION})]))


def _invocation(before: Mapping[str, Any], after: Mapping[str, Any], identifiers: Mapping[str, Any]) -> Invocation:
    given = {key: value if value not in (None, False) else before.get(key) for key, value in after.items()}
    return Invocation(
        store=given["store"],
        config=given["config"],
        tenant=given["tenant"],
        embedder=given["embedder"],
        output=Output(json=bool(given["json"]), quiet=bool(given["quiet"])),
        identifiers=cast(
            "IdentifierArguments", {key: value for key, value in identifiers.items() if value is not None}
        ),
    )


def guarded(output: Output, work: Callable[[], None]) -> None:
    """Run a command to its end; an error of the house becomes a message and exit status 1, Ctrl-C 130."""
    try:
        work()
    except LaminaError as error:
        output.fail(error)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        output.note("interrupted")
        raise typer.Exit(INTERRUPTED) from None
