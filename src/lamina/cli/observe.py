"""`lamina observe`: write the notes that are due, now, instead of waiting for a program that keeps the store open."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.output import one_line
from lamina.cli.sizes import count_text

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.observation.economics import MemoryStatus
    from lamina.observation.service import ObservationReport

commands = typer.Typer()


@command(
    commands,
    "observe",
    panel="Conversations",
    examples=(
        "lamina observe --now",
        "lamina observe telegram:42:7 --now --all",
        "lamina observe",
        "lamina observe --now --json",
    ),
)
def observe(
    call: Invocation,
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="Only this session.")] = None,
    now: Annotated[bool, flag("--now", "Write notes; without it, only say what waits.")] = False,
    all: Annotated[bool, flag("--all", "Also what is below the threshold.")] = False,
) -> None:
    """Note what was said in conversations and condense old notes, as far as that is due."""
    from lamina.observation.records import report_record, status_record

    if not now:
        status = call.run(lambda app: app.observation.status(session))
        call.output.show(status_record(status), _waiting(status))
        call.output.note("`lamina observe --now` writes what is due")
        return

    async def work(app: "App") -> "ObservationReport":
        return await app.observation.observe_now(session, force=all)

    report = call.run(work)
    call.output.show(report_record(report), _done(report))
    if report.failures:
        call.output.note(f"failed, and tried again later: {', '.join(report.failures)}")
    if report.busy:
        call.output.note(f"somebody else is at work on {', '.join(report.busy)}")


def _waiting(status: "MemoryStatus") -> Text:
    whose = "the session" if status.session_key else count_text(status.sessions, "session")
    return Text.assemble(
        (f"{status.pending_tokens:,} tokens", "bold"),
        f" of {whose} are not noted yet, {status.observed_tokens:,} are",
        f"\n{count_text(status.provisional, 'note')} to be written anew by a model" if status.provisional else "",
    )


def _done(report: "ObservationReport") -> Text:
    told = [
        (report.observed, "note written", "notes written"),
        (report.nothing, "stretch with nothing to note", "stretches with nothing to note"),
        (report.rewritten, "note written anew", "notes written anew"),
        (report.reflected, "reflection made", "reflections made"),
        (report.consolidated, "time reflections condensed", "times reflections condensed"),
        (report.rejected, "condensation rejected", "condensations rejected"),
    ]
    lines = [count_text(number, one, many) for number, one, many in told if number]
    what = ", ".join(lines) if lines else "nothing was due"
    return one_line(f"{count_text(report.sessions, 'session')}: {what}" if report.sessions else what)
