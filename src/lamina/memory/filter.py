"""Filters on tags and metadata, parsed once.

`matches` evaluates a filter in Python, `filter_sql` inside a query. The rules are the same for both:

- A field is a dotted path: `"build.os"` is the key `os` inside the object `build`. Paths go through objects
  only, never into lists. A key that itself contains a dot, or is empty, cannot be named by a path.
- Types are never converted: `"1"`, `1` and `True` are three values. `1` and `1.0` are the same number.
- `eq` compares deeply; `eq` with null matches a null that is present. `ne` is exactly "not `eq`", so it also
  matches an entry without the field. `in` is `eq` with one of several scalars.
- `contains` with a string is a case-sensitive substring of a string; with any scalar, membership in a list.
- `gt gte lt lte` compare numbers with numbers and strings with strings, by code point. Anything else, and a
  missing field, does not match.
- `exists` asks whether the key is there; a null counts as there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeGuard, get_args

from lamina.errors import InvalidFilterError
from lamina.memory.validate import MAX_INTEGER, is_storable

Operator = Literal["eq", "ne", "in", "contains", "gt", "gte", "lt", "lte", "exists"]
Scalar = None | bool | int | float | str

OPERATORS: tuple[str, ...] = get_args(Operator)
MAX_CONDITIONS = 64
MAX_PATH = 16
MAX_VALUES = 1000
"""Tags, values of an `in`, and scalars in a list to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison on a metadata field; `path` is the dotted field, split.

    `value` is a scalar, or a tuple of them: for `in` the candidates, for `eq` and `ne` a list, maybe nested.
    """

    path: tuple[str, ...]
    operator: Operator
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Tags are ORed; conditions are ANDed with each other and with the tags. Empty matches everything."""

    tags: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


def parse_filter(
    *, tags: Sequence[str] | None, where: Mapping[str, object] | None, operation: str | None = None
) -> Filter:
    """Check and normalise what a caller passed; raises InvalidFilterError.

    None and empty mean no restriction. A value that is not an object is compared for equality; an object
    holds operators, all of which must hold.
    """
    return _Parser(operation).parse(tags, where)


class _Parser:
    """Carries the operation's name into every error."""

    def __init__(self, operation: str | None) -> None:
        self._operation = operation

    def parse(self, tags: object, where: object) -> Filter:
        if where is not None and not isinstance(where, Mapping):
            self._refuse("`where` must be an object of fields.", type=type(where).__name__)
        conditions = [
            self._condition(field, operator, value)
            for field, spec in (where or {}).items()
            for operator, value in self._operators(field, spec)
        ]
        if len(conditions) > MAX_CONDITIONS:
            self._refuse(
                f"A filter has at most {MAX_CONDITIONS} conditions.",
                count=len(conditions),
                maximum=MAX_CONDITIONS,
            )
        return Filter(tags=self._tags(tags), conditions=tuple(conditions))

    def _tags(self, tags: object) -> tuple[str, ...]:
        if tags is None:
            return ()
        if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) and tag for tag in tags):
            self._refuse("`tags` must be a list of non-empty strings.", field="tags")
        if len(tags) > MAX_VALUES:
            self._refuse(f"At most {MAX_VALUES} tags.", field="tags", maximum=MAX_VALUES)
        for tag in tags:
            self._storable("tags", tag)
        return tuple(dict.fromkeys(tags))

    def _operators(self, field: object, spec: object) -> list[tuple[object, object]]:
        if not isinstance(spec, Mapping):
            return [("eq", spec)]
        if not spec:
            self._refuse(f"The field {_shown(field)} has no operator.", field=_shown(field), operators=list(OPERATORS))
        return list(spec.items())

    def _condition(self, field: object, operator: object, value: object) -> Condition:
        path = self._path(field)
        if not _is_operator(operator):
            self._refuse(
                f"There is no operator {_shown(operator)}; use one of {', '.join(OPERATORS)}.",
                field=field,
                operator=_shown(operator),
                operators=list(OPERATORS),
            )
        return Condition(path=path, operator=operator, value=self._value(str(field), operator, value))

    def _path(self, field: object) -> tuple[str, ...]:
        if not isinstance(field, str):
            self._refuse("A field must be a string.", type=type(field).__name__)
        self._storable(None, field)
        path = tuple(field.split("."))
        if not all(path):
            self._refuse(f"The field {_shown(field)} has an empty part.", field=_shown(field))
        if len(path) > MAX_PATH:
            self._refuse(f"A path has at most {MAX_PATH} parts.", field=_shown(field), maximum=MAX_PATH)
        return path

    def _value(self, field: str, operator: Operator, value: object) -> object:
        if operator == "exists":
            if not isinstance(value, bool):
                self._refuse("`exists` needs true or false.", field=field, operator=operator)
            return value
        if operator == "in":
            if not isinstance(value, list | tuple):
                self._refuse("`in` needs a list.", field=field, operator=operator)
            self._count(field, len(value))
            return tuple(self._scalar(field, operator, item) for item in value)
        if operator in ("eq", "ne") and isinstance(value, list | tuple):
            self._count(field, _size(value, 0))
            return self._list(field, operator, value)
        scalar = self._scalar(field, operator, value)
        if operator in ("gt", "gte", "lt", "lte") and (scalar is None or isinstance(scalar, bool)):
            self._refuse(f"`{operator}` needs a number or a string.", field=field, operator=operator)
        return scalar

    def _list(self, field: str, operator: Operator, value: Sequence[object]) -> tuple[object, ...]:
        return tuple(
            self._list(field, operator, item) if isinstance(item, list | tuple) else self._scalar(field, operator, item)
            for item in value
        )

    def _scalar(self, field: str, operator: Operator, value: object) -> Scalar:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._storable(field, value)
            return str.__str__(value)
        if isinstance(value, int):
            if abs(value) > MAX_INTEGER:
                self._refuse("Integers must lie within ±2^53.", field=field, operator=operator)
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                self._refuse("Numbers must be finite.", field=field, operator=operator)
            return float(value)
        return self._refuse(
            f"`{operator}` on {_shown(field)} cannot take a value of type {type(value).__name__}; "
            "compare the parts of an object by dotted fields.",
            field=field,
            operator=operator,
            type=type(value).__name__,
        )

    def _count(self, field: str, count: int) -> None:
        if count > MAX_VALUES:
            self._refuse(f"A list in a filter has at most {MAX_VALUES} values.", field=field, maximum=MAX_VALUES)

    def _storable(self, field: str | None, text: str) -> None:
        if not is_storable(text):
            self._refuse("Text in a filter must be free of NUL and lone surrogates.", field=field)

    def _refuse(self, message: str, **details: object) -> NoReturn:
        raise InvalidFilterError(message, operation=self._operation, details=details)


