"""The laws of use and age."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.index.calibration import relevance as relevance_of
from lamina.knowledge.ranking import Lift, lifted
from lamina.knowledge.settings import KnowledgeSettings

DAY = 24 * 60 * 60 * 1_000_000
FULL = 3.0
evidence = st.floats(0, 10, width=32)
scores = st.floats(0.0625, 20, width=32)
ages = st.integers(-DAY, 10_000 * DAY)
results = st.lists(st.tuples(evidence, scores, ages), min_size=1, max_size=20)


def lift(rows: list[tuple[float, float, int]], **settings: float) -> Lift:
    return lifted(
        np.array([row[0] for row in rows], np.float32),
        full=FULL,
        relevance=np.array([row[1] for row in rows], np.float32),
        age_micros=np.array([row[2] for row in rows], np.int64),
        settings=KnowledgeSettings(**settings),  # type: ignore[arg-type]
    )


@given(results)
def test_scores_stay_within_bounds_and_their_parts_add_up(rows: list[tuple[float, float, int]]) -> None:
    found = lift(rows)
    text = relevance_of(np.array([row[0] for row in rows], np.float32), FULL)
    assert ((found.scores >= 0) & (found.scores <= 1)).all()
    assert np.allclose(text + found.use + found.recency, found.scores, atol=1e-5)


@given(results)
def test_the_order_is_a_permutation_from_the_best_to_the_worst(rows: list[tuple[float, float, int]]) -> None:
    found = lift(rows)
    assert sorted(found.order.tolist()) == list(range(len(rows)))
    ordered = found.scores[found.order]
    assert (np.diff(ordered) <= 1e-6).all()


@given(evidence, ages, st.tuples(scores, scores))
def test_more_use_never_lowers_a_score(strength: float, age: int, pair: tuple[float, float]) -> None:
    low, high = sorted(pair)
    found = lift([(strength, low, age), (strength, high, age)])
    assert found.scores[0] <= found.scores[1]


@given(evidence, scores, st.tuples(ages, ages))
def test_age_never_raises_a_score(strength: float, relevance: float, pair: tuple[int, int]) -> None:
    young, old = sorted(pair)
    found = lift([(strength, relevance, young), (strength, relevance, old)])
    assert found.scores[0] >= found.scores[1]


@given(st.lists(evidence, min_size=1, max_size=20))
def test_equals_in_use_and_age_keep_the_order_of_their_text(strengths: list[float]) -> None:
    rows = [(strength, 1.0, DAY) for strength in sorted(strengths, reverse=True)]
    assert lift(rows).order.tolist() == list(range(len(rows)))


@given(results)
def test_without_weights_only_the_text_counts(rows: list[tuple[float, float, int]]) -> None:
    found = lift(rows, relevance_weight=0, recency_weight=0)
    assert not found.use.any()
    assert not found.recency.any()


def test_the_factors_are_what_the_module_promises() -> None:
    text = 0.5
    at = {
        name: float(lift([(text, relevance, age)]).scores[0])
        for name, relevance, age in (("ceiling", 5.0, 10**6 * DAY), ("floor", 0.1, 10**6 * DAY), ("new", 1.0, 0))
    }
    low = 1 + 0.15 * math.log(0.1) / math.log(5)
    expected = relevance_of(np.array([text * 1.15, text * low, text * 1.05], np.float32), FULL).tolist()
    assert [at["ceiling"], at["floor"], at["new"]] == pytest.approx(expected, abs=1e-5)


def test_a_ceiling_of_one_is_no_division_by_zero() -> None:
    assert lift([(0.5, 3.0, 10**6 * DAY)], relevance_ceiling=1.0).use.tolist() == [0.0]
