from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.memory.merge import Merged, merge
from lamina.memory.provider import Found, ScopeResults, Vector
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer

START = datetime(2030, 1, 1, tzinfo=UTC)
CONTENTS = ["likes tea", "Likes tea.", "likes coffee", "does not like tea", "has 2 cats", "has two cats", "has 3 cats"]
VECTORS: list[Vector | None] = [
    None,
    np.array([1, 0], dtype=np.float32),
    np.array([0.96, 0.28], dtype=np.float32),
    np.array([0, 1], dtype=np.float32),
]
Results = dict[MemoryLayer, ScopeResults]


def found(id: str, layer: MemoryLayer, score: float, content: str, vector: Vector | None = None) -> Found:
    entry = MemoryEntry(
        id=id,
        content=content,
        layer=layer,
        identifiers=Identifiers(),
        created_at=START,
        updated_at=START,
    )
    return Found(entry=entry, score=score, vector=vector)


def grouped(*items: Found) -> Results:
    layers = {item.entry.layer for item in items}
    per_layer = {layer: tuple(item for item in items if item.entry.layer == layer) for layer in layers}
    return {layer: ScopeResults(found=found, total=len(found)) for layer, found in per_layer.items()}


@st.composite
def results(draw: st.DrawFn) -> Results:
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from(MemoryLayer),
                st.sampled_from([0.7, 0.8, 0.9, 1.0]),
                st.sampled_from(CONTENTS),
                st.sampled_from(range(len(VECTORS))),
            ),
            max_size=12,
        )
    )
    items = (
        found(f"m{number}", layer, score, content, VECTORS[vector])
        for number, (layer, score, content, vector) in enumerate(drawn)
    )
    return grouped(*items)


def ids(merged: Merged) -> list[str]:
    return [hit.id for hit in merged.hits]


def everything(results: Mapping[MemoryLayer, ScopeResults]) -> dict[str, Found]:
    return {item.entry.id: item for result in results.values() for item in result.found}


@pytest.mark.requirement("memory.merge.precedence")
def test_a_project_comes_before_a_company_and_scores_break_ties() -> None:
    merged = merge(
        grouped(
            found("c", MemoryLayer.COMPANY, 0.99, "Use spaces"),
            found("p1", MemoryLayer.PROJECT, 0.71, "Use tabs"),
            found("p2", MemoryLayer.PROJECT, 0.9, "Use black"),
        ),
        limit=10,
    )
    assert ids(merged) == ["p2", "p1", "c"]


@pytest.mark.requirement("memory.merge.duplicates")
def test_of_two_that_say_the_same_the_stronger_layer_is_kept_and_the_other_reported() -> None:
    merged = merge(
        grouped(
            found("c", MemoryLayer.COMPANY, 0.99, "Use tabs for indentation.", VECTORS[2]),
            found("p", MemoryLayer.PROJECT, 0.71, "Use tabs for indentation", VECTORS[1]),
            found("n", MemoryLayer.COMPANY, 0.8, "Never use tabs for indentation", VECTORS[1]),
        ),
        limit=10,
    )
    assert ids(merged) == ["p", "n"]
    assert [(item.id, item.layer, item.kept_id) for item in merged.duplicates] == [("c", MemoryLayer.COMPANY, "p")]
    assert merged.total == 2


def test_within_a_layer_the_higher_score_is_kept() -> None:
    merged = merge(
        grouped(
            found("low", MemoryLayer.USER, 0.8, "likes tea", VECTORS[1]),
            found("high", MemoryLayer.USER, 0.9, "Likes tea", VECTORS[1]),
        ),
        limit=10,
    )
    assert ids(merged) == ["high"]


def test_the_total_counts_what_layers_found_before_the_cut_less_the_duplicates() -> None:
    one = found("a", MemoryLayer.USER, 0.9, "likes tea", VECTORS[1])
    same = found("b", MemoryLayer.TEAM, 0.9, "Likes tea", VECTORS[1])
    other = found("c", MemoryLayer.TEAM, 0.8, "likes chess", VECTORS[3])
    merged = merge(
        {
            MemoryLayer.USER: ScopeResults(found=(one,), total=40),
            MemoryLayer.TEAM: ScopeResults(found=(same, other), total=2),
        },
        limit=1,
    )
    assert (ids(merged), merged.total) == (["a"], 41)


@given(results(), st.integers(1, 12))
def test_hits_are_ordered_by_precedence_then_score_then_as_their_layer_ranked_them(
    results: Results, limit: int
) -> None:
    merged = merge(results, limit=limit)
    ranks = {item.entry.id: rank for result in results.values() for rank, item in enumerate(result.found)}
    keys = [(hit.layer.precedence, -hit.score, ranks[hit.id]) for hit in merged.hits]
    assert keys == sorted(keys)
    assert len(merged.hits) <= limit


@given(results(), st.randoms(use_true_random=False))
def test_the_order_in_which_layers_finish_changes_nothing(results: Results, random: Random) -> None:
    shuffled = list(results.items())
    random.shuffle(shuffled)
    assert merge(dict(shuffled), limit=5) == merge(results, limit=5)


@given(results())
def test_merging_what_was_merged_changes_nothing(results: Results) -> None:
    once = merge(results, limit=100)
    by_id = everything(results)
    again = merge(grouped(*(by_id[hit.id] for hit in once.hits)), limit=100)
    assert again.hits == once.hits
    assert again.duplicates == ()


@given(results())
def test_nothing_is_lost_every_entry_is_a_hit_or_a_reported_duplicate_of_one(results: Results) -> None:
    merged = merge(results, limit=100)
    left_out = [item.id for item in merged.duplicates]
    assert sorted(ids(merged) + left_out) == sorted(everything(results))
    assert {item.kept_id for item in merged.duplicates} <= set(ids(merged))
    assert merged.total == len(merged.hits)


@given(results(), st.integers(1, 11))
def test_a_smaller_limit_gives_a_prefix(results: Results, limit: int) -> None:
    assert merge(results, limit=limit).hits == merge(results, limit=100).hits[:limit]
