"""The verbs on single memories: add, get, update, delete, list, history."""

import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import (
    flag,
    json_object,
    layer_option,
    moment,
    moment_option,
    tag_option,
    where_object,
    where_option,
)
from lamina.cli.tables import entries_table, entry_table, history_table
from lamina.errors import InvalidInputError, MemoryNotFoundError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.memory.types import AddResult, MemoryEntry, Page, Revision, UpdateResult

commands = typer.Typer()
_PANEL = "Memory"
_Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]
_Tags = Annotated[list[str] | None, tag_option("A tag; repeat for several.")]
_Metadata = Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="An object of your own fields.")]


@command(
    commands,
    "add",
    panel=_PANEL,
    whose=True,
    examples=(
        'lamina add "Prefers dark mode" --user u1 --tag ui',
        'lamina add "Never deploy on a Friday" --layer company --company acme',
        "cat note.txt | lamina add - --user u1 --expires 30d",
    ),
)
def add(
    call: Invocation,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")],
    layer: Annotated[str, layer_option("Whom the memory belongs to.")] = "user",
    tag: _Tags = None,
    metadata: _Metadata = None,
    expires: Annotated[str | None, moment_option("--expires", "When to forget it: a moment, or 90m, 12h, 30d.")] = None,
    conversation: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation it was said in.")] = None,
    sequence: Annotated[int | None, typer.Option(metavar="N", help="Its place in that conversation.")] = None,
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    said_at: Annotated[str | None, moment_option("--said-at", "When it was said.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="TEXT", help="Where it can be found again.")] = None,
) -> None:
    """Store a memory."""
    from lamina.memory.records import entry_record
    from lamina.memory.types import Source

    given = (conversation, sequence, author, said_at, reference)
    source = Source(
        kind="manual" if conversation is None else "conversation",
        conversation=conversation,
        sequence=sequence,
        author=author,
        said_at=_moment(said_at, "--said-at"),
        reference=reference,
    )

    # Read before the store is opened: a wrong option must not create one, a slow pipe must not hold it.
    fields, until, text = json_object(metadata, "--metadata"), _moment(expires, "--expires"), _text(content)

    async def work(app: "App") -> "AddResult":
        return await app.memory.add(
            text,
            layer=layer,
            tags=tag or [],
            metadata=fields,
            expires_at=until,
            source=source if any(value is not None for value in given) else None,
            **call.identifiers,
        )

    result = call.run(work, create=True)
    document = {"memory": entry_record(result.memory), "embedding_generated": result.embedding_generated}
    call.output.show({**document, "cache_hit": result.cache_hit}, result.id)


@command(commands, "get", panel=_PANEL, whose=True, examples=("lamina get ID --user u1",))
def get(call: Invocation, id: _Id) -> None:
    """Show a memory with all its fields."""
    from lamina.memory.records import entry_record

    async def work(app: "App") -> "MemoryEntry | None":
        return await app.memory.get(id, **call.identifiers)

    entry = call.run(work)
    if entry is None:
        raise MemoryNotFoundError(operation="get", details={"id": id})
    call.output.show(entry_record(entry), entry_table(entry))


@command(
    commands,
    "update",
    panel=_PANEL,
    whose=True,
    examples=('lamina update ID --content "Prefers light mode" --user u1', "lamina update ID --no-expiry --user u1"),
)
def update(
    call: Invocation,
    id: _Id,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="The new text; - reads standard input.")] = None,
    tag: Annotated[list[str] | None, tag_option("The new tags; repeat for several.")] = None,
    no_tags: Annotated[bool, flag("--no-tags", "Remove every tag.")] = False,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Fields to set; the others stay.")] = None,
    expires: Annotated[str | None, moment_option("--expires", "When to forget it: a moment, or 90m, 12h, 30d.")] = None,
    no_expiry: Annotated[bool, flag("--no-expiry", "Keep it for good.")] = False,
) -> None:
    """Change a memory; its earlier state goes to its history."""
    from lamina.memory.records import entry_record

    changes: dict[str, Any] = {}
    if tag or no_tags:
        changes["tags"] = [] if no_tags else tag
    if metadata is not None:
        changes["metadata"] = json_object(metadata, "--metadata")
    if expires is not None or no_expiry:
        changes["expires_at"] = None if no_expiry else _moment(expires, "--expires")
    if content is not None:
        changes["content"] = _text(content)
    if not changes:
        raise InvalidInputError("Nothing to change: give --content, --tag, --metadata or --expires.")

    async def work(app: "App") -> "UpdateResult":
        return await app.memory.update(id, **changes, **call.identifiers)

    result = call.run(work)
    document = {"memory": entry_record(result.memory), "embedding_regenerated": result.embedding_regenerated}
    call.output.show(document, entry_table(result.memory) if not call.output.quiet else result.memory.id)


