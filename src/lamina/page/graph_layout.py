"""Where the entities around a chosen one stand in a picture: it in the middle, each step away one ring further out.

Pure. Whoever was reached through somebody stands beyond them, and everybody of a ring gets a share of it that grows
with how many stand behind them, so that lines rarely cross.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamina.graph.types import Visit, Walk

WIDTH: Final = 1000.0
HEIGHT: Final = 640.0
_RADII: Final = (0.0, 0.56, 0.96)
_MARGIN_X: Final = 90.0
_MARGIN_Y: Final = 34.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An entity and its place."""

    name: str
    depth: int
    x: float
    y: float
    visit: Visit | None = None
    """How it was reached; None for the one in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A relation, from where it begins to where it ends."""

    x: float
    y: float
    length: float
    angle: float
    """In degrees, clockwise from the right."""
    visit: Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everybody's place, and the lines between them."""

    placed: tuple[Placed, ...]
    lines: tuple[Line, ...]


def lay_out(walk: Walk) -> Picture:
    """The picture of a walk; what is further away than the outermost ring is left out."""
    middle = Placed(name=walk.start, depth=0, x=WIDTH / 2, y=HEIGHT / 2)
    shown = [visit for visit in walk.visits if visit.depth < len(_RADII)]
    behind: dict[str, list[Visit]] = {}
    for visit in shown:
        behind.setdefault(visit.came_from if visit.depth > 1 else walk.start, []).append(visit)
    placed = [middle]
    _spread(behind.get(walk.start, []), behind, placed, start=-math.pi / 2, share=2 * math.pi)
    by_name = {one.name: one for one in reversed(placed)}
    lines = []
    for one in placed[1:]:
        assert one.visit is not None
        origin = middle if one.depth == 1 else by_name.get(one.visit.came_from, middle)
        lines.append(_line(origin, one, one.visit))
    return Picture(placed=tuple(placed), lines=tuple(lines))


def _spread(
    visits: Sequence[Visit], behind: dict[str, list[Visit]], placed: list[Placed], *, start: float, share: float
) -> None:
    """Give each its part of a share of the circle, and those behind it a part of that."""
    weights = [1 + len(behind.get(visit.name, ())) if visit.depth == 1 else 1 for visit in visits]
    total = sum(weights)
    for visit, weight in zip(visits, weights, strict=True):
        part = share * weight / total
        angle = start + part / 2
        radius = _RADII[visit.depth]
        x = WIDTH / 2 + math.cos(angle) * radius * (WIDTH / 2 - _MARGIN_X)
        y = HEIGHT / 2 + math.sin(angle) * radius * (HEIGHT / 2 - _MARGIN_Y)
        placed.append(Placed(name=visit.name, depth=visit.depth, x=x, y=y, visit=visit))
        if visit.depth == 1:
            further = [one for one in behind.get(visit.name, ()) if one.depth == 2]
            _spread(further, behind, placed, start=start, share=part)
        start += part


def _line(origin: Placed, end: Placed, visit: Visit) -> Line:
    across, down = end.x - origin.x, end.y - origin.y
    return Line(
        x=origin.x,
        y=origin.y,
        length=math.hypot(across, down),
        angle=math.degrees(math.atan2(down, across)),
        visit=visit,
    )
