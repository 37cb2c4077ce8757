"""A filter as a SQL condition that agrees with `filter.matches` on both engines.

Everything a caller wrote travels as a bound parameter: field names are compared with keys as plain text and
are never part of SQL or of a JSON path. (SQLite's paths and its `->` operator interpret quotes, dots and
brackets in a key, and PostgreSQL's `#>` would index lists, so neither is used.)

On SQLite the columns are TEXT holding JSON, on PostgreSQL JSONB. The filter's numbers are read by the same
JSON parser as the stored ones, so both are rounded alike.
"""

import json
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Numeric,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, array
from sqlalchemy.sql.selectable import TableValuedAlias

from lamina.memory.filter import Condition, Filter

Dialect = Literal["sqlite", "postgresql"]
Clause = ColumnElement[bool]

_RANGES: dict[str, Callable[[Any, Any], Any]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_NUMBER = ("integer", "real")
_TYPE_OF_CONSTANT = {None: "null", True: "true", False: "false"}


def filter_clause(
    filter: Filter, *, tags: ColumnElement[Any], metadata: ColumnElement[Any], dialect: Dialect
) -> Clause | None:
    """The condition for a WHERE, true or false but never NULL; None when the filter restricts nothing."""
    of_tags, of_metadata = (_sqlite_tags, _sqlite) if dialect == "sqlite" else (_postgres_tags, _postgres)
    clauses = [of_metadata(metadata, condition) for condition in filter.conditions]
    if filter.tags:
        clauses.insert(0, of_tags(tags, filter.tags))
    return and_(*clauses) if clauses else None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# SQLite


def _sqlite_tags(column: ColumnElement[Any], tags: Sequence[str]) -> Clause:
    row = _rows(type_coerce(column, Text))
    return exists(select(1).select_from(row).where(row.c.type == "text", row.c.value.in_(_values(tags))))


def _sqlite(column: ColumnElement[Any], condition: Condition) -> Clause:
    negated = condition.operator == "ne" or (condition.operator == "exists" and condition.value is False)
    found = _sqlite_found(type_coerce(column, Text), condition)
    return not_(found) if negated else found


def _sqlite_found(column: ColumnElement[Any], condition: Condition) -> Clause:
    """Walk one `json_each` a key; the type is checked lest a string that looks like JSON be entered."""
    document = column
    rows: list[TableValuedAlias] = []
    for key in condition.path:
        row = _rows(document)
        rows.append(row)
        document = case((and_(row.c.key == key, row.c.type == "object"), row.c.value), else_="{}")
    keys = [row.c.key == key for row, key in zip(rows, condition.path, strict=True)]
    return exists(select(1).select_from(*rows).where(*keys, *_sqlite_tests(rows[-1], condition)))


def _sqlite_tests(row: TableValuedAlias, condition: Condition) -> list[Clause]:
    value = condition.value
    match condition.operator:
        case "exists":
            return []
        case "eq" | "ne" if isinstance(value, tuple):
            return [row.c.type == "array", _same_list(row, value)]
        case "eq" | "ne":
            return [_one_of(row, (value,))]
        case "in" if isinstance(value, tuple):
            return [_one_of(row, value)]
        case "contains":
            inner = _rows(case((row.c.type == "array", row.c.value), else_="[]"))
            member = exists(select(1).select_from(inner).where(_one_of(inner, (value,))))
            if not isinstance(value, str):
                return [member]
            return [or_(and_(row.c.type == "text", func.instr(row.c.value, value) > 0), member)]
        case _:
            types = _NUMBER if _is_number(value) else ("text",)
            wanted = func.json_extract(_json(value), "$")
            return [row.c.type.in_(types), _RANGES[condition.operator](row.c.value, wanted)]


def _rows(document: ColumnElement[Any]) -> TableValuedAlias:
    return func.json_each(document).table_valued("key", "value", "type", joins_implicitly=True)


def _values(values: Sequence[object]) -> Any:
    row = _rows(literal(_json(values), Text))
    return select(row.c.value)


def _one_of(row: TableValuedAlias, values: Sequence[object]) -> Clause:
    """The row's scalar equals one of the values, type included."""
    strings = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if _is_number(value)]
    types = sorted({_TYPE_OF_CONSTANT[value] for value in values if value is None or isinstance(value, bool)})
    clauses: list[Clause] = []
    if strings:
        clauses.append(and_(row.c.type == "text", row.c.value.in_(_values(strings))))
    if numbers:
        clauses.append(and_(row.c.type.in_(_NUMBER), row.c.value.in_(_values(numbers))))
    if types:
        clauses.append(row.c.type.in_(types))
    return or_(false(), *clauses)


