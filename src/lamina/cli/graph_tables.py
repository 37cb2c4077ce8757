"""How the graph looks in a terminal."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from lamina.cli.output import one_line
from lamina.graph.names import fold
from lamina.graph.types import Direction, Entity, Neighbour, Triple, Visit, Walk

_FAINT = 0.5


def walk_tree(walk: Walk, entity: Entity | None) -> Tree:
    """A walk as a tree: the entity at the root, each step a branch with the relation that leads there."""
    root = Text.assemble(one_line(walk.start if entity is None else entity.name, "bold"))
    if entity is not None and (other := _other_names(entity)):
        root.append("  also ", "dim").append_text(one_line(", ".join(other), "dim"))
    tree = Tree(root, guide_style="dim")
    branches = {fold(walk.start): tree}
    for visit in walk.visits:
        parent = branches.get(fold(visit.came_from), tree)
        branches.setdefault(fold(visit.name), parent.add(_branch(visit)))
    return tree


def _other_names(entity: Entity) -> list[str]:
    return list(dict.fromkeys(name for name in (*entity.spellings[1:], *entity.aliases) if name != entity.name))


def _branch(visit: Visit) -> Text:
    strong = visit.triple.weight > _FAINT
    relation = visit.triple.predicate.value.replace("_", " ")
    arrow = f"── {relation} ─▶ " if visit.direction is Direction.OUT else f"◀─ {relation} ── "
    text = Text(arrow, style="cyan" if strong else "dim").append_text(one_line(visit.name, "bold" if strong else ""))
    return text.append_text(_details(visit.triple))


def _details(triple: Triple) -> Text:
    span = _span(triple)
    source = f"{triple.source.kind} {triple.source.key}"
    return Text.assemble(("  " + span if span else "", "yellow"), "  ", one_line(source[:60], "dim"))


def _span(triple: Triple) -> str:
    parts = []
    if triple.valid_from is not None:
        parts.append(f"from {triple.valid_from:%Y-%m-%d}")
    if triple.valid_until is not None:
        parts.append(f"until {triple.valid_until:%Y-%m-%d}")
    return " ".join(parts)


def path_text(start: str, path: Sequence[Visit]) -> Text:
    """A way from one entity to another, a step a line."""
    steps = [Text.assemble("  " * visit.depth, _branch(visit)) for visit in path]
    return Text("\n").join([one_line(start, "bold"), *steps])


def neighbours_table(neighbours: Sequence[Neighbour]) -> Table:
    """The entities one step away, one a row."""
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    table.add_column("Relation", no_wrap=True, style="cyan")
    table.add_column("Entity", ratio=2, overflow="fold")
    table.add_column("True", no_wrap=True, style="yellow")
    table.add_column("Source", ratio=1, overflow="fold", style="dim")
    for one in neighbours:
        relation = one.triple.predicate.value.replace("_", " ")
        arrow = f"{relation} ─▶" if one.direction is Direction.OUT else f"◀─ {relation}"
        source = one.triple.source
        table.add_row(arrow, one_line(one.name), _span(one.triple), one_line(f"{source.kind} {source.key}"))
    return table


def triple_text(triple: Triple) -> Text:
    """A triple on one line."""
    relation = triple.predicate.value.replace("_", " ")
    parts = (one_line(triple.subject, "bold"), (f" ── {relation} ─▶ ", "cyan"), one_line(triple.object, "bold"))
    return Text.assemble(*parts, _details(triple))
