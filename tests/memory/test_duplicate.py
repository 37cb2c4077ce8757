import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.memory.duplicate import cosines, same_fact
from lamina.memory.provider import Vector

PAIRS: dict[str, list[tuple[str, str]]] = tomllib.loads(
    Path(__file__).with_name("duplicate_pairs.toml").read_text(encoding="utf-8")
)
NORTH: Vector = np.array([1, 0], dtype=np.float32)
NEAR: Vector = np.array([0.96, 0.28], dtype=np.float32)
FAR: Vector = np.array([0.94, 0.3411744], dtype=np.float32)
ZERO: Vector = np.zeros(2, dtype=np.float32)


@pytest.mark.parametrize(("one", "other"), PAIRS["different"])
def test_two_facts_are_never_merged_however_close_their_vectors(one: str, other: str) -> None:
    assert not same_fact(one, other, NORTH, NORTH)
    assert not same_fact(other, one, NORTH, NORTH)
    assert not same_fact(one, other, None, None)


@pytest.mark.requirement("memory.merge.duplicates")
def test_most_repetitions_of_one_fact_are_found() -> None:
    found = [pair for pair in PAIRS["same"] if same_fact(*pair, NORTH, NEAR)]
    assert len(found) / len(PAIRS["same"]) >= 0.8


def test_vectors_below_the_similarity_are_two_memories() -> None:
    assert same_fact("Likes tea", "likes tea.", NORTH, NEAR)
    assert not same_fact("Likes tea", "likes tea.", NORTH, FAR)
    assert same_fact("Likes tea", "likes tea.", NORTH, FAR, 0.9)
    assert same_fact("Likes tea", "likes tea.", NORTH, NORTH, 1.0)


@pytest.mark.parametrize("missing", [None, ZERO], ids=["none", "zero"])
def test_without_a_vector_only_equal_normalised_text_is_a_duplicate(missing: Vector | None) -> None:
    assert same_fact("Likes  tea", "likes tea.", NORTH, missing)
    assert not same_fact("Has two cats", "Has 2 cats", NORTH, missing)
    assert not same_fact("Ships to us", "Ships to US", missing, missing)


def test_vectors_of_different_models_are_not_compared() -> None:
    assert np.isnan(cosines([NORTH, np.ones(3, dtype=np.float32)])[0, 1])
    assert cosines([]).shape == (0, 0)


@given(st.text(max_size=60), st.text(max_size=60))
def test_sameness_is_reflexive_and_symmetric(one: str, other: str) -> None:
    assert same_fact(one, one, NORTH, NORTH)
    assert same_fact(one, other, NORTH, NEAR) == same_fact(other, one, NEAR, NORTH)


@given(
    st.lists(
        st.sampled_from(["Alice", "likes", "green", "tea", "on", "Monday", "with", "2", "friends", "not", "a"]),
        min_size=1,
    ),
    st.data(),
)
def test_replacing_any_word_by_an_unknown_one_makes_another_fact(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:at], "zebra", *words[at + 1 :]]
    assert not same_fact(" ".join(words), " ".join(changed), NORTH, NORTH)
