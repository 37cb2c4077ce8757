"""`lamina learning`: what was learned from failing tools and from corrections."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.learning_tables import learning_fields, learning_hits_table, learnings_table, statistics_table
from lamina.cli.options import flag, moment, moment_option, tag_option
from lamina.knowledge.types import Origin
from lamina.learning.records import learning_hit_record, learning_record, statistics_record
from lamina.learning.types import (
    CleanUpResult,
    Learning,
    LearningCategory,
    LearningHit,
    LearningPage,
    LearningStatistics,
    SaveLearningResult,
)

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer(
    name="learning",
    help="What was learned from failing tools and from corrections: error patterns, fixes, how far to trust them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

ACTOR = "cli"
"""Who did it, in the audit log."""
_NAMES = ", ".join(category.value for category in LearningCategory)
_Id = Annotated[str, typer.Argument(metavar="ID", help="The learning's id.")]
_Fix = Annotated[str, typer.Argument(metavar="FIX", help="What helps.")]
_Tool = Annotated[str | None, typer.Option("--tool", "-t", metavar="NAME", help="The tool it is about.")]
_Error = Annotated[str | None, typer.Option("--error", "-e", metavar="TEXT", help="The error's text.")]
_Why = Annotated[str | None, typer.Option("--diagnosis", metavar="TEXT", help="What the trouble was.")]
_Tags = Annotated[list[str] | None, tag_option("A tag; repeat for several.")]
_Origin = Annotated[str, typer.Option(metavar="NAME", help=f"Who said it: {', '.join(one.value for one in Origin)}.")]
_Only = Annotated[str | None, typer.Option("--category", "-c", metavar="NAME", help=f"Only this one of {_NAMES}.")]
_Limit = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Results at most.")]
_Most = Annotated[float | None, typer.Option("--max-confidence", metavar="0..1", help="Only up to this confidence.")]
_Fixed = Annotated[
    bool | None, typer.Option("--with-fix/--without-fix", metavar="", help="Only with, or only without a fix.")
]
_Age = Annotated[
    str | None, moment_option("--not-seen-since", "Only what did not occur since: a moment, or 12h, 30d ago.")
]


@command(
    commands,
    "list",
    examples=("lamina learning list", "lamina learning list --tool deploy --without-fix --all --json"),
)
def list_(
    call: Invocation,
    tool: _Tool = None,
    category: _Only = None,
    min_confidence: Annotated[float | None, typer.Option(metavar="0..1", help="Only from this confidence.")] = None,
    max_confidence: _Most = None,
    not_seen_since: _Age = None,
    with_fix: _Fixed = None,
    limit: _Limit = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
) -> None:
    """List what was learned, newest first."""
    since = _since(not_seen_since)

    async def work(app: "App") -> LearningPage:
        async def page(after: str | None) -> LearningPage:
            return await app.learning.list(
                tool=tool,
                category=category,
                min_confidence=min_confidence,
                max_confidence=max_confidence,
                not_seen_since=since,
                has_fix=with_fix,
                limit=limit,
                cursor=after,
            )

        found = await page(cursor)
        learnings = list(found.learnings)
        while every and found.next_cursor is not None:
            found = await page(found.next_cursor)
            learnings += found.learnings
        return LearningPage(learnings=tuple(learnings), next_cursor=found.next_cursor, total_count=found.total_count)

    found = call.run(work)
    document = {
        "learnings": list(map(learning_record, found.learnings)),
        "next_cursor": found.next_cursor,
        "total_count": found.total_count,
    }
    call.output.show(document, learnings_table(found.learnings) if found.learnings else "nothing was learned")
    if not found.learnings:
        call.remark_if_off("knowledge")
    call.output.note(f"{len(found.learnings)} of {found.total_count}")
    if found.next_cursor:
        call.output.note(f"more: the same command with --cursor {found.next_cursor}")


@command(commands, "show", examples=("lamina learning show ID", "lamina learning show ID --json"))
def show(call: Invocation, id: _Id) -> None:
    """Show a learning with all its fields."""

    async def work(app: "App") -> Learning:
        return await app.learning.get(id)

    one = call.run(work)
    call.output.show(learning_record(one), learning_fields(one))


@command(
    commands,
    "search",
    examples=(
        'lamina learning search "deploying fails with a timeout"',
        'lamina learning search "connection refused" --tool psql --unsolved --explain',
    ),
)
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, an error, or some words.")],
    tool: _Tool = None,
    category: _Only = None,
    unsolved: Annotated[bool, flag("--unsolved", "Also without a fix, or one not trusted yet.")] = False,
    min_confidence: Annotated[
        float | None, typer.Option(metavar="0..1", help="The confidence a fix needs; 0.7 unless told.")
    ] = None,
    limit: _Limit = None,
    threshold: Annotated[float | None, typer.Option(metavar="0..1", help="The relevance a result needs.")] = None,
    explain: Annotated[bool, flag("--explain", "Show which signals gave which part of a score.")] = False,
) -> None:
    """Search the known solutions: learnings with a fix that is trusted."""

    async def work(app: "App") -> tuple[LearningHit, ...]:
        return await app.learning.search(
            query,
            tool=tool,
            category=category,
            unsolved=unsolved,
            min_confidence=min_confidence,
            limit=limit,
            threshold=threshold,
        )

    hits = call.run(work)
    document = {"query": query, "results": list(map(learning_hit_record, hits))}
    call.output.show(document, learning_hits_table(hits, explain=explain) if hits else "no known solution")
    if not hits:
        call.remark_if_off("knowledge")


@command(
    commands,
    "save",
    examples=(
        'lamina learning save "Raise the client timeout to 60 s." --tool deploy --error "request timed out"',
        'lamina learning save "Use the staging key." --trigger "testing payments" --tag payments',
    ),
)
def save(
    call: Invocation,
    fix: _Fix,
    tool: _Tool = None,
    error: _Error = None,
    trigger: Annotated[str | None, typer.Option(metavar="TEXT", help="When it applies.")] = None,
    diagnosis: _Why = None,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="NAME", help=f"One of {_NAMES}.")] = None,
    tag: _Tags = None,
    origin: _Origin = Origin.USER.value,
    session: Annotated[
        str | None, typer.Option(metavar="KEY", help="The session it counts for; without one no limit applies.")
    ] = None,
) -> None:
    """Keep a fix for an error of a tool, or for what --trigger describes."""

    async def work(app: "App") -> SaveLearningResult:
        return await app.learning.acting_as(ACTOR).save(
            fix,
            tool=tool,
            error=error,
            trigger=trigger,
            diagnosis=diagnosis,
            category=category,
            tags=tag,
            origin=origin,
            session_key=session,
        )

    _saved(call, call.run(work, create=True))


@command(
    commands,
    "correct",
    examples=(
        'lamina learning correct "deploying the web app" "Run the migrations first."',
        'lamina learning correct "calling the API" "Send the version header." --tool http --error "HTTP 400"',
    ),
)
def correct(
    call: Invocation,
    trigger: Annotated[str, typer.Argument(metavar="WHEN", help="What the agent got wrong, or when it applies.")],
    fix: _Fix,
    tool: _Tool = None,
    error: _Error = None,
    diagnosis: _Why = None,
    tag: _Tags = None,
) -> None:
    """Correct the agent: trusted from the start, so it is a known solution at once."""

    async def work(app: "App") -> SaveLearningResult:
        return await app.learning.acting_as(ACTOR).correct(
            trigger, fix, tool=tool, error=error, diagnosis=diagnosis, tags=tag
        )

    _saved(call, call.run(work, create=True))


@command(commands, "fix", examples=('lamina learning fix ID "Open the firewall first."',))
def fix_(call: Invocation, id: _Id, fix: _Fix, diagnosis: _Why = None, origin: _Origin = Origin.USER.value) -> None:
    """Give a learning a fix; another fix than before starts its record afresh."""

    async def work(app: "App") -> SaveLearningResult:
        return await app.learning.acting_as(ACTOR).set_fix(id, fix, diagnosis=diagnosis, origin=origin)

    _saved(call, call.run(work))


@command(commands, "outcome", examples=("lamina learning outcome ID --helped", "lamina learning outcome ID --failed"))
def outcome(
    call: Invocation,
    id: _Id,
    helped: Annotated[
        bool, typer.Option("--helped/--failed", metavar="", help="Whether the fix helped.", show_default=False)
    ],
) -> None:
    """Count that a fix was tried: its confidence rises or falls."""

    async def work(app: "App") -> Learning:
        return await app.learning.acting_as(ACTOR).record_outcome(id, success=helped)

    one = call.run(work)
    call.output.show(learning_record(one), f"confidence {one.confidence:.2f}")


@command(commands, "lookup", examples=('lamina learning lookup psql "connection to 10.0.0.5:5432 refused"',))
def lookup(
    call: Invocation,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool that failed.")],
    error: Annotated[str, typer.Argument(metavar="ERROR", help="The error's text.")],
) -> None:
    """Show the trusted fix for exactly this error of this tool."""

    async def work(app: "App") -> Learning | None:
        return await app.learning.fix_for(tool, error)

    one = call.run(work)
    call.output.show(
        {"learning": None if one is None else learning_record(one)},
        "no trusted fix" if one is None else learning_fields(one),
    )


@command(commands, "stats", examples=("lamina learning stats", "lamina learning stats --json"))
def stats(call: Invocation) -> None:
    """Show what was learned, in numbers."""

    async def work(app: "App") -> LearningStatistics:
        return await app.learning.statistics()

    found = call.run(work)
    call.output.show(statistics_record(found), statistics_table(found))


@command(
    commands,
    "cleanup",
    examples=(
        "lamina learning cleanup --max-confidence 0.3 --dry-run",
        "lamina learning cleanup --not-seen-since 90d --without-fix",
    ),
)
def cleanup(
    call: Invocation,
    tool: _Tool = None,
    category: _Only = None,
    max_confidence: _Most = None,
    not_seen_since: _Age = None,
    with_fix: _Fixed = None,
    dry_run: Annotated[bool, flag("--dry-run", "Only show what would be removed.")] = False,
) -> None:
    """Remove the learnings that meet every criterion given; at least one is needed."""
    since = _since(not_seen_since)

    async def work(app: "App") -> CleanUpResult:
        return await app.learning.acting_as(ACTOR).clean_up(
            tool=tool,
            category=category,
            max_confidence=max_confidence,
            not_seen_since=since,
            has_fix=with_fix,
            dry_run=dry_run,
        )

    result = call.run(work)
    document = {
        "dry_run": result.dry_run,
        "count": result.count,
        "learnings": list(map(learning_record, result.learnings)),
    }
    what = "would be removed" if result.dry_run else "removed"
    call.output.show(
        document, *([learnings_table(result.learnings)] if result.learnings else []), f"{result.count} {what}"
    )


@command(commands, "delete", examples=("lamina learning delete ID",))
def delete(call: Invocation, id: _Id) -> None:
    """Forget a learning."""

    async def work(app: "App") -> None:
        await app.learning.acting_as(ACTOR).delete(id)

    call.run(work)
    call.output.show({"deleted": id}, "deleted")


@command(
    commands,
    "slots",
    examples=("lamina learning slots telegram:42:7", "lamina learning slots telegram:42:7 --reset"),
)
def slots(
    call: Invocation,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's key.")],
    reset: Annotated[bool, flag("--reset", "Free them all.")] = False,
) -> None:
    """Show how many learnings a session has stored and may store, and free its slots."""

    async def work(app: "App") -> tuple[int, int]:
        if reset:
            await app.learning.reset_saves(session)
        return await app.learning.saves_taken(session), app.settings.knowledge.max_learnings_per_session

    taken, most = call.run(work)
    document = {"session_key": session, "taken": taken, "most": most or None}
    call.output.show(document, f"{taken} of {most or 'unlimited'} taken")


def _saved(call: Invocation, result: SaveLearningResult) -> None:
    one = result.learning
    document = {"outcome": result.outcome, "learning": learning_record(one)}
    call.output.show(document, one.id if call.output.quiet else f"{result.outcome}: {one.id}")
    if result.outcome == "kept":
        call.output.note("the user gave the fix that is there, and it still works")


def _since(text: str | None) -> datetime | None:
    return moment(text, "--not-seen-since", now=datetime.now(UTC), past=True)
