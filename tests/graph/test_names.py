"""What makes two spellings one entity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.graph.names import LONGEST_NAME, fold, tidy


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PostgreSQL", "postgresql"),
        ("Ann’s", "ann"),
        ("«Été»", "ÉTÉ"),
        ("ＡＢＣ", "abc"),
        ("a–b", "a-b"),
        ("  Acme\t Corp. ", "acme corp"),
        ("STRASSE", "straße"),
    ],
)
def test_case_width_dashes_and_surrounding_signs_do_not_count(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [(".env", "env"), ("C++", "C"), ("C#", "C"), ("user_id", "user id")])
def test_signs_that_belong_to_a_name_count(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text(max_size=400))
def test_folding_is_stable_and_bounded(text: str) -> None:
    assert fold(tidy(text)) == fold(text)
    assert tidy(tidy(text)) == tidy(text)
    assert len(fold(text)) <= 2 * LONGEST_NAME
    assert len(tidy(text)) <= 2 * LONGEST_NAME