def matches(filter: Filter, *, tags: Sequence[str], metadata: Mapping[str, object]) -> bool:
    """Whether an entry with these tags and this metadata passes the filter."""
    if filter.tags and not any(tag in filter.tags for tag in tags):
        return False
    return all(_holds(condition, metadata) for condition in filter.conditions)


_MISSING = object()


def _holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    found: object = metadata
    for key in condition.path:
        found = found.get(key, _MISSING) if isinstance(found, Mapping) else _MISSING
    wanted = condition.value
    match condition.operator:
        case "exists":
            return (found is not _MISSING) == wanted
        case "eq":
            return same(found, wanted)
        case "ne":
            return not same(found, wanted)
        case "in":
            return any(same(found, item) for item in _items(wanted))
        case "contains":
            if isinstance(found, str):
                return isinstance(wanted, str) and wanted in found
            return any(same(item, wanted) for item in _items(found))
        case operator:
            return _in_range(operator, found, wanted)


def same(found: object, wanted: object) -> bool:
    """Deep equality of JSON values, in which a boolean is no number and a list equals a tuple."""
    if isinstance(found, list | tuple) and isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return _kind(found) == _kind(wanted) and _kind(found) != "other" and found == wanted


def _in_range(operator: str, found: object, wanted: object) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return _compare(operator, found > wanted, found < wanted)
    if _is_number(found) and _is_number(wanted):
        return _compare(operator, found > wanted, found < wanted)
    return False


def _compare(operator: str, above: bool, below: bool) -> bool:
    return {"gt": above, "gte": not below, "lt": below, "lte": not above}[operator]


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string" if isinstance(value, str) else "other"


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _is_number(value: object) -> TypeGuard[float]:
    return _kind(value) == "number"


def _is_operator(value: object) -> TypeGuard[Operator]:
    return isinstance(value, str) and value in OPERATORS


def _size(value: Sequence[object], depth: int) -> int:
    """How many scalars and lists are inside; a nesting beyond the deepest path counts as too many."""
    if depth > MAX_PATH:
        return MAX_VALUES + 1
    return sum(1 + _size(item, depth + 1) if isinstance(item, list | tuple) else 1 for item in value)


def _shown(value: object) -> str:
    """A short, printable form for messages: callers' text can be long or not encodable."""
    return ascii(value)[:80]
