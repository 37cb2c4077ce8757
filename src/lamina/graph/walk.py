"""Walks through the graph: breadth first, bounded in depth and size, in the same order every time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.graph.names import fold, tidy
from lamina.graph.reading import Edge, View, canonical_names, edges_of, spelled_out
from lamina.graph.types import Direction, Visit, Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a walk may go."""

    depth: int
    most: int
    """Entities it may come to."""
    fanout: int
    """Triples it looks at beside one entity, each way."""


def walk(link: Link, view: View, start: str, bounds: Bounds, direction: Direction = Direction.BOTH) -> Walk:
    """Every entity within the bounds, nearest first; each once, over the best triple that leads to it."""
    steps = _Steps(link, view, start, bounds, direction)
    visits = [visit for _, visit in steps]
    return Walk(start=steps.label, visits=tuple(visits), complete=steps.complete)


def shortest_path(
    link: Link, view: View, start: str, goal: str, bounds: Bounds, direction: Direction = Direction.BOTH
) -> tuple[Visit, ...] | None:
    """The first of the shortest ways to the goal; empty when both are one entity, None when there is no way."""
    steps = _Steps(link, view, start, bounds, direction)
    target = canonical_names(link, view.tenant, [fold(goal)]).get(fold(goal), fold(goal))
    if target == steps.origin:
        return ()
    came: dict[str, tuple[str, Visit]] = {}
    for (parent, name), visit in steps:
        came[name] = (parent, visit)
        if name == target:
            return _back(came, name)
    return None


def _back(came: dict[str, tuple[str, Visit]], name: str) -> tuple[Visit, ...]:
    path: list[Visit] = []
    while name in came:
        name, visit = came[name]
        path.append(visit)
    return tuple(reversed(path))


class _Steps:
    """The steps of a walk: pairs of canonical names (from, to), and the visit."""

    def __init__(self, link: Link, view: View, start: str, bounds: Bounds, direction: Direction) -> None:
        self._link = link
        self._view = view
        self._bounds = bounds
        self._direction = direction
        self.origin = canonical_names(link, view.tenant, [fold(start)]).get(fold(start), fold(start))
        self.label = tidy(start)
        self.complete = True
        """False once a bound other than the depth has cut something off."""

    def __iter__(self) -> Iterator[tuple[tuple[str, str], Visit]]:
        seen = {self.origin}
        frontier = {self.origin: self.label}
        for depth in range(1, self._bounds.depth + 1):
            reached: dict[str, str] = {}
            for parent, name, visit in self._level(frontier, depth):
                if name in seen:
                    continue
                if len(seen) > self._bounds.most:
                    self.complete = False
                    return
                seen.add(name)
                reached[name] = visit.name
                yield (parent, name), visit
            if not reached:
                return
            frontier = reached

    def _level(self, frontier: dict[str, str], depth: int) -> Iterator[tuple[str, str, Visit]]:
        """The steps out of a frontier: in the order of its entities, then the best triple first."""
        names = spelled_out(self._link, self._view.tenant, frontier)
        edges = edges_of(self._link, self._view, names, self._direction, fanout=self._bounds.fanout + 1)
        aliases = canonical_names(self._link, self._view.tenant, _ends(edges))
        order = {name: place for place, name in enumerate(frontier)}
        taken: dict[tuple[str, Direction], int] = {}
        found = [
            step
            for edge in {edge.row: edge for edge in edges}.values()
            for step in _directed(edge, aliases, names, self._direction)
        ]
        for parent, name, direction, edge in sorted(found, key=lambda step: (order[step[0]], *_best_first(step[3]))):
            taken[parent, direction] = count = taken.get((parent, direction), 0) + 1
            if count > self._bounds.fanout:
                self.complete = False
                continue
            label = edge.triple.object if direction is Direction.OUT else edge.triple.subject
            visit = Visit(name=label, depth=depth, came_from=frontier[parent], direction=direction, triple=edge.triple)
            yield parent, name, visit


def _best_first(edge: Edge) -> tuple[object, ...]:
    triple = edge.triple
    return -triple.weight, -to_micros(triple.recorded_at), edge.subject, triple.predicate.value, edge.object


def _ends(edges: Sequence[Edge]) -> set[str]:
    return {name for edge in edges for name in (edge.subject, edge.object)}


def _directed(
    edge: Edge, aliases: dict[str, str], names: dict[str, str], direction: Direction
) -> Iterator[tuple[str, str, Direction, Edge]]:
    subject, object = (aliases.get(name, name) for name in (edge.subject, edge.object))
    if edge.subject in names and direction is not Direction.IN:
        yield subject, object, Direction.OUT, edge
    if edge.object in names and direction is not Direction.OUT:
        yield object, subject, Direction.IN, edge
