import numpy as np
import pytest

from lamina.index.query import prepare_query
from lamina.index.terms import name_key, term_key


def test_stop_words_are_left_out_of_a_query() -> None:
    query = prepare_query("What did the dog eat?", None)
    assert query.terms.tolist() == [term_key("dog"), term_key("eat")]


def test_a_query_of_stop_words_keeps_them() -> None:
    assert len(prepare_query("who is it?", None).terms) == 3


def test_an_empty_query_has_nothing() -> None:
    query = prepare_query("", None)
    assert not len(query.terms)
    assert query.names == ()
    assert query.vector is None


def test_names_of_several_words_are_recognised() -> None:
    names = prepare_query("What does Ana Maria López's dog eat?", None).names
    assert {name_key("Ana"), name_key("Ana Maria"), name_key("ana maria lopez")} <= set(names)


def test_everyday_words_are_expected_more_often_than_rare_ones() -> None:
    query = prepare_query("good zeppelin", None)
    assert query.priors[0] > query.priors[1]


@pytest.mark.parametrize("vector", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_counts_as_none(vector: list[float]) -> None:
    assert prepare_query("x", np.array(vector, np.float32)).vector is None


def test_a_vector_is_brought_to_length_one() -> None:
    vector = prepare_query("x", np.array([3.0, 4.0], np.float32)).vector
    assert vector is not None
    assert vector.tolist() == pytest.approx([0.6, 0.8])
