"""Checks of input that every room shares; what memory makes of them is in tests/memory/test_validate.py."""

import math
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import ContentTooLongError, InvalidInputError
from lamina.kernel import checks


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def test_a_name_has_no_control_characters_and_a_longest_length() -> None:
    assert checks.check_name("key", " a b ") == " a b "
    assert checks.check_name("key", "x" * 300, longest=300) == "x" * 300
    for value in ("", " ", "a\nb", "\x7f", "\x85", "x" * 257, "\ud800", None, 1, b"k"):
        with pytest.raises(InvalidInputError) as refused:
            checks.check_name("key", value, operation="save")
        assert refused.value.details["field"] == "key"
        assert refused.value.operation == "save"


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=256).filter(str.strip))
def test_any_other_name_comes_back_as_it_is(name: str) -> None:
    assert checks.check_name("key", name) == name


@given(st.text(max_size=20))
def test_a_text_comes_back_as_it_is_or_is_refused(text: str) -> None:
    if not text.strip() or "\0" in text:
        with pytest.raises(InvalidInputError):
            checks.check_text("content", text, longest=10)
    elif len(text) > 10:
        with pytest.raises(ContentTooLongError) as refused:
            checks.check_text("content", text, longest=10)
        assert refused.value.details == {"max_length": 10, "length": len(text)}
    else:
        assert checks.check_text("content", text, longest=10) == text


def test_a_choice_is_one_of_the_known_ones() -> None:
    assert checks.check_choice("colour", "red", Colour) is Colour.RED
    assert checks.check_choice("colour", Colour.BLUE, Colour) is Colour.BLUE
    for value in ("green", "RED", None, 1, "\ud800" * 200):
        with pytest.raises(InvalidInputError, match="red, blue") as refused:
            checks.check_choice("colour", value, Colour)
        assert refused.value.details == {"field": "colour", "known": ["red", "blue"]}
        str(refused.value).encode()


def test_a_number_is_within_bounds() -> None:
    assert checks.check_number("delta", -2, least=-2, most=2) == -2.0
    for value in (2.1, math.nan, math.inf, -math.inf, True, "1", None):
        with pytest.raises(InvalidInputError):
            checks.check_number("delta", value, least=-2, most=2)


def test_the_text_that_was_refused_is_not_repeated() -> None:
    secret = "tr0ub4dor\0"
    for check in (
        lambda: checks.check_text("content", secret, longest=100),
        lambda: checks.check_name("key", secret),
        lambda: checks.check_tags([secret]),
        lambda: checks.check_query(secret, longest=100),
        lambda: checks.check_json("metadata", {"a": secret}, max_size=100),
    ):
        with pytest.raises(InvalidInputError) as refused:
            check()
        assert "tr0ub4dor" not in str(refused.value.to_dict())
