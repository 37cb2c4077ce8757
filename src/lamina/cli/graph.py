"""`lamina graph`: who and what is related to what."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.graph_tables import neighbours_table, path_text, triple_text, walk_tree
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag, moment, moment_option
from lamina.errors import InvalidInputError
from lamina.graph.records import entity_record, neighbour_record, triple_record, visit_record, walk_record
from lamina.graph.types import Direction, Entity, Neighbour, Predicate, Reach, Triple, Visit, Walk

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.kernel.buffer import BackfillReport

commands = typer.Typer(
    name="graph",
    help="Who and what is related to what: triples with time and source, taken from texts or added by hand.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_PREDICATES = ", ".join(one.value for one in Predicate)
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The entity; case and quotes do not count.")]
_Relation = Annotated[str, typer.Argument(metavar="RELATION", help=f"One of {_PREDICATES}.")]
_Only = Annotated[
    list[str] | None,
    typer.Option("--relation", "-r", metavar="RELATION", help="Only this relation; repeat for several."),
]
_At = Annotated[str | None, moment_option("--at", "Only what was true then.")]
_Limit = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Entities at most.")]
_Session = Annotated[
    str | None, typer.Option("--session-key", metavar="KEY", help="Also what belongs to this session alone.")
]


@command(
    commands,
    "add",
    examples=(
        'lamina graph add "billing service" depends_on PostgreSQL',
        'lamina graph add Ann works_at "Acme Corp" --from 2021-03-01T00:00Z',
    ),
)
def add(
    call: Invocation,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who or what.")],
    relation: _Relation,
    object: Annotated[str, typer.Argument(metavar="OBJECT", help="To whom or what.")],
    since: Annotated[str | None, moment_option("--from", "When it began to be true.")] = None,
    until: Annotated[str | None, moment_option("--until", "When it stopped being true.")] = None,
) -> None:
    """Record a triple for everybody in the tenant."""

    async def work(app: "App") -> Triple:
        return await app.graph.add(
            subject,
            relation,
            object,
            valid_from=_moment(since, "--from"),
            valid_until=_moment(until, "--until"),
        )

    triple = call.run(work, create=True)
    call.output.show(triple_record(triple), triple_text(triple))


@command(
    commands,
    "show",
    whose=True,
    examples=('lamina graph show "Acme Corp"', "lamina graph show Ann --depth 3 --user u1 --json"),
)
def show(
    call: Invocation,
    name: _Name,
    depth: Annotated[int | None, typer.Option("--depth", "-d", metavar="N", help="Steps away; 2 by default.")] = None,
    relation: _Only = None,
    at: _At = None,
    limit: _Limit = None,
    session_key: _Session = None,
) -> None:
    """Draw the neighbourhood of an entity as a tree."""

    async def work(app: "App") -> tuple[Walk, Entity | None]:
        reach = await _reach(app, call, session_key)
        walk = await app.graph.traverse(
            name, depth=depth, predicates=relation or (), at=_moment(at, "--at"), limit=limit, reach=reach
        )
        return walk, await app.graph.entity(name, reach=reach)

    walk, entity = call.run(work)
    document = {**walk_record(walk), "entity": None if entity is None else entity_record(entity)}
    call.output.show(document, walk_tree(walk, entity) if entity or walk.visits else _nothing(name))
    if entity is None:
        call.remark_if_off("graph")
    if not walk.complete:
        call.output.note("there is more: raise --limit, or name a --relation")


@command(
    commands,
    "neighbours",
    whose=True,
    examples=("lamina graph neighbours PostgreSQL --in", "lamina graph neighbours Ann --relation works_at --user u1"),
)
def neighbours(
    call: Invocation,
    name: _Name,
    relation: _Only = None,
    incoming: Annotated[bool, flag("--in", "Only what leads to the entity.")] = False,
    outgoing: Annotated[bool, flag("--out", "Only what leads away from it.")] = False,
    at: _At = None,
    limit: _Limit = None,
    session_key: _Session = None,
) -> None:
    """List the entities one step away."""
    way = Direction.BOTH if incoming == outgoing else Direction.IN if incoming else Direction.OUT

    async def work(app: "App") -> tuple[Neighbour, ...]:
        return await app.graph.neighbours(
            name,
            direction=way,
            predicates=relation or (),
            at=_moment(at, "--at"),
            limit=limit,
            reach=await _reach(app, call, session_key),
        )

    found = call.run(work)
    document = {"name": name, "neighbours": [neighbour_record(one) for one in found]}
    call.output.show(document, neighbours_table(found) if found else _nothing(name))
    if not found:
        call.remark_if_off("graph")


@command(
    commands,
    "path",
    whose=True,
    examples=("lamina graph path Ann PostgreSQL --user u1", "lamina graph path A B --json"),
)
def path(
    call: Invocation,
    start: Annotated[str, typer.Argument(metavar="FROM", help="Where to start.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="Where to arrive.")],
    depth: Annotated[int | None, typer.Option("--depth", "-d", metavar="N", help="Steps at most.")] = None,
    relation: _Only = None,
    at: _At = None,
    session_key: _Session = None,
) -> None:
    """Show the shortest way between two entities."""

    async def work(app: "App") -> tuple[Visit, ...] | None:
        reach = await _reach(app, call, session_key)
        return await app.graph.path(
            start, goal, depth=depth, predicates=relation or (), at=_moment(at, "--at"), reach=reach
        )

    found = call.run(work)
    document = {"from": start, "to": goal, "path": None if found is None else [visit_record(one) for one in found]}
    call.output.show(document, Text("no way", style="yellow") if found is None else path_text(start, found))


@command(
    commands,
    "remove",
    whose=True,
    examples=(
        'lamina graph remove "billing service" depends_on PostgreSQL',
        "lamina graph remove --source-kind manual --source-key KEY",
    ),
)
def remove(
    call: Invocation,
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="Who or what.")] = None,
    relation: Annotated[str | None, typer.Argument(metavar="[RELATION]", help="Only this relation.")] = None,
    object: Annotated[str | None, typer.Argument(metavar="[OBJECT]", help="Only with this object.")] = None,
    source_kind: Annotated[
        str | None, typer.Option(metavar="NAME", help="Everything from a source of this kind,")
    ] = None,
    source_key: Annotated[str | None, typer.Option(metavar="KEY", help="and with this key.")] = None,
) -> None:
    """Remove triples of a subject, or everything that came from a source."""
    from_source = source_kind is not None and source_key is not None
    if from_source == (subject is not None) or (source_kind is None) != (source_key is None):
        raise InvalidInputError("Name a SUBJECT, or a source with --source-kind and --source-key.")

    async def work(app: "App") -> int:
        if source_kind is not None and source_key is not None:
            return int(await app.graph.remove_source(source_kind, source_key))
        return await app.graph.remove(subject or "", relation, object, reach=await _reach(app, call, None))

    removed = call.run(work)
    noun = "source" if from_source else "triple"
    call.output.show({"removed": removed}, f"{removed} {noun}{'' if removed == 1 else 's'} removed")


@command(commands, "backfill", examples=("lamina graph backfill", "lamina graph backfill --json"))
def backfill(call: Invocation) -> None:
    """Read every stored text, of every tenant, that the graph has not read as it is now."""

    async def work(app: "App") -> "BackfillReport":
        return await app.graph.backfill()

    report = call.run(work)
    document = {"found": report.found, "done": report.done, "failed": report.failed, "left": report.left}
    call.output.show(document, f"{report.done} of {report.found} texts read, {report.failed} failed")


async def _reach(app: "App", call: Invocation, session_key: str | None) -> Reach:
    return Reach.of(await app.memory.scope_names(**call.identifiers), session_key)


def _moment(text: str | None, option: str) -> datetime | None:
    return moment(text, option, now=datetime.now(UTC))


def _nothing(name: str) -> Text:
    return Text(f"nothing is known of {name!a}", style="yellow")
