"""Walks: bounded, safe in circles, the same every time."""

from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina.graph.types import Source
from tests.graph.opening import graph_app

pytestmark = pytest.mark.anyio


async def test_a_walk_goes_both_ways_and_meets_every_entity_once_even_in_a_circle(store_url: str) -> None:
    async with graph_app(store_url) as app:
        for one, other in (("a1", "b1"), ("b1", "c1"), ("c1", "a1"), ("c1", "c1"), ("d1", "c1")):
            await app.graph.add(one, "knows", other)
        walk = await app.graph.traverse("a1", depth=6)
        assert walk.complete
        assert [(visit.depth, visit.name) for visit in walk.visits] == [(1, "b1"), (1, "c1"), (2, "d1")]
        assert [one.name for one in (await app.graph.traverse("a1", depth=6, direction="in")).visits] == [
            "c1",
            "b1",
            "d1",
        ]


async def test_depth_relations_and_size_bound_a_walk(store_url: str) -> None:
    async with graph_app(store_url) as app:
        for number in range(9):
            await app.graph.add(f"n{number}", "follows", f"n{number + 1}")
            await app.graph.add(f"n{number}", "uses", f"tool{number}")
        deep = await app.graph.traverse("n0", depth=3, direction="out", predicates=["follows"])
        assert [visit.name for visit in deep.visits] == ["n1", "n2", "n3"]
        cut = await app.graph.traverse("n0", depth=6, limit=4)
        assert (len(cut.visits), cut.complete) == (4, False)
        assert await app.graph.path("n0", "n6", predicates=["follows"]) is not None
        assert await app.graph.path("n0", "n7", predicates=["follows"]) is None
        assert await app.graph.path("n0", "N0") == ()


async def test_a_hub_does_not_flood_a_walk(store_url: str) -> None:
    async with graph_app(store_url, fanout=5) as app:
        source = Source(kind="import", key="hub")
        for number in range(30):
            await app.graph.add("hub", "contains", f"part {number:02}", source=source)
        walk = await app.graph.traverse("hub", depth=2)
        assert (len(walk.visits), walk.complete) == (5, False)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
    depth=st.integers(1, 6),
    limit=st.integers(1, 10),
)
def test_any_graph_is_walked_within_bounds(
    edges: list[tuple[int, int]], depth: int, limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    anyio.run(check_walk, edges, depth, limit, tmp_path_factory.mktemp("walk"))


async def check_walk(edges: list[tuple[int, int]], depth: int, limit: int, folder: Path) -> None:
    """Compare a walk with the shortest distances, computed apart."""
    async with graph_app(str(folder / "lamina.db")) as app:
        for one, other in edges:
            await app.graph.add(f"n{one}", "knows", f"n{other}")
        walk = await app.graph.traverse("n0", depth=depth, limit=limit)
        assert (await app.graph.traverse("n0", depth=depth, limit=limit)) == walk
    near = distances(edges)
    within = {name: steps for name, steps in near.items() if 0 < steps <= depth}
    met = {visit.name: visit.depth for visit in walk.visits}
    assert len(met) == len(walk.visits) == min(limit, len(within))
    assert met.items() <= within.items()
    assert [visit.depth for visit in walk.visits] == sorted(met.values())
    assert walk.complete == (len(within) <= limit)


def distances(edges: list[tuple[int, int]]) -> dict[str, int]:
    """Steps from n0 to everything it is joined with."""
    found, frontier = {"n0": 0}, ["n0"]
    while frontier:
        name = frontier.pop(0)
        for one, other in edges:
            for start, goal in ((one, other), (other, one)):
                if f"n{start}" == name and f"n{goal}" not in found:
                    found[f"n{goal}"] = found[name] + 1
                    frontier.append(f"n{goal}")
    return found