@command(
    commands, "delete", panel=_PANEL, whose=True, examples=("lamina delete ID --user u1", "lamina delete ID1 ID2 -q")
)
def delete(
    call: Invocation, ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the memories.")]
) -> None:
    """Remove memories with their history; one that is not there is no error."""

    async def work(app: "App") -> int:
        return (await app.memory.bulk_delete(ids, **call.identifiers)).deleted

    deleted = call.run(work)
    call.output.show({"deleted": deleted}, f"{deleted} deleted")


@command(
    commands,
    "list",
    panel=_PANEL,
    whose=True,
    examples=("lamina list --user u1", "lamina list --layer project --project web --tag rule --all --json"),
)
def list_(
    call: Invocation,
    layer: Annotated[str, layer_option("The layer to list.")] = "user",
    limit: Annotated[int | None, typer.Option(metavar="N", help="Memories on a page.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
    tag: Annotated[list[str] | None, tag_option("Only with this tag; repeat for several.")] = None,
    where: Annotated[str | None, where_option()] = None,
) -> None:
    """List a layer's memories, newest first."""
    from lamina.memory.records import entry_record

    filters: dict[str, Any] = {"tags": tag, "where": where_object(where)}

    async def work(app: "App") -> "Page":
        async def page(after: str | None) -> "Page":
            return await app.memory.list(layer=layer, limit=limit, cursor=after, **filters, **call.identifiers)

        return await _all_pages(page, cursor) if every else await page(cursor)

    found = call.run(work)
    document = {
        "memories": [entry_record(entry) for entry in found.memories],
        "next_cursor": found.next_cursor,
        "total_count": found.total_count,
    }
    call.output.show(document, entries_table(found.memories) if found.memories else "no memories")
    call.output.note(f"{len(found.memories)} of {found.total_count}")
    if found.next_cursor:
        call.output.note(f"more: the same command with --cursor {found.next_cursor}")


async def _all_pages(page: "Callable[[str | None], Awaitable[Page]]", cursor: str | None) -> "Page":
    from lamina.memory.types import Page

    entries: list[MemoryEntry] = []
    while True:
        found = await page(cursor)
        entries.extend(found.memories)
        cursor = found.next_cursor
        if cursor is None:
            return Page(memories=tuple(entries), next_cursor=None, total_count=found.total_count)


@command(commands, "history", panel=_PANEL, whose=True, examples=("lamina history ID --user u1",))
def history(call: Invocation, id: _Id) -> None:
    """Show every state a memory had, oldest first."""
    from lamina.memory.records import revision_record

    async def work(app: "App") -> "tuple[Revision, ...]":
        return await app.memory.history(id, **call.identifiers)

    states = call.run(work)
    if not states:
        raise MemoryNotFoundError(operation="history", details={"id": id})
    call.output.show({"id": id, "history": [revision_record(state) for state in states]}, history_table(states))


def _text(given: str) -> str:
    """The text of an argument; `-` is standard input without its last line end."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"Standard input is not UTF-8: byte {error.start} cannot be read.",
            details={"next": "Convert it first, for instance with iconv."},
        ) from None


def _moment(text: str | None, option: str) -> datetime | None:
    return moment(text, option, now=datetime.now(UTC))
