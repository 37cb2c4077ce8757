"""`lamina reference`: documentation, interfaces, wikis, repositories, files and tools outside, by name."""

from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.knowledge import ACTOR
from lamina.cli.knowledge_tables import reference_fields, reference_hits_table, references_table
from lamina.cli.options import flag, json_object
from lamina.knowledge.records import reference_hit_record, reference_record
from lamina.knowledge.types import Origin, Reference, ReferenceHit, ReferencePage, ReferenceType

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer(
    name="reference",
    help="What is worth knowing of the world outside: documentation, APIs, wikis, repositories, files, tools.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_NAMES = ", ".join(kind.value for kind in ReferenceType)
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The reference's name.")]
_Only = Annotated[str | None, typer.Option("--type", "-t", metavar="NAME", help=f"Only this one of {_NAMES}.")]


@command(
    commands,
    "save",
    examples=(
        'lamina reference save "deploy guide" --type wiki --location https://wiki.example.org/deploy '
        '--summary "How a release goes out, step by step"',
    ),
)
def save(
    call: Invocation,
    name: _Name,
    type: Annotated[str, typer.Option("--type", "-t", metavar="NAME", help=f"One of {_NAMES}.")],
    location: Annotated[str, typer.Option(metavar="TEXT", help="Where it is: an address, or a path.")],
    summary: Annotated[str, typer.Option(metavar="TEXT", help="What is to be found there.")],
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="An object of your own fields.")] = None,
) -> None:
    """Keep a reference; one of the same name is replaced."""

    async def work(app: "App") -> Reference:
        return await app.references.acting_as(ACTOR).save(
            name,
            type=type,
            location=location,
            summary=summary,
            metadata=json_object(metadata, "--metadata"),
            origin=Origin.USER,
        )

    reference = call.run(work, create=True)
    call.output.show(reference_record(reference), "saved")


@command(commands, "get", examples=('lamina reference get "deploy guide"',))
def get(call: Invocation, name: _Name) -> None:
    """Show a reference with all its fields."""

    async def work(app: "App") -> Reference:
        return await app.references.get(name)

    reference = call.run(work)
    call.output.show(reference_record(reference), reference_fields(reference))


@command(commands, "search", examples=('lamina reference search "how do we release?" --type wiki',))
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or some words.")],
    type: _Only = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Results at most.")] = None,
    threshold: Annotated[float | None, typer.Option(metavar="0..1", help="The relevance a result needs.")] = None,
) -> None:
    """Search names and summaries."""

    async def work(app: "App") -> tuple[ReferenceHit, ...]:
        return await app.references.search(query, type=type, limit=limit, threshold=threshold)

    hits = call.run(work)
    document = {"query": query, "results": list(map(reference_hit_record, hits))}
    call.output.show(document, reference_hits_table(hits) if hits else "no results")
    if not hits:
        call.remark_if_off("knowledge")


@command(commands, "list", examples=("lamina reference list", "lamina reference list --type api --all --json"))
def list_(
    call: Invocation,
    type: _Only = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="References on a page.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
) -> None:
    """List references, newest name first."""

    async def work(app: "App") -> ReferencePage:
        page = await app.references.list(type=type, limit=limit, cursor=cursor)
        references = list(page.references)
        while every and page.next_cursor is not None:
            page = await app.references.list(type=type, limit=limit, cursor=page.next_cursor)
            references += page.references
        return ReferencePage(references=tuple(references), next_cursor=page.next_cursor, total_count=page.total_count)

    found = call.run(work)
    document = {
        "references": list(map(reference_record, found.references)),
        "next_cursor": found.next_cursor,
        "total_count": found.total_count,
    }
    call.output.show(document, references_table(found.references) if found.references else "no references")
    if not found.references:
        call.remark_if_off("knowledge")
    call.output.note(f"{len(found.references)} of {found.total_count}")
    if found.next_cursor:
        call.output.note(f"more: the same command with --cursor {found.next_cursor}")


@command(commands, "delete", examples=('lamina reference delete "deploy guide"',))
def delete(call: Invocation, name: _Name) -> None:
    """Forget a reference."""

    async def work(app: "App") -> None:
        await app.references.acting_as(ACTOR).delete(name)

    call.run(work)
    call.output.show({"deleted": name}, "deleted")
