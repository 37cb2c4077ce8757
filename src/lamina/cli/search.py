"""`lamina search`: what every layer within reach knows about a question."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.documents import results_document
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag, tag_option, where_object, where_option
from lamina.cli.tables import results_note, results_table

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.memory.types import SearchResults

commands = typer.Typer()


@command(
    commands,
    "search",
    panel="Memory",
    whose=True,
    examples=(
        'lamina search "when do we deploy?" --user u1 --project web',
        'lamina search "dark mode" --user u1 --layer user --limit 3 --explain',
        """lamina search "open tasks" --project web --where '{"priority": {"gte": 2}}' --json""",
    ),
)
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or some words.")],
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Results at most.")] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="0..1", help="The relevance a result needs; the default is 0.7.")
    ] = None,
    layer: Annotated[
        list[str] | None, typer.Option("--layer", "-l", metavar="NAME", help="Only this layer; repeat for several.")
    ] = None,
    tag: Annotated[list[str] | None, tag_option("Only with this tag; repeat for several.")] = None,
    where: Annotated[str | None, where_option()] = None,
    explain: Annotated[bool, flag("--explain", "Show which signals gave which part of a score.")] = False,
) -> None:
    """Search every layer within reach: the strongest layer first, then by score."""

    conditions = where_object(where)

    async def work(app: "App") -> "SearchResults":
        return await app.memory.search(
            query,
            layers=layer or None,
            limit=limit,
            threshold=threshold,
            tags=tag,
            where=conditions,
            explain=explain,
            **call.identifiers,
        )

    results = call.run(work)
    table = results_table(results, explain=explain) if results else Text("no results", style="yellow")
    call.output.show(results_document(query, results), table)
    call.output.note(results_note(results))
