"""`lamina quarantine`: texts held back from prompts because they read like instructions."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.context.quarantine import Case

commands = typer.Typer(
    name="quarantine",
    help="Texts held back from prompts because they read like instructions (context.suspicious = quarantine).",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@command(commands, "list", examples=("lamina quarantine list", "lamina quarantine list --all --json"))
def list_(
    call: Invocation,
    all: Annotated[bool, flag("--all", "Also what was released or purged.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Cases at most.")] = 50,
) -> None:
    """List what is held, newest first."""
    from lamina.cli.context_tables import cases_table
    from lamina.context.quarantine import State
    from lamina.context.records import case_record

    async def work(app: "App") -> "tuple[Case, ...]":
        return await app.context.quarantine.list(state=None if all else State.HELD, limit=limit)

    cases = call.run(work)
    call.output.show(
        [case_record(case) for case in cases], cases_table(cases) if cases else Text("nothing is held", style="green")
    )


@command(commands, "release", examples=("lamina quarantine release 01a1ded5-9ab5-726e-960e-4892e6c38af8",))
def release(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The case's id; `lamina quarantine list` shows it.")],
) -> None:
    """Let a held text through from now on. A changed text is judged anew."""
    from lamina.context.records import case_record

    async def work(app: "App") -> "Case":
        return await app.context.quarantine.release(id)

    case = call.run(work)
    call.output.show(case_record(case), f"released {case.id}")


@command(
    commands,
    "purge",
    examples=("lamina quarantine purge --yes", "lamina quarantine purge 01a1ded5-9ab5-726e-960e-4892e6c38af8 --yes"),
)
def purge(
    call: Invocation,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Only these cases.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")] = False,
) -> None:
    """Erase the kept copies of what is held, and hold it back for good. The text in its own room stays there."""
    if not yes:
        typer.confirm("Erase the kept copies for good?", abort=True, err=True)

    async def work(app: "App") -> int:
        return await app.context.quarantine.purge(ids or None)

    count = call.run(work)
    call.output.show({"purged": count}, f"purged {count}")
