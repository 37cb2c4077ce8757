"""`lamina memory-status`: what observational memory saves and costs, by session."""

from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.observation.economics import MemoryStatus
    from lamina.observation.service import Timeline

commands = typer.Typer()


@command(
    commands,
    "memory-status",
    panel="Conversations",
    examples=(
        "lamina memory-status",
        "lamina memory-status telegram:42:7",
        "lamina memory-status --limit 100 --json",
    ),
)
def memory_status(
    call: Invocation,
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="Only this session, in detail.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Sessions at most, the newest.")] = 20,
) -> None:
    """Show the tokens of conversations and of the notes on them: saved, sent, unchanged between turns, spent."""
    from lamina.cli.memory_status_view import session_view, sessions_view
    from lamina.observation.records import status_record

    if session is not None:
        status, timeline = call.run(lambda app: _of_session(app, session))
        generations = sorted({note.generation for note in timeline.reflections})
        document = {**status_record(status), "watermark": timeline.watermark, "generations": generations}
        call.output.show(document, session_view(status, timeline))
    else:
        total, each, more = call.run(lambda app: _of_all(app, limit))
        document = {"total": status_record(total), "sessions": [status_record(one) for one in each]}
        call.output.show(document, sessions_view(total, each))
        if more:
            call.output.note(f"{more} more: --limit {len(each) + more} shows them all")
    call.remark_if_off("observational_memory")


async def _of_session(app: "App", key: str) -> "tuple[MemoryStatus, Timeline]":
    return await app.observation.status(key), await app.observation.timeline(key)


async def _of_all(app: "App", limit: int) -> "tuple[MemoryStatus, list[MemoryStatus], int]":
    page = await app.sessions.list(limit=limit)
    each = [await app.observation.status(one.key) for one in page.sessions]
    return await app.observation.status(), each, page.total_count - len(each)
