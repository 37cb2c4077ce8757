"""`lamina session timeline`: a conversation from its first message to its last, with the notes that stand for it."""

from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.observation.service import Timeline
    from lamina.session.types import Message, Session

_EXAMPLES = (
    "lamina session timeline telegram:42:7",
    "lamina session timeline telegram:42:7 --entries 0",
    "lamina session timeline telegram:42:7 --json",
)


def join(group: typer.Typer) -> None:
    """Add the command to the group of sessions."""
    command(group, "timeline", examples=_EXAMPLES)(timeline)


def timeline(
    call: Invocation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The session's key.")],
    entries: Annotated[
        int, typer.Option("--entries", "-n", metavar="N", help="Entries shown of each note, the weightiest.")
    ] = 3,
) -> None:
    """Draw messages, the notes on them, and the reflections those became, each with its range."""
    from lamina.cli.timeline_drawing import TimelineView
    from lamina.observation.records import timeline_record

    if entries < 0:
        raise InvalidInputError("--entries must be 0 or more.", details={"field": "--entries"})

    async def work(app: "App") -> "tuple[Session, tuple[Message, ...], Timeline]":
        session = await app.sessions.get(key)
        first = await app.sessions.messages(key, archived=None, limit=1)
        last = await app.sessions.messages(key, archived=None, limit=1, after=max(0, session.last_sequence - 1))
        return session, (*first, *last), await app.observation.timeline(key)

    session, ends, found = call.run(work)
    document = {**timeline_record(found), "total_tokens": session.total_tokens}
    said = (ends[0].at, ends[-1].at) if ends else None
    call.output.show(document, TimelineView(session=session, timeline=found, said=said, entries=entries))
    if not found.observations and not found.reflections:
        call.remark_if_off("observational_memory")
