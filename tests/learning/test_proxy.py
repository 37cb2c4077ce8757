"""A wrapped object stands in for the tool in every way that is looked at, and its runs are noted."""

import asyncio
import copy
import functools
import inspect
import operator
import pickle
from dataclasses import dataclass, field
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel, ConfigDict

from lamina.errors import InvalidInputError
from lamina.learning.engine import LearningEngine
from lamina.learning.proxy import name_of, wrap
from lamina.learning.wrapper import Watch
from tests.learning.notebook import Notebook

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("knowledge.learning.transparent")]


@pytest.fixture
def book() -> Notebook:
    return Notebook()


def watched(tool: Any, book: Notebook) -> Any:
    watch = Watch(cast(LearningEngine, book), tool=name_of(tool), tenant="t", session=lambda: "s")
    return wrap(tool, watch)


class Tool:
    """A tool with a schema, as frameworks have them."""

    def __init__(self, name: str = "search") -> None:
        self.name = name
        self.description = "Searches the web"
        self.parameters = {"type": "object", "properties": {"query": {"type": "string"}}}

    def run(self, query: str, *, limit: int = 3) -> list[str]:
        """Run the search."""
        return self.execute(query) * limit

    def execute(self, query: str) -> list[str]:
        if not query:
            raise ValueError("the query is empty")
        return [query]

    async def run_async(self, *, args: dict[str, Any], tool_context: object) -> Any:
        await asyncio.sleep(0)
        return self.run(**args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tool) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


