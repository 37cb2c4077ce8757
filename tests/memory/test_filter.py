import math

import pytest

from lamina.errors import InvalidFilterError
from lamina.memory.filter import Condition, Filter, matches, parse_filter


def passes(where: dict[str, object], metadata: dict[str, object]) -> bool:
    return matches(parse_filter(tags=None, where=where), tags=[], metadata=metadata)


def test_a_bare_value_is_equality_and_an_object_holds_operators() -> None:
    parsed = parse_filter(tags=["x", "x", "y"], where={"a.b": 1, "c": {"gte": 1, "lt": 5}, "d": [1, [2]]})
    assert parsed == Filter(
        tags=("x", "y"),
        conditions=(
            Condition(path=("a", "b"), operator="eq", value=1),
            Condition(path=("c",), operator="gte", value=1),
            Condition(path=("c",), operator="lt", value=5),
            Condition(path=("d",), operator="eq", value=(1, (2,))),
        ),
    )
    hash(parsed)


def test_nothing_given_matches_everything() -> None:
    for tags, where in ((None, None), ([], {})):
        assert parse_filter(tags=tags, where=where) == Filter()
    assert matches(Filter(), tags=[], metadata={})


@pytest.mark.parametrize(
    "where",
    [
        {"a": {"near": 1}},
        {"a": {"$gt": 1}},
        {"a": {1: 1}},
        {"a": {}},
        {"": 1},
        {"a..b": 1},
        {".a": 1},
        {"a.": 1},
        {3: 1},
        {"a\0": 1},
        {"a\ud800": 1},
        {"a": math.nan},
        {"a": {"gt": math.inf}},
        {"a": b"x"},
        {"a": object()},
        {"a": "x\0"},
        {"a": "\udc00"},
        {"a": ["ok", "\udc00"]},
        {"a": [{"b": 1}]},
        {"a": {"eq": {"b": 1}}},
        {"a": {"in": "abc"}},
        {"a": {"in": [[1]]}},
        {"a": {"in": [1] * 1001}},
        {"a": [1] * 1001},
        {"a": {"exists": 1}},
        {"a": {"exists": None}},
        {"a": {"contains": [1]}},
        {"a": {"gt": True}},
        {"a": {"lte": None}},
        {"a": {"gt": [1]}},
        {"a": 2**53 + 1},
        {".".join("a" * 17): 1},
        {f"f{number}": 1 for number in range(65)},
        {"a": {"eq": 1, "ne": 2, "nope": 3}},
        ["a"],
        "a",
    ],
    ids=lambda where: ascii(where).split(" at 0x")[0][:40],
)
def test_a_malformed_where_is_refused(where: object) -> None:
    with pytest.raises(InvalidFilterError) as refused:
        parse_filter(tags=None, where=where, operation="list")  # type: ignore[arg-type]
    assert refused.value.code == "INVALID_FILTER"
    assert refused.value.operation == "list"
    assert not refused.value.retryable
    assert refused.value.details


def test_an_unknown_operator_is_answered_with_the_ones_there_are() -> None:
    with pytest.raises(InvalidFilterError, match="gte") as refused:
        parse_filter(tags=None, where={"a": {"regex": ".*"}})
    assert "contains" in str(refused.value.details["operators"])


def test_a_list_nested_too_deeply_is_refused() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidFilterError):
        parse_filter(tags=None, where={"a": deep})


@pytest.mark.parametrize("tags", ["ui", [""], [1], [None], ["a\0"], ["\ud800"], {"a": 1}, ["t"] * 1001], ids=ascii)
def test_malformed_tags_are_refused(tags: object) -> None:
    with pytest.raises(InvalidFilterError):
        parse_filter(tags=tags, where=None)  # type: ignore[arg-type]


@pytest.mark.requirement("memory.filter.tags")
def test_tags_are_ored() -> None:
    wanted = parse_filter(tags=["ui", "db"], where=None)
    assert matches(wanted, tags=["db", "x"], metadata={})
    assert matches(wanted, tags=["ui"], metadata={})
    assert not matches(wanted, tags=["UI", "u"], metadata={})
    assert not matches(wanted, tags=[], metadata={})


@pytest.mark.requirement("memory.filter.metadata")
def test_equality_contains_and_range_reach_any_field() -> None:
    stored: dict[str, object] = {"build": {"os": "linux", "tries": 3}, "labels": ["a", 1, None]}
    assert passes({"build.os": "linux", "build.tries": {"gt": 2, "lte": 3}}, stored)
    assert passes({"build.os": {"contains": "nu"}}, stored)
    assert not passes({"build.os": {"contains": "NU"}}, stored)
    assert passes({"labels": {"contains": "a"}}, stored)
    assert passes({"labels": {"contains": None}}, stored)
    assert not passes({"labels": {"contains": True}}, stored)
    assert not passes({"build.os": "linux", "build.tries": {"gt": 3}}, stored)
    assert passes({"build.os": {"in": ["mac", "linux"]}}, stored)
    assert not passes({"build.os": {"in": []}}, stored)


def test_types_are_never_converted() -> None:
    assert passes({"a": 1}, {"a": 1.0})
    assert passes({"a": [1, [2.0]]}, {"a": [1.0, [2]]})
    for wanted, stored in (
        (1, "1"),
        ("1", 1),
        (1, True),
        (True, 1),
        (0, False),
        (0, None),
        ("", None),
        ([1], [True]),
    ):
        assert not passes({"a": wanted}, {"a": stored})
        assert passes({"a": {"ne": wanted}}, {"a": stored})


def test_a_range_on_a_missing_or_other_type_does_not_match() -> None:
    for operator in ("gt", "gte", "lt", "lte"):
        for stored in ({}, {"a": "5"}, {"a": None}, {"a": True}, {"a": [5]}, {"a": {"b": 5}}):
            assert not passes({"a": {operator: 1}}, dict(stored))
        assert not passes({"a": {operator: "x"}}, {"a": 7})
    assert passes({"a": {"gt": "Z"}}, {"a": "a"})


def test_ne_matches_a_missing_field_and_null_is_not_missing() -> None:
    assert passes({"a": {"ne": 1}}, {})
    assert passes({"a": None}, {"a": None})
    assert not passes({"a": None}, {})
    assert passes({"a": {"exists": True}}, {"a": None})
    assert passes({"a": {"exists": False}}, {})
    assert not passes({"a.b": {"exists": True}}, {"a": "text"})


def test_a_key_with_a_dot_is_not_reached_by_a_path() -> None:
    assert not passes({"a.b": 1}, {"a.b": 1})
