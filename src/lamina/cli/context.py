"""`lamina context`: the prompt a model should see for a query, and the receipt of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.output import plain
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.context.receipt import Prompt, Receipt
    from lamina.context.tools import ToolDescriptor

commands = typer.Typer(
    name="context",
    help="From a query to a prompt: what is put before a model, within which budget, and why.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@command(
    commands,
    "explain",
    whose=True,
    examples=(
        'lamina context explain "deploy the web app" --user u1 --session telegram:42:7',
        'lamina context explain "deploy the web app" --base prompt.md --tools tools.json --budget 800',
        'lamina context explain "deploy the web app" --keep --json',
    ),
)
def explain(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the user says.")],
    base: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, metavar="FILE", help="The base prompt.")
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, metavar="FILE", help="JSON list of tools: name and description."),
    ] = None,
    budget: Annotated[int | None, typer.Option(metavar="TOKENS", help="For everything added; 0 is unlimited.")] = None,
    prompt: Annotated[bool, flag("--prompt", "Print the prompt itself instead of the receipt.")] = False,
    keep: Annotated[bool, flag("--keep", "Store the receipt, to be looked at later.")] = False,
) -> None:
    """Assemble the prompt for a query and print its receipt: what is in it, what is not, and why."""
    from lamina.cli.context_tables import receipt_view

    text = base.read_text(encoding="utf-8") if base else ""
    offered = _read_tools(tools) if tools else []

    async def work(app: "App") -> "Prompt":
        context = app.context.with_tools(offered) if offered else app.context
        session = call.identifiers.get("session_id")
        made = await context.assemble(text, query=query, budget_tokens=budget, session_key=session, **call.identifiers)
        if keep and not context.settings.store_receipts:
            await context.store_receipt(made.receipt)
        return made

    made = call.run(work)
    document = {**made.receipt.to_dict(), **({"prompt": made.text} if prompt else {})}
    call.output.show(document, plain(made.text) if prompt else receipt_view(made.receipt))
    if keep:
        call.output.note(f"stored as {made.receipt.id}")


@command(
    commands,
    "receipts",
    examples=("lamina context receipts", "lamina context receipts --session telegram:42:7 --limit 5 --json"),
)
def receipts(
    call: Invocation,
    session: Annotated[str | None, typer.Option(metavar="KEY", help="Only of this session.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Receipts at most.")] = 20,
) -> None:
    """List stored receipts, newest first."""
    from lamina.cli.context_tables import receipts_table

    async def work(app: "App") -> "tuple[Receipt, ...]":
        return await app.context.list_receipts(session_key=session, limit=limit)

    found = call.run(work)
    nothing = Text("no receipts; `lamina context explain QUERY --keep` stores one", style="yellow")
    call.output.show([one.to_dict() for one in found], receipts_table(found) if found else nothing)


@command(commands, "show", examples=("lamina context show 01a1ded5", "lamina context show 01a1ded5 --json"))
def show(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The receipt's id, or the beginning of it.")],
) -> None:
    """Print a stored receipt."""
    from lamina.cli.context_tables import receipt_view

    async def work(app: "App") -> "Receipt":
        return await app.context.get_receipt(id)

    receipt = call.run(work)
    call.output.show(receipt.to_dict(), receipt_view(receipt))


def _read_tools(path: Path) -> "list[ToolDescriptor]":
    from lamina.context.tools import ToolDescriptor

    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        rows = content["tools"] if isinstance(content, dict) else content
        return [ToolDescriptor(name=str(row["name"]), description=str(row.get("description", ""))) for row in rows]
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInputError(
            f"{path} must hold a JSON list of objects with name and description.", details={"field": "--tools"}
        ) from None
