"""`lamina session`: conversations, their messages, and finding every word again."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag, moment, moment_option

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.session.types import Message, Recall, Session, SessionPage, SessionRemoval

commands = typer.Typer(
    name="session",
    help="Conversations: what was said, the archive, and finding every word again.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_Key = Annotated[str, typer.Argument(metavar="KEY", help="The session's key.")]
_User = Annotated[str | None, typer.Option("--user", metavar="ID", help="Only sessions of this user.")]


@command(
    commands,
    "append",
    examples=(
        'lamina session append telegram:42:7 "Where did I park?" --user ann',
        'lamina session append telegram:42:7 "On the second floor" --role assistant',
        "cat log.txt | lamina session append telegram:42:7 - --role tool",
    ),
)
def append(
    call: Invocation,
    key: _Key,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What was said; - reads standard input.")],
    role: Annotated[str, typer.Option(metavar="NAME", help="user, assistant, tool or system.")] = "user",
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it, by name.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Whose session it is.")] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own; stored once.")] = None,
    at: Annotated[str | None, moment_option("--at", "When it was said; now, unless given.")] = None,
) -> None:
    """Store a message at the end of a session; a session that is not there yet begins with it."""
    from lamina.session.records import message_record

    async def work(app: "App") -> "Message":
        text = sys.stdin.read() if content == "-" else content
        when = moment(at, "--at", now=app.sessions.clock.now(), past=True)
        return await app.sessions.append(
            role=role, content=text, author=author, at=when, id=id, session_key=key, user_id=user
        )

    stored = call.run(work, create=True)
    call.output.show(message_record(stored), f"{stored.sequence}: {stored.tokens} tokens")


@command(
    commands,
    "list",
    examples=("lamina session list", "lamina session list --user ann --limit 5", "lamina session list --all --json"),
)
def list_(
    call: Invocation,
    user: _User = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Sessions on a page.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
) -> None:
    """List sessions, the newest first."""
    from lamina.cli.session_tables import sessions_table
    from lamina.session.records import session_record

    async def work(app: "App") -> "tuple[list[Session], SessionPage]":
        page = await app.sessions.list(user_id=user, limit=limit, cursor=cursor)
        found = list(page.sessions)
        while every and page.next_cursor is not None:
            page = await app.sessions.list(user_id=user, limit=limit, cursor=page.next_cursor)
            found += page.sessions
        return found, page

    found, page = call.run(work)
    document = {
        "sessions": list(map(session_record, found)),
        "next_cursor": page.next_cursor,
        "total_count": page.total_count,
    }
    call.output.show(document, sessions_table(found) if found else "no sessions")
    call.output.note(f"{len(found)} of {page.total_count}")
    if page.next_cursor:
        call.output.note(f"more: the same command with --cursor {page.next_cursor}")


@command(
    commands,
    "show",
    examples=(
        "lamina session show telegram:42:7",
        "lamina session show telegram:42:7 --archived --after 20",
        "lamina session show telegram:42:7 --all --json",
    ),
)
def show(
    call: Invocation,
    key: _Key,
    archived: Annotated[bool, flag("--archived", "The archive instead of what is live.")] = False,
    every: Annotated[bool, flag("--all", "The archive and what is live.")] = False,
    after: Annotated[int, typer.Option("--after", metavar="N", help="Only messages after this number.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Messages at most.")] = None,
) -> None:
    """Show a conversation: its summary, where it has one, and its messages."""
    from lamina.cli.session_tables import messages_table, session_line
    from lamina.session.records import message_record, session_record

    async def work(app: "App") -> "tuple[Session, tuple[Message, ...]]":
        which = None if every else archived
        return await app.sessions.get(key), await app.sessions.messages(key, after=after, limit=limit, archived=which)

    session, messages = call.run(work)
    document = {"session": session_record(session), "messages": list(map(message_record, messages))}
    call.output.show(document, session_line(session), messages_table(messages) if messages else "no such messages")
    last = session.archived_count if archived and not every else session.last_sequence
    if messages and messages[-1].sequence < last:
        call.output.note(f"more: the same command with --after {messages[-1].sequence}")


@command(
    commands,
    "recall",
    examples=(
        'lamina session recall "where did I park?" --session telegram:42:7',
        'lamina session recall "parking" --user ann --explain',
        "lamina session recall --session telegram:42:7 --first 12 --last 20",
        "lamina session recall --session telegram:42:7 --note 0192f0c4-7d1a-7c3e-8a55-0d9be1f3a2c4",
    ),
)
def recall(
    call: Invocation,
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="A question, or some words.")] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="KEY", help="The session to look into.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="All sessions of this user.")] = None,
    first: Annotated[int | None, typer.Option(metavar="N", help="From this message on.")] = None,
    last: Annotated[int | None, typer.Option(metavar="N", help="Up to this message.")] = None,
    note: Annotated[str | None, typer.Option(metavar="ID", help="What this note, or entry of one, rests on.")] = None,
    archived: Annotated[bool, flag("--archived", "With a query: only what is archived.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Messages at most.")] = None,
    threshold: Annotated[float | None, typer.Option(metavar="0..1", help="The relevance a message needs.")] = None,
    explain: Annotated[bool, flag("--explain", "Show which signals gave which part of a score.")] = False,
) -> None:
    """Find messages again, live and archived alike: by words, by their numbers, or by the note made of them."""
    from lamina.cli.session_tables import recall_table
    from lamina.session.records import recall_record

    async def work(app: "App") -> "Recall":
        return await app.sessions.recall(
            query,
            session_key=session,
            user_id=user,
            first=first,
            last=last,
            note=note,
            archived=archived,
            limit=limit,
            threshold=threshold,
        )

    found = call.run(work)
    table = recall_table(found, explain=explain, several=session is None)
    call.output.show({"query": query, **recall_record(found)}, table if found else "no such messages")
    if len(found) < found.total_count:
        call.output.note(f"{len(found)} of {found.total_count}; --limit shows more")
    if found.left_out_sessions:
        call.output.note(f"{found.left_out_sessions} older sessions were not searched; see session.recall_sessions")


@command(commands, "delete", examples=("lamina session delete telegram:42:7",))
def delete(call: Invocation, key: _Key) -> None:
    """Delete a session with everything made of it: messages, archive, notes, vectors, its memories, its receipts."""
    from lamina.session.records import removal_record

    async def work(app: "App") -> "SessionRemoval":
        return await app.sessions.delete(key, actor="cli")

    removal = call.run(work)
    told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in removal.removed.items() if count)
    call.output.show(removal_record(removal), f"deleted: {told}")
