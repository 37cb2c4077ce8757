"""What every embedder around a model shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.embedding.vectors import answered, embeddable, packed, placed, readable, unit_rows
from lamina.errors import EmbeddingFailedError

SIZES = st.lists(st.integers(min_value=0, max_value=50), max_size=40)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(SIZES, st.integers(min_value=1, max_value=6), st.integers(min_value=1, max_value=60))
def test_runs_cover_everything_once_and_keep_their_bounds(sizes: list[int], most: int, limit: int) -> None:
    runs = [sizes[run] for run in packed(sizes, most=most, limit=limit)]
    assert [size for run in runs for size in run] == sizes
    assert all(1 <= len(run) <= most for run in runs)
    assert all(sum(run) <= limit or len(run) == 1 for run in runs)


@given(st.text() | st.text(alphabet=st.characters(categories=["Cs"])))
def test_what_is_readable_can_be_sent(text: str) -> None:
    clean = readable(text)
    clean.encode("utf-8")
    assert readable(clean) == clean


@given(st.lists(st.text(max_size=5)))
def test_only_texts_that_say_something_are_embedded(texts: list[str]) -> None:
    positions, prefixed = embeddable(texts, "p: ")
    assert all(text.startswith("p: ") and text[3:].strip() for text in prefixed)
    assert all(readable(texts[position]) == text[3:] for position, text in zip(positions, prefixed, strict=True))
    assert all(not readable(texts[n]).strip() for n in set(range(len(texts))) - set(positions))


@given(st.lists(NUMBERS, min_size=1, max_size=6).filter(any))
def test_every_row_has_length_one_whatever_its_numbers(row: list[float]) -> None:
    rows = unit_rows(np.array([row]))
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows[0]) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("row", [[0.0, 0.0], [1.0, float("nan")], [float("inf"), 1.0]])
def test_a_row_without_a_direction_is_refused(row: list[float]) -> None:
    with pytest.raises(EmbeddingFailedError):
        unit_rows(np.array([[1.0, 1.0], row]))


def test_rows_are_placed_among_zeros() -> None:
    rows = np.ones((2, 3), dtype=np.float32)
    assert placed(4, 3, [1, 3], rows).sum(axis=1).tolist() == [0.0, 3.0, 0.0, 3.0]
    assert placed(2, 3, [0, 1], rows) is rows


def test_an_answer_of_any_length_is_brought_to_length_one_and_zeros_stay_zeros() -> None:
    rows = answered("mine:1", np.array([[3.0, 4.0], [0.0, 0.0], [1e30, 0.0]], np.float32), rows=3, dimensions=2)
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]]))


def test_an_answer_in_order_is_passed_on_as_it_is() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [5.0, 12.0]]))
    assert answered("mine:1", rows, rows=2, dimensions=2) is rows
    beside_nothing = np.vstack([rows, np.zeros((1, 2), np.float32)])
    assert answered("mine:1", beside_nothing, rows=3, dimensions=2).tolist() == beside_nothing.tolist()


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [[1.0], [1.0]], [[1.0, 0.0], [float("nan"), 0.0]], [1.0, 0.0]])
def test_an_answer_of_another_shape_or_without_numbers_is_refused(rows: list[object]) -> None:
    with pytest.raises(EmbeddingFailedError, match="mine:1"):
        answered("mine:1", np.array(rows, np.float32), rows=2, dimensions=2)
