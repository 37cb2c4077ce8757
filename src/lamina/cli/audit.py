"""`lamina audit`: what was done, by whom, to what."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.knowledge_tables import audit_table
from lamina.cli.options import flag, moment, moment_option
from lamina.knowledge.records import audit_record
from lamina.knowledge.types import AuditPage

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer(
    name="audit",
    help="What was done, by whom, to what. Rows are only ever added, and secrets in them are hidden.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@command(
    commands,
    "list",
    examples=(
        "lamina audit list",
        "lamina audit list --action knowledge_save --since 24h",
        "lamina audit list --session telegram:42:7 --all --json",
    ),
)
def list_(
    call: Invocation,
    action: Annotated[str | None, typer.Option(metavar="NAME", help="Only this action.")] = None,
    actor: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this one did.")] = None,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="Only what was done to this.")] = None,
    session: Annotated[str | None, typer.Option(metavar="KEY", help="Only in this session.")] = None,
    since: Annotated[str | None, moment_option("--since", "From then on: a moment, or 90m, 12h, 30d ago.")] = None,
    until: Annotated[str | None, moment_option("--until", "Before then: a moment, or 90m, 12h, 30d ago.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Rows on a page.")] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
) -> None:
    """List the audit log, newest first."""
    now = datetime.now(UTC)
    choice: dict[str, Any] = {
        "action": action,
        "actor": actor,
        "target": target,
        "session_key": session,
        "since": moment(since, "--since", now=now, past=True),
        "until": moment(until, "--until", now=now, past=True),
        "limit": limit,
    }

    async def work(app: "App") -> AuditPage:
        page = await app.audit.list(cursor=cursor, **choice)
        rows = list(page.rows)
        while every and page.next_cursor is not None:
            page = await app.audit.list(cursor=page.next_cursor, **choice)
            rows += page.rows
        return AuditPage(rows=tuple(rows), next_cursor=page.next_cursor)

    found = call.run(work)
    document = {"rows": list(map(audit_record, found.rows)), "next_cursor": found.next_cursor}
    call.output.show(document, audit_table(found.rows) if found.rows else "nothing was recorded")
    if found.next_cursor:
        call.output.note(f"more: the same command with --cursor {found.next_cursor}")
