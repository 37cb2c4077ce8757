"""Where the entities of a picture stand."""

from datetime import UTC, datetime
from itertools import combinations
from math import hypot

from hypothesis import given
from hypothesis import strategies as st

from lamina.graph.types import Direction, Predicate, Source, Triple, Visit, Walk
from lamina.page.graph_layout import HEIGHT, WIDTH, lay_out


def visit(name: str, came_from: str, depth: int) -> Visit:
    triple = Triple(
        subject=came_from,
        predicate=Predicate.USES,
        object=name,
        source=Source(kind="manual", key="k"),
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Visit(name=name, depth=depth, came_from=came_from, direction=Direction.OUT, triple=triple)


def walk(first: int, second: int) -> Walk:
    near = [visit(f"near {number}", "middle", 1) for number in range(first)]
    far = [visit(f"far {number}", f"near {number % first}", 2) for number in range(second if first else 0)]
    return Walk(start="middle", visits=(*near, *far), complete=True)


@given(first=st.integers(0, 16), second=st.integers(0, 16))
def test_everybody_is_in_the_picture_and_nobody_in_the_place_of_another(first: int, second: int) -> None:
    picture = lay_out(walk(first, second))
    assert len(picture.placed) == 1 + first + (second if first else 0)
    assert all(0 < one.x < WIDTH and 0 < one.y < HEIGHT for one in picture.placed)
    assert all(hypot(a.x - b.x, a.y - b.y) > 5 for a, b in combinations(picture.placed, 2))


def test_a_line_leads_from_where_the_walk_came_from() -> None:
    picture = lay_out(walk(3, 2))
    places = {one.name: one for one in picture.placed}
    assert len(picture.lines) == 5
    for line in picture.lines:
        origin, end = places[line.visit.came_from], places[line.visit.name]
        assert (line.x, line.y) == (origin.x, origin.y)
        assert abs(line.length - hypot(end.x - origin.x, end.y - origin.y)) < 1e-6


def test_what_is_beyond_the_outermost_ring_is_left_out() -> None:
    far = Walk(start="middle", visits=(visit("a", "middle", 1), visit("c", "b", 3)), complete=True)
    assert [one.name for one in lay_out(far).placed] == ["middle", "a"]
