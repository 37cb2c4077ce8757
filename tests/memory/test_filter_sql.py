import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Dialect,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    cast,
    create_engine,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from lamina.memory.filter import Condition, Filter, Operator, matches, parse_filter
from lamina.memory.filter_sql import filter_clause

NASTY = [
    "", "a", "b", "1", "0", "a.b", "a\"b", "a'b", "$", "$.a", "[0]", "%", "_", "\\", "a\\b", "é", "e\u0301",
    "😀", "ﬀ", "Z", "z", "null", "true", '{"a": 1}', "[1]", "--", "; DROP TABLE x", " ", "\n", "\x01",
    "\uffff", "#", "{}", "a b", "NOT", "*", ":v", "%(v)s", "?",
]  # fmt: skip
text = st.sampled_from(NASTY) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
numbers = (
    st.sampled_from([0, 1, -1, 2, 1.0, 0.0, -0.0, 0.1, 0.30000000000000004, 0.3, 1e22, 1e300, 5e-324, -1.5])
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
)
scalars: st.SearchStrategy[object] = st.none() | st.booleans() | numbers | text
keys = st.sampled_from(["a", "b", "0", "a.b", 'q"q', "é", "$", ""])
lists: st.SearchStrategy[object] = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
values: st.SearchStrategy[object] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | text, inner, max_size=3),
    max_leaves=6,
)
metadata: st.SearchStrategy[dict[str, object]] = st.dictionaries(keys | text, values, max_size=4)
paths = st.lists(keys | text, min_size=1, max_size=3).map(tuple)


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    made = create_engine(store_url)
    yield made
    made.dispose()


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, object], Condition]:
    """Metadata and a condition that often talks about a value that is really there."""
    stored = draw(metadata)
    path, found = draw(paths), draw(values)
    about_it: bool = draw(st.booleans())
    if stored and about_it:
        path, found = draw(st.sampled_from(list(_leaves(stored))))
    operator: Operator = draw(st.sampled_from(["eq", "ne", "in", "contains", "gt", "gte", "lt", "lte", "exists"]))
    return stored, Condition(path=path, operator=operator, value=draw(_value(operator, found)))


def _leaves(value: Mapping[str, object], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], object]]:
    here = [((*path, key), item) for key, item in value.items()]
    return here + [leaf for at, item in here if isinstance(item, dict) for leaf in _leaves(item, at)]


def _value(operator: str, found: object) -> st.SearchStrategy[object]:
    near: list[object] = [item for item in (found if isinstance(found, list) else [found]) if _scalar(item)]
    if isinstance(found, str):
        near += [found[:1], found[1:], found + "x", found.upper()]
    if isinstance(found, int | float):
        near += [int(found) if abs(found) < 2**53 else 0, float(found), str(found), bool(found)]
    nearby: st.SearchStrategy[object] = (st.sampled_from(near) | scalars) if near else scalars
    match operator:
        case "exists":
            return st.booleans()
        case "in":
            return st.lists(nearby, max_size=4).map(tuple)
        case "eq" | "ne":
            return (nearby | lists | st.just(found)).filter(_no_object).map(_frozen)
        case "contains":
            return nearby
        case _:
            return nearby.filter(lambda value: not isinstance(value, bool | None))


def _scalar(value: object) -> bool:
    return not isinstance(value, list | dict)


def _no_object(value: object) -> bool:
    return not isinstance(value, dict) and (not isinstance(value, list) or all(map(_no_object, value)))


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _asked(
    engine: Engine,
    filter: Filter,
    tags: Sequence[str],
    stored: Mapping[str, object],
    *,
    escaped: bool = False,
) -> bool:
    """The engine's own answer for one entry."""
    name: Literal["sqlite", "postgresql"] = "sqlite" if engine.dialect.name == "sqlite" else "postgresql"
    columns: list[ColumnElement[object]] = [
        literal(json.dumps(value, ensure_ascii=escaped), Text) for value in (list(tags), dict(stored))
    ]
    if name == "postgresql":
        columns = [cast(column, JSONB) for column in columns]
    entry = select(columns[0].label("tags"), columns[1].label("metadata")).subquery()
    clause = filter_clause(filter, tags=entry.c.tags, metadata=entry.c.metadata, dialect=name)
    assert clause is not None
    with engine.connect() as connection:
        value = connection.execute(select(clause).select_from(entry)).scalar_one()
    assert value in (True, False, 1, 0)
    return bool(value)


@pytest.mark.requirement("memory.filter.metadata")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(), escaped=st.booleans())
def test_a_condition_in_sql_equals_the_python_evaluator(
    engine: Engine, case: tuple[dict[str, object], Condition], escaped: bool
) -> None:
    stored, condition = case
    filter = Filter(conditions=(condition,))
    assert _asked(engine, filter, [], stored, escaped=escaped) == matches(filter, tags=[], metadata=stored)


