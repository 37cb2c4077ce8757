"""`lamina knowledge`: what is known under a key, with its versions."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.knowledge_tables import hits_table, knowledge_fields, knowledge_table, versions_table
from lamina.cli.options import flag, tag_option
from lamina.knowledge.records import entry_record, hit_record, version_record
from lamina.knowledge.types import (
    Category,
    KnowledgeEntry,
    KnowledgeHit,
    KnowledgePage,
    KnowledgeVersion,
    Origin,
    SaveResult,
)

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer(
    name="knowledge",
    help="What is known under a key: rules, preferences, definitions, facts, patterns, corrections; with versions.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

ACTOR = "cli"
"""Who did it, in the audit log."""
_NAMES = ", ".join(category.value for category in Category)
_Key = Annotated[str, typer.Argument(metavar="KEY", help="The key.")]
_Only = Annotated[str | None, typer.Option("--category", "-c", metavar="NAME", help=f"Only this one of {_NAMES}.")]


@command(
    commands,
    "save",
    examples=(
        'lamina knowledge save deploy-rule "Never deploy on a Friday" --category rule --tag ops',
        "cat glossary.txt | lamina knowledge save glossary - --category definition --source glossary.txt",
    ),
)
def save(
    call: Invocation,
    key: _Key,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What is known; - reads standard input.")],
    category: Annotated[str, typer.Option("--category", "-c", metavar="NAME", help=f"One of {_NAMES}.")],
    tag: Annotated[list[str] | None, tag_option("A tag; repeat for several. Replaces the ones there are.")] = None,
    source: Annotated[str | None, typer.Option(metavar="TEXT", help="Where it comes from.")] = None,
    origin: Annotated[
        str, typer.Option(metavar="NAME", help=f"Who said it: {', '.join(one.value for one in Origin)}.")
    ] = Origin.USER.value,
    session: Annotated[
        str | None, typer.Option(metavar="KEY", help="The session it counts for; without one no limit applies.")
    ] = None,
) -> None:
    """Know something under a key; a changed text or category becomes the next version."""

    async def work(app: "App") -> SaveResult:
        text = sys.stdin.read() if content == "-" else content
        return await app.knowledge.acting_as(ACTOR).save(
            key, text, category=category, tags=tag, source=source, origin=origin, session_key=session
        )

    result = call.run(work, create=True)
    entry = result.entry
    document = {"outcome": result.outcome, "redacted": result.redacted, "knowledge": entry_record(entry)}
    call.output.show(document, f"{result.outcome}: version {entry.version}")
    if result.redacted:
        call.output.note("a secret in the text was hidden before it was stored")


@command(commands, "get", examples=("lamina knowledge get deploy-rule", "lamina knowledge get deploy-rule --json"))
def get(call: Invocation, key: _Key) -> None:
    """Show the latest version with all its fields."""

    async def work(app: "App") -> KnowledgeEntry:
        return await app.knowledge.get(key)

    entry = call.run(work)
    call.output.show(entry_record(entry), knowledge_fields(entry))


@command(commands, "history", examples=("lamina knowledge history deploy-rule",))
def history(call: Invocation, key: _Key) -> None:
    """Show every version, newest first."""

    async def work(app: "App") -> tuple[KnowledgeVersion, ...]:
        return await app.knowledge.history(key)

    versions = call.run(work)
    call.output.show({"key": key, "versions": list(map(version_record, versions))}, versions_table(versions))


@command(
    commands,
    "search",
    examples=(
        'lamina knowledge search "when may we deploy?"',
        'lamina knowledge search "deploy" --category rule --limit 3 --explain',
    ),
)
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or some words.")],
    category: _Only = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Results at most.")] = None,
    threshold: Annotated[float | None, typer.Option(metavar="0..1", help="The relevance a result needs.")] = None,
    explain: Annotated[bool, flag("--explain", "Show which signals gave which part of a score.")] = False,
) -> None:
    """Search the latest versions by text, use and age."""

    async def work(app: "App") -> tuple[KnowledgeHit, ...]:
        return await app.knowledge.search(query, category=category, limit=limit, threshold=threshold)

    hits = call.run(work)
    document = {"query": query, "results": list(map(hit_record, hits))}
    call.output.show(document, hits_table(hits, explain=explain) if hits else "no results")
    if not hits:
        call.remark_if_off("knowledge")


@command(
    commands,
    "list",
    examples=("lamina knowledge list", "lamina knowledge list --category rule --all --json"),
)
def list_(
    call: Invocation,
    category: _Only = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Entries on a page.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
) -> None:
    """List what is known, newest key first."""

    async def work(app: "App") -> KnowledgePage:
        page = await app.knowledge.list(category=category, limit=limit, cursor=cursor)
        entries = list(page.entries)
        while every and page.next_cursor is not None:
            page = await app.knowledge.list(category=category, limit=limit, cursor=page.next_cursor)
            entries += page.entries
        return KnowledgePage(entries=tuple(entries), next_cursor=page.next_cursor, total_count=page.total_count)

    found = call.run(work)
    document = {
        "knowledge": list(map(entry_record, found.entries)),
        "next_cursor": found.next_cursor,
        "total_count": found.total_count,
    }
    call.output.show(document, knowledge_table(found.entries) if found.entries else "nothing is known")
    if not found.entries:
        call.remark_if_off("knowledge")
    call.output.note(f"{len(found.entries)} of {found.total_count}")
    if found.next_cursor:
        call.output.note(f"more: the same command with --cursor {found.next_cursor}")


@command(commands, "delete", examples=("lamina knowledge delete deploy-rule",))
def delete(call: Invocation, key: _Key) -> None:
    """Forget a key with all its versions."""

    async def work(app: "App") -> None:
        await app.knowledge.acting_as(ACTOR).delete(key)

    call.run(work)
    call.output.show({"deleted": key}, "deleted")


@command(
    commands,
    "slots",
    examples=("lamina knowledge slots telegram:42:7", "lamina knowledge slots telegram:42:7 --reset"),
)
def slots(
    call: Invocation,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's key.")],
    reset: Annotated[bool, flag("--reset", "Free them all.")] = False,
) -> None:
    """Show how many new keys a session has saved and may save, and free its slots."""

    async def work(app: "App") -> tuple[int, int]:
        if reset:
            await app.knowledge.reset_saves(session)
        return await app.knowledge.saves_taken(session), app.settings.knowledge.max_saves_per_session

    taken, most = call.run(work)
    document = {"session_key": session, "taken": taken, "most": most or None}
    call.output.show(document, f"{taken} of {most or 'unlimited'} taken")
