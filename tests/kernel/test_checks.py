"""Checks of input that every room shares; what memory makes of them is in tests/memory/test_validate.py."""

import math
import re
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


@pytest.mark.parametrize(
    ("name", "character", "position"),
    [
        ("deploy\u200b", "U+200B", 7),
        ("\ufeffdeploy", "U+FEFF", 1),
        ("de\u00adploy", "U+00AD", 3),
        ("deploy\u200d", "U+200D", 7),
        ("dep\u200cloy", "U+200C", 4),
        ("deploy\ufe0f", "U+FE0F", 7),
        ("a\u202eb", "U+202E", 2),
        ("a\U000e0041", "U+E0041", 2),
        ("a\u3164", "U+3164", 2),
        ("می\u200c", "U+200C", 3),
    ],
)
def test_a_new_name_has_no_characters_that_nobody_sees(name: str, character: str, position: int) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"{re.escape(character)} at position {position}; remove it"
    ) as refused:
        checks.check_new_name("key", name, operation="save")
    assert refused.value.details == {"field": "key", "character": character}
    assert checks.check_name("key", name) == name  # what is there already can still be named


@pytest.mark.parametrize(
    "name", ["deploy", "naïve", "می\u200cخواهم", "👨\u200d👩\u200d👧", "❤\ufe0f", "क्\u200dष", "東京 2025"]
)
def test_joiners_that_shape_what_is_seen_belong_to_a_name(name: str) -> None:
    assert checks.check_new_name("key", name) == name


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
