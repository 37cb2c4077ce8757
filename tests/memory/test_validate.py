import json
import math
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import ContentTooLongError, InvalidInputError, QueryTooLongError
from lamina.memory import validate as check
from lamina.memory.types import Identifiers, Source


class Colour(str, Enum):  # noqa: UP042 - the older idiom, whose str() is not its value
    RED = "red"


@pytest.mark.requirement("memory.errors.content-too-long")
def test_content_beyond_the_limit_names_the_limit() -> None:
    assert check.check_content("x" * 10, 10) == "x" * 10
    with pytest.raises(ContentTooLongError) as refused:
        check.check_content("x" * 11, 10, operation="add")
    assert refused.value.to_dict() | {"message": ""} == {
        "code": "CONTENT_TOO_LONG",
        "message": "",
        "operation": "add",
        "retryable": False,
        "details": {"max_length": 10, "length": 11},
    }


def test_a_query_beyond_the_limit_names_the_limit() -> None:
    with pytest.raises(QueryTooLongError) as refused:
        check.check_query("secret" * 3, 10)
    assert refused.value.details == {"max_length": 10, "length": 18}


@pytest.mark.parametrize("content", ["", " \n\t", "a\0b", "a\ud800", None, 3, b"x", ["x"]], ids=ascii)
def test_text_that_cannot_be_stored_is_refused(content: object) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check.check_content(content, 100)
    assert refused.value.code == "INVALID_INPUT"
    with pytest.raises(InvalidInputError):
        check.check_query(content, 100)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner, max_size=3),
        max_leaves=5,
    )
)  # fmt: skip
def test_metadata_comes_back_as_an_equal_copy_that_survives_json(value: object) -> None:
    given_ = {"a": value}
    copied = check.check_metadata(given_, 1_000_000)
    assert copied == given_
    assert json.loads(json.dumps(copied, allow_nan=False)) == copied


def test_metadata_is_copied_deeply_and_made_plain() -> None:
    inner: list[object] = [1]
    copied = check.check_metadata({"a": {"b": inner}, "t": (1, 2), "c": Colour.RED, Colour.RED: 1}, 1000)
    inner.append(2)
    assert copied == {"a": {"b": [1]}, "t": [1, 2], "c": "red", "red": 1}
    assert type(copied["c"]) is str
    assert all(type(key) is str for key in copied)


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": math.nan}, {"a": -math.inf}, {"a": 2**53 + 1}, {"a": b"x"}, {"a": {1}}, {"a": object()},
        {"a": datetime.now}, {1: 1}, {None: 1}, {"a\0": 1}, {"\ud800": 1}, {"a": "\0"}, {"a": ["\udfff"]},
        {"a": {"b": {2: 1}}}, [], "x", 3,
    ],
    ids=lambda value: ascii(value).split(" at 0x")[0],
)  # fmt: skip
def test_metadata_that_is_not_json_is_refused(metadata: object) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check.check_metadata(metadata, 1000)
    assert refused.value.details["field"] == "metadata"


def test_metadata_is_bounded_in_bytes_and_depth() -> None:
    assert check.check_metadata({"a": "é"}, 10) == {"a": "é"}
    with pytest.raises(InvalidInputError) as refused:
        check.check_metadata({"a": "éé"}, 10)
    assert refused.value.details == {"field": "metadata", "max_size": 10, "size": 12}
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    with pytest.raises(InvalidInputError, match="nested"):
        check.check_metadata(cyclic, 1000)


def test_tags_keep_their_order_without_repetitions() -> None:
    assert check.check_tags(["b", "a", "b"]) == ("b", "a")
    assert check.check_tags(None) == ()
    for tags in ("ui", [""], [" "], [1], ["x" * 201], ["\0"], ["\ud800"], [f"t{n}" for n in range(101)], {"a"}):
        with pytest.raises(InvalidInputError):
            check.check_tags(tags)


def test_identifiers_are_checked_by_name() -> None:
    assert check.check_identifiers(user_id="u", team_id=None) == Identifiers(user_id="u")
    for value in ("", " ", "x" * 257, "a\0", "a\n", "\x7f", "\ud800", 7, b"u", True):
        with pytest.raises(InvalidInputError) as refused:
            check.check_identifiers(user_id=value)
        assert refused.value.details["field"] == "user_id"
    with pytest.raises(InvalidInputError, match="session_id"):
        check.check_identifiers(sessionId="s")


def test_a_limit_is_a_whole_number_in_range() -> None:
    assert check.check_limit(1, 100) == 1
    assert check.check_limit(100, 100) == 100
    for value in (0, -1, 101, True, 1.0, "10", None):
        with pytest.raises(InvalidInputError) as refused:
            check.check_limit(value, 100)
        assert refused.value.details["maximum"] == 100


def test_a_threshold_is_a_number_from_zero_to_one() -> None:
    assert [check.check_threshold(value) for value in (0, 0.7, 1)] == [0.0, 0.7, 1.0]
    for value in (-0.1, 1.1, math.nan, math.inf, True, "0.5", None):
        with pytest.raises(InvalidInputError):
            check.check_threshold(value)


def test_a_moment_needs_a_zone_and_becomes_utc() -> None:
    east = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert check.check_expires_at(None) is None
    expiry = check.check_expires_at(east)
    assert expiry == datetime(2030, 1, 1, tzinfo=UTC)
    assert expiry is not None
    assert expiry.tzinfo is UTC
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=2)))
    for value in (datetime(2030, 1, 1), "2030-01-01T00:00:00Z", 1893456000, early):
        with pytest.raises(InvalidInputError):
            check.check_expires_at(value)


def test_a_source_is_checked_field_by_field() -> None:
    east = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    checked = check.check_source(Source(kind="conversation", conversation="c", sequence=0, said_at=east))
    assert checked is not None
    assert checked.said_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert check.check_source(None) is None
    wrong: list[object] = [
        Source(kind="rumour"),
        Source(sequence=-1),
        Source(sequence=True),
        Source(author=""),
        Source(conversation="a\0"),
        Source(reference="x" * 2049),
        Source(said_at=datetime(2030, 1, 1)),
        {"kind": "manual"},
    ]
    for source in wrong:
        with pytest.raises(InvalidInputError):
            check.check_source(source)
