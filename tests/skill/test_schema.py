"""Parameters are declared by the part of JSON schema that is really checked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInputError
from lamina.skill.schema import check_arguments, check_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "share": {"type": "number"},
        "loud": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "where": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    },
    "required": ["name"],
}


def test_defaults_are_filled_in() -> None:
    assert check_arguments(check_schema(SCHEMA), {"name": "ann"}) == {"name": "ann", "size": 3}


def test_without_a_schema_there_are_no_parameters() -> None:
    assert check_arguments(check_schema(None), None) == {}
    with pytest.raises(InvalidInputError):
        check_arguments(check_schema(None), {"a": 1})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"name": ""},
        {"name": "longer"},
        {"name": 1},
        {"name": None},
        {"name": "a", "size": 0},
        {"name": "a", "size": 10},
        {"name": "a", "size": True},
        {"name": "a", "size": 1.5},
        {"name": "a", "share": "1"},
        {"name": "a", "loud": 1},
        {"name": "a", "kind": "c"},
        {"name": "a", "tags": "x"},
        {"name": "a", "tags": [1]},
        {"name": "a", "tags": ["x", "y", "z"]},
        {"name": "a", "where": {}},
        {"name": "a", "where": {"x": "1"}},
        {"name": "a", "where": {"x": 1, "y": 2}},
        {"name": "a", "other": 1},
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        check_arguments(check_schema(SCHEMA), arguments)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"properties": []},
        {"properties": {"a": 1}},
        {"properties": {"a": {}}},
        {"properties": {"a": {"type": "any"}}},
        {"properties": {"a": {"type": ["string"]}}},
        {"properties": {"a": {"type": "string", "pattern": "(a+)+$"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a b": {"type": "string"}}},
        {"properties": {"__class__!": {"type": "string"}}},
        {"properties": {"a": {"type": "string", "default": 1}}},
        {"properties": {"a": {"type": "string", "enum": []}}},
        {"properties": {"a": {"type": "string", "maxLength": "5"}}},
        {"required": ["a"]},
        {"properties": {f"p{at}": {"type": "string"} for at in range(51)}},
    ],
)
def test_a_schema_that_says_more_than_is_checked_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        check_schema(schema)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "required", "items", "default", "enum"]), _JSON))
def test_any_object_is_a_schema_or_refused(schema: dict[str, Any]) -> None:
    try:
        checked = check_schema(schema)
    except InvalidInputError:
        return
    assert check_schema(checked) == checked