class Model(BaseModel):
    """A tool that is a pydantic model and refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "modelled"
    description: str = "A modelled tool"

    def invoke(self, number: int) -> int:
        return 10 // number


@dataclass(frozen=True)
class Data:
    """A tool whose handler is a field."""

    name: str
    handler: Any = field(repr=False)


def test_schema_and_attributes_are_the_tools_own(book: Notebook) -> None:
    tool = Tool()
    wrapped = watched(tool, book)
    assert (wrapped.name, wrapped.description) == ("search", "Searches the web")
    assert wrapped.parameters is tool.parameters
    assert wrapped.__doc__ == Tool.__doc__
    assert isinstance(wrapped, Tool)
    assert wrapped.__class__ is Tool
    assert wrapped == tool
    assert tool == wrapped
    assert wrapped == watched(Tool(), book)
    assert hash(wrapped) == hash(tool)
    assert repr(wrapped) == "Tool('search')"
    assert dir(wrapped) == dir(tool)
    assert vars(wrapped) is vars(tool)
    assert not callable(wrapped)
    wrapped.description = "changed"
    assert tool.description == "changed"
    del wrapped.description
    assert not hasattr(tool, "description")


def test_methods_keep_signature_documentation_and_binding(book: Notebook) -> None:
    tool = Tool()
    wrapped = watched(tool, book)
    for name in ("run", "run_async", "execute"):
        before, after = getattr(tool, name), getattr(wrapped, name)
        assert inspect.signature(after) == inspect.signature(before)
        assert after.__doc__ == before.__doc__
        assert after.__name__ == name
        assert inspect.iscoroutinefunction(after) == inspect.iscoroutinefunction(before)
        assert inspect.ismethod(after)
        assert after.__self__ is tool


async def test_one_run_is_one_note_with_the_tools_name(book: Notebook) -> None:
    wrapped = watched(Tool(), book)
    assert wrapped.run("x", limit=2) == ["x", "x"]
    assert await wrapped.run_async(args={"query": "y"}, tool_context=object()) == ["y", "y", "y"]
    with pytest.raises(ValueError, match="the query is empty"):
        wrapped.run("")
    assert book.seen == [
        ("search", "success", None),
        ("search", "success", None),
        ("search", "error", "ValueError: the query is empty"),
    ]
    assert book.calls[0].parameters == {"query": "x", "limit": 2}


def test_a_pydantic_tool_stays_valid_and_serialises_as_before(book: Notebook) -> None:
    tool = Model()
    wrapped = watched(tool, book)
    assert wrapped.invoke(3) == 3
    with pytest.raises(ZeroDivisionError):
        wrapped.invoke(0)
    assert wrapped.model_dump() == {"name": "modelled", "description": "A modelled tool"}
    assert wrapped.model_json_schema() == tool.model_json_schema()
    assert isinstance(wrapped, BaseModel)
    assert wrapped == tool

    class Agent(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        tools: list[Model]
        plain: Tool

    agent = Agent(tools=[wrapped], plain=watched(Tool(), book))
    agent.plain.run("z")
    assert [status for _, status, _ in book.seen] == ["success", "error", "success"]


def test_a_handler_that_is_a_field_is_noted(book: Notebook) -> None:
    def handler(number: int) -> float:
        return 1 / number

    wrapped = watched(Data(name="invert", handler=handler), book)
    assert wrapped.handler(2) == 0.5
    assert inspect.signature(wrapped.handler) == inspect.signature(handler)
    with pytest.raises(ZeroDivisionError):
        wrapped.handler(0)
    assert [(tool, status) for tool, status, _ in book.seen] == [("invert", "success"), ("invert", "error")]


def test_a_method_that_is_replaced_later_is_the_one_that_runs(book: Notebook) -> None:
    wrapped = watched(Tool(), book)
    assert wrapped.execute("a") == ["a"]
    wrapped.execute = lambda query: "replaced"
    assert wrapped.execute("a") == "replaced"
    assert len(book.calls) == 2


class Caller:
    """An object that is called."""

    def __call__(self, number: int, power: int = 2) -> float:
        """Raise to a power."""
        return float(number) ** power


class AsyncCaller:
    async def __call__(self, number: int) -> int:
        await asyncio.sleep(0)
        return 10 // number


async def test_callable_objects_are_called_and_noted(book: Notebook) -> None:
    wrapped = watched(Caller(), book)
    assert callable(wrapped)
    assert wrapped(3) == 9
    assert inspect.signature(wrapped) == inspect.signature(Caller())
    assert isinstance(wrapped, Caller)
    later = watched(AsyncCaller(), book)
    assert await later(5) == 2
    assert inspect.iscoroutinefunction(later.__call__)
    with pytest.raises(ZeroDivisionError):
        await later(0)
    assert [(tool, status) for tool, status, _ in book.seen] == [
        ("Caller", "success"),
        ("AsyncCaller", "success"),
        ("AsyncCaller", "error"),
    ]


async def test_partials_methods_and_builtins_are_called_and_noted(book: Notebook) -> None:
    tool = Tool()
    pieces: list[tuple[Any, tuple[Any, ...], Any]] = [
        (functools.partial(tool.run, limit=1), ("p",), ["p"]),
        (tool.run, ("m",), ["m", "m", "m"]),
        (len, ([1, 2],), 2),
        (operator.itemgetter(1), ("ab",), "b"),
    ]
    for piece, arguments, result in pieces:
        wrapped = watched(piece, book)
        assert wrapped(*arguments) == result
        assert type(wrapped) is not type(piece)
        assert isinstance(wrapped, type(piece))
    assert inspect.signature(watched(pieces[0][0], book)) == inspect.signature(pieces[0][0])
    assert inspect.signature(watched(tool.run, book)) == inspect.signature(tool.run)
    assert inspect.signature(watched(len, book)) == inspect.signature(len)
    assert [name for name, _, _ in book.seen] == ["run", "run", "len", "itemgetter"]


async def test_a_partial_of_an_async_function_stays_async(book: Notebook) -> None:
    async def fetch(url: str, tries: int) -> str:
        if tries < 0:
            raise ValueError("no tries")
        return url * tries

    wrapped = watched(functools.partial(fetch, tries=2), book)
    assert inspect.iscoroutinefunction(wrapped)
    assert await wrapped("x") == "xx"
    with pytest.raises(ValueError, match="no tries"):
        await watched(functools.partial(fetch, tries=-1), book)("x")
    assert [status for _, status, _ in book.seen] == ["success", "error"]


def test_a_class_of_tools_makes_wrapped_tools(book: Notebook) -> None:
    wrapped = watched(Tool, book)
    made = wrapped("named")
    assert isinstance(made, Tool)
    assert isinstance(made, wrapped)
    assert made.run("x", limit=1) == ["x"]
    assert wrapped.__name__ == "Tool"
    assert inspect.signature(wrapped) == inspect.signature(Tool)
    assert inspect.isclass(wrapped)

    class Special(wrapped):  # type: ignore[misc, valid-type]
        pass

    assert issubclass(Special, Tool)
    assert book.seen == [("named", "success", None)]


def test_copies_are_watched_and_pickles_are_the_tool_itself(book: Notebook) -> None:
    wrapped = watched(Tool(), book)
    for other in (copy.copy(wrapped), copy.deepcopy(wrapped)):
        assert other == wrapped
        other.run("x", limit=1)
    assert len(book.calls) == 2
    assert type(pickle.loads(pickle.dumps(wrapped))) is Tool


@pytest.mark.parametrize("tool", [3, "text", None, {"name": "x"}, object(), int, dict])
def test_what_cannot_be_run_is_refused(tool: object, book: Notebook) -> None:
    with pytest.raises(InvalidInputError, match="cannot be wrapped"):
        watched(tool, book)


def test_the_name_is_the_tools_own(book: Notebook) -> None:
    assert name_of(Tool("x")) == "x"
    assert name_of(Tool("  ")) == "Tool"
    assert name_of(Caller()) == "Caller"
    assert name_of(Tool().run) == "run"
    assert name_of(functools.partial(Tool().run)) == "run"
    assert name_of(Model) == "Model"


def test_an_object_that_has_every_attribute_is_named_after_its_kind(book: Notebook) -> None:
    mock = MagicMock(return_value=4)
    assert name_of(mock) == "MagicMock"
    assert watched(mock, book)(1) == 4
    assert name_of(functools.partial(functools.partial(operator.add, 1))) == "add"