@pytest.mark.requirement("memory.filter.tags")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.lists(text, min_size=1, max_size=3), tags=st.lists(text, max_size=4))
def test_tags_in_sql_equal_the_python_evaluator(engine: Engine, wanted: list[str], tags: list[str]) -> None:
    filter = Filter(tags=tuple(wanted))
    assert _asked(engine, filter, tags, {}) == matches(filter, tags=tags, metadata={})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(all_of=st.lists(cases(), min_size=2, max_size=5), tags=st.lists(text, max_size=2))
def test_several_conditions_and_tags_are_anded(
    engine: Engine, all_of: list[tuple[dict[str, object], Condition]], tags: list[str]
) -> None:
    stored = all_of[0][0]
    filter = Filter(tags=tuple(tags), conditions=tuple(condition for _, condition in all_of))
    assert _asked(engine, filter, tags[:1], stored) == matches(filter, tags=tags[:1], metadata=stored)


@pytest.mark.parametrize("value", [1, 1.0, True, "1", None, [1], [[1]], 0, False, "", []], ids=repr)
def test_values_that_look_alike_stay_apart(engine: Engine, value: object) -> None:
    filter = parse_filter(tags=None, where={"k": value})
    alike: list[object] = [1, 1.0, True, "1", None, [1], [1.0], [True], [[1]], 0, False, "", [], {}]
    for stored in alike:
        expected = matches(filter, tags=[], metadata={"k": stored})
        assert _asked(engine, filter, [], {"k": stored}) == expected, (value, stored)


def test_a_string_that_looks_like_json_is_never_entered(engine: Engine) -> None:
    inside = parse_filter(tags=None, where={"a.b": {"exists": True}})
    assert not _asked(engine, inside, [], {"a": '{"b": 1}'})
    assert not _asked(engine, inside, [], {"a": "{not json"})
    assert _asked(engine, inside, [], {"a": {"b": 1}})


def test_paths_do_not_index_lists(engine: Engine) -> None:
    assert not _asked(engine, parse_filter(tags=None, where={"a.0": 1}), [], {"a": [1]})
    assert _asked(engine, parse_filter(tags=None, where={"a.0": 1}), [], {"a": {"0": 1}})


def test_the_largest_filter_there_can_be_runs(engine: Engine) -> None:
    path = tuple("abcdefghijklmnop")
    nested: dict[str, object] = {path[-1]: 1}
    for key in reversed(path[:-1]):
        nested = {key: nested}
    where = {".".join(path): {"eq": 1, "gt": 0, "in": list(range(1000)), "exists": True}}
    one = parse_filter(tags=None, where=where)
    filter = Filter(tags=tuple(f"t{number}" for number in range(1000)), conditions=one.conditions * 16)
    assert _asked(engine, filter, ["t999"], nested)


def test_nothing_a_caller_wrote_becomes_sql() -> None:
    table = Table("entry", MetaData(), Column("tags", Text), Column("metadata", Text))
    marker = "zq'); --zq"
    tests: list[tuple[Operator, object]] = [
        ("eq", marker), ("ne", (marker,)), ("in", (marker,)), ("contains", marker),
        ("gt", marker), ("lte", marker), ("exists", True),
    ]  # fmt: skip
    conditions = (Condition(path=(marker, marker), operator=name, value=value) for name, value in tests)
    filter = Filter(tags=(marker,), conditions=tuple(conditions))
    dialects: list[tuple[Literal["sqlite", "postgresql"], Dialect]] = [
        ("sqlite", SQLiteDialect()),
        ("postgresql", PGDialect()),  # type: ignore[no-untyped-call]
    ]
    for name, dialect in dialects:
        clause = filter_clause(filter, tags=table.c.tags, metadata=table.c.metadata, dialect=name)
        assert clause is not None
        assert "zq" not in str(select(1).where(clause).compile(dialect=dialect))


def test_columns_of_a_json_type_work_like_text_columns(engine: Engine) -> None:
    kind = JSON().with_variant(JSONB(), "postgresql")
    columns = (Column("id", String), Column("tags", kind), Column("metadata", kind))
    table = Table("typed", MetaData(), *columns)
    filter = parse_filter(tags=["x"], where={"a": {"gte": 2}, "b": None, "c": [1, "é"]})
    name: Literal["sqlite", "postgresql"] = "sqlite" if engine.dialect.name == "sqlite" else "postgresql"
    clause = filter_clause(filter, tags=table.c.tags, metadata=table.c.metadata, dialect=name)
    assert clause is not None
    with engine.connect() as connection:
        table.create(connection)
        rows = [
            {"id": "in", "tags": ["x", "y"], "metadata": {"a": 2.5, "b": None, "c": [1, "é"]}},
            {"id": "out", "tags": ["z"], "metadata": {"a": 2.5, "b": None, "c": [1, "é"]}},
        ]
        connection.execute(table.insert(), rows)
        assert connection.execute(select(table.c.id).where(clause)).scalars().all() == ["in"]
        connection.rollback()


def test_an_empty_filter_is_no_clause() -> None:
    table = Table("entry", MetaData(), Column("tags", Text), Column("metadata", Text))
    assert filter_clause(Filter(), tags=table.c.tags, metadata=table.c.metadata, dialect="sqlite") is None