def _same_list(row: TableValuedAlias, wanted: Sequence[object]) -> Clause:
    """Both lists have the same nodes at the same places. Lists alone give unambiguous places: `$[0][1]`."""
    columns = ("fullkey", "type", "atom")
    stored = func.json_tree(case((row.c.type == "array", row.c.value), else_="[]")).table_valued(*columns)
    asked = func.json_tree(literal(_json(wanted), Text)).table_valued(*columns)
    numeric = and_(stored.c.type.in_(_NUMBER), asked.c.type.in_(_NUMBER))
    partner = exists(
        select(1)
        .select_from(asked)
        .where(
            asked.c.fullkey == stored.c.fullkey,
            or_(asked.c.type == stored.c.type, numeric),
            asked.c.atom.is_not_distinct_from(stored.c.atom),
        )
    )
    total = func.coalesce(select(func.count()).select_from(stored).scalar_subquery(), 0)
    unmatched = exists(select(1).select_from(stored).where(not_(partner)))
    return and_(total == _nodes(wanted), not_(unmatched))


def _nodes(value: object) -> int:
    return 1 + sum(map(_nodes, value)) if isinstance(value, tuple) else 1


# PostgreSQL


def _postgres_tags(column: ColumnElement[Any], tags: Sequence[str]) -> Clause:
    wanted = cast(array([literal(tag, Text) for tag in tags]), ARRAY(Text))
    return func.coalesce(type_coerce(column, JSONB).op("?|", is_comparison=True)(wanted), false())


def _postgres(column: ColumnElement[Any], condition: Condition) -> Clause:
    found: ColumnElement[Any] = type_coerce(column, JSONB)
    for key in condition.path:
        found = found.op("->", return_type=JSONB())(cast(literal(key, Text), Text))
    value = condition.value
    match condition.operator:
        case "exists":
            return found.is_not(None) if value is True else found.is_(None)
        case "eq":
            return func.coalesce(found == _jsonb(value), false())
        case "ne":
            return found.is_distinct_from(_jsonb(value))
        case "in" if isinstance(value, tuple):
            return func.coalesce(found.in_(select(func.jsonb_array_elements(_jsonb(value)))), false())
        case "contains":
            return _postgres_contains(found, value)
        case _:
            compare = _RANGES[condition.operator]
            if isinstance(value, str):
                return _when(found, "string", compare(_text(found), value))
            return _when(found, "number", compare(cast(found, Numeric), cast(literal(_json(value), Text), Numeric)))


def _postgres_contains(found: ColumnElement[Any], value: object) -> Clause:
    member = found.op("@>", is_comparison=True)(_jsonb([value]))
    kind = func.jsonb_typeof(found)
    whens: list[tuple[Any, Any]] = [(kind == "array", member)]
    if isinstance(value, str):
        whens.append((kind == "string", func.strpos(_text(found), value) > 0))
    return case(*whens, else_=false())


def _jsonb(value: object) -> ColumnElement[Any]:
    return cast(literal(_json(value), Text), JSONB)


def _text(scalar: ColumnElement[Any]) -> ColumnElement[str]:
    """The string inside a JSON string; compared by code point, whatever the database's collation."""
    return scalar.op("#>>", return_type=Text())(literal_column("'{}'")).collate("C")


def _when(found: ColumnElement[Any], kind: str, clause: Clause) -> Clause:
    """CASE, because only it promises that a cast is not tried on a value of another type."""
    return case((func.jsonb_typeof(found) == kind, clause), else_=false())
