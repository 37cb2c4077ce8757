"""A wrapped function is the function, and its calls are noted."""

import asyncio
import concurrent.futures
import functools
import inspect
import traceback
import typing
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any, cast

import pytest

from lamina.learning.engine import LearningEngine
from lamina.learning.proxy import name_of, wrap
from lamina.learning.wrapper import Watch
from tests.learning.notebook import Notebook

pytestmark = pytest.mark.anyio


@pytest.fixture
def book() -> Notebook:
    return Notebook()


def watched(tool: Any, book: Notebook) -> Any:
    watch = Watch(cast(LearningEngine, book), tool=name_of(tool), tenant="t", session=lambda: "s")
    return wrap(tool, watch)


def divide(a: int, b: int = 1, /, *, scale: float = 1.0) -> float:
    """Divide a by b."""
    return a / b * scale


async def fetch(url: str, timeout: float = 1.0) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    if url == "bad":
        raise ValueError("no such page")
    return url.upper()


def count(upto: int) -> Iterator[int]:
    """Count."""
    for number in range(upto):
        received = yield number
        if received == "fail":
            raise ValueError("told to fail")


async def stream(upto: int) -> AsyncIterator[int]:
    """Stream."""
    for number in range(upto):
        yield number
    if upto == 13:
        raise ValueError("unlucky")


@pytest.mark.requirement("knowledge.learning.transparent")
@pytest.mark.parametrize("tool", [divide, fetch, count, stream])
def test_name_signature_documentation_and_kind_stay(tool: Callable[..., Any], book: Notebook) -> None:
    wrapped = watched(tool, book)
    assert inspect.signature(wrapped) == inspect.signature(tool)
    assert typing.get_type_hints(wrapped) == typing.get_type_hints(tool)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(wrapped, attribute) == getattr(tool, attribute)
    for kind in (inspect.isfunction, inspect.iscoroutinefunction, inspect.isgeneratorfunction):
        assert kind(wrapped) == kind(tool)
    assert inspect.isasyncgenfunction(wrapped) == inspect.isasyncgenfunction(tool)
    assert asyncio.iscoroutinefunction(wrapped) == asyncio.iscoroutinefunction(tool)


@pytest.mark.requirement("knowledge.learning.transparent")
async def test_results_stay_the_very_same_objects(book: Notebook) -> None:
    result = object()

    async def later() -> object:
        return result

    assert watched(lambda: result, book)() is result
    assert await watched(later, book)() is result
    assert [status for _, status, _ in book.seen] == ["success", "success"]


@pytest.mark.requirement("knowledge.learning.transparent")
async def test_exceptions_stay_the_very_same_objects_with_cause_notes_and_traceback(book: Notebook) -> None:
    error = ValueError("bad port 80")
    error.add_note("look at the port")
    cause = KeyError("x")

    def plain() -> None:
        raise error from cause

    async def later() -> None:
        raise error from cause

    async def run(call: Callable[[], Any]) -> None:
        if inspect.isawaitable(outcome := call()):
            await outcome

    for call in (watched(plain, book), watched(later, book)):
        error.__traceback__ = None
        with pytest.raises(ValueError, match="bad port") as caught:
            await run(call)
        assert caught.value is error
        assert error.__cause__ is cause
        assert error.__context__ is cause or error.__context__ is None
        assert error.__notes__ == ["look at the port"]
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert frames[-1] == call.__name__
        assert len(frames) == 4, "this test, run, the wrapper once, the tool"
    assert [error for _, _, error in book.seen] == ["ValueError: bad port 80"] * 2


def test_parameters_are_noted_by_name_and_in_outline(book: Notebook) -> None:
    def tool(path: str, /, items: list[int], *rest: object, **options: object) -> None: ...

    watched(tool, book)("a" * 5000, [1, 2, 3], b"xyz", object(), mode="fast", deep={"a": {"b": {"c": 1}}})
    (noted,) = book.calls
    assert noted.parameters == {
        "path": "a" * 2000,
        "items": "[3 items]",
        "*": "[2 items]",
        "mode": "fast",
        "deep": {"a": {"b": "[1 items]"}},
    }


async def test_cancellation_is_not_learned_from(book: Notebook) -> None:
    started = asyncio.Event()

    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(watched(wait, book)())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert book.seen == [("wait", "cancelled", None)]


@pytest.mark.parametrize(
    "interruption",
    [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, concurrent.futures.CancelledError],
)
def test_an_interruption_is_not_learned_from(interruption: type[BaseException], book: Notebook) -> None:
    raised = interruption()

    def tool() -> None:
        raise raised

    with pytest.raises(interruption) as caught:
        watched(tool, book)()
    assert caught.value is raised
    assert book.seen == [("tool", "cancelled", None)]


def test_a_generator_gives_takes_returns_and_closes_as_before(book: Notebook) -> None:
    def tool() -> Generator[Any, Any, str]:
        got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "the end"

    running = watched(tool, book)()
    assert next(running) == 1
    assert running.send("sent") == "sent"
    assert running.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as ended:
        next(running)
    assert ended.value.value == "the end"
    left = watched(tool, book)()
    next(left)
    left.close()
    failing = watched(count, book)(3)
    next(failing)
    with pytest.raises(ValueError, match="told to fail"):
        failing.send("fail")
    assert [status for _, status, _ in book.seen] == ["success", "cancelled", "error"]


async def test_an_async_generator_gives_takes_and_closes_as_before(book: Notebook) -> None:
    closed: list[str] = []

    async def tool() -> AsyncIterator[Any]:
        try:
            got = yield 1
            try:
                yield got
            except KeyError:
                yield "caught"
        finally:
            closed.append("closed")

    running = watched(tool, book)()
    assert await anext(running) == 1
    assert await running.asend("sent") == "sent"
    assert await running.athrow(KeyError()) == "caught"
    assert [item async for item in running] == []
    left = watched(tool, book)()
    await anext(left)
    await left.aclose()
    assert closed == ["closed", "closed"]
    assert [item async for item in watched(stream, book)(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="unlucky"):
        [item async for item in watched(stream, book)(13)]
    assert [status for _, status, _ in book.seen] == ["success", "cancelled", "success", "error"]


async def test_an_async_function_behind_a_lambda_is_noted_when_it_ends(book: Notebook) -> None:
    tool = watched(lambda url: fetch(url), book)
    pending = tool("bad")
    assert inspect.iscoroutine(pending)
    assert book.calls == []
    with pytest.raises(ValueError, match="no such page"):
        await pending
    assert await tool("good") == "GOOD"
    assert [status for _, status, _ in book.seen] == ["error", "success"]


def test_a_decorated_method_static_method_and_class_method_bind_as_before(book: Notebook) -> None:
    def watch(tool: Any) -> Any:
        return watched(tool, book)

    class Box:
        factor = 3

        @watch
        def times(self, number: int) -> int:
            return self.factor * number

        @watch
        @staticmethod
        def twice(number: int) -> int:
            return 2 * number

        @watch
        @classmethod
        def thrice(cls, number: int) -> int:
            return cls.factor * number

    assert (Box().times(2), Box.twice(2), Box().twice(2), Box.thrice(2)) == (6, 4, 4, 6)
    assert str(inspect.signature(Box().times)) == "(number: int) -> int"
    assert str(inspect.signature(Box.thrice)) == "(number: int) -> int"
    assert [tool for tool, _, _ in book.seen] == ["times", "twice", "twice", "thrice"]


@pytest.mark.requirement("knowledge.learning.engine-failure")
async def test_an_engine_that_fails_changes_nothing_and_is_counted() -> None:
    book = Notebook(broken=True)
    assert watched(divide, book)(6, 3) == 2
    assert await watched(fetch, book)("a") == "A"
    error = ValueError("mine")

    def tool() -> None:
        raise error

    with pytest.raises(ValueError, match="mine") as caught:
        watched(tool, book)()
    assert caught.value is error
    assert error.__context__ is None
    assert error.__cause__ is None
    assert len(book.failures) == 3


def test_an_error_whose_text_cannot_be_read_passes(book: Notebook) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    odd = OddError()

    def tool() -> None:
        raise odd

    with pytest.raises(OddError) as caught:
        watched(tool, book)()
    assert caught.value is odd
    assert book.seen == [("tool", "error", "OddError")]


def test_a_session_that_cannot_be_told_does_not_break_the_tool(book: Notebook) -> None:
    def broken() -> str:
        raise LookupError("no session here")

    watch = Watch(cast(LearningEngine, book), tool="divide", tenant="t", session=broken)
    assert wrap(divide, watch)(4, 2) == 2
    assert [str(error) for error in book.failures] == ["no session here"]


def test_wrong_arguments_fail_as_before_and_are_an_error_of_the_call(book: Notebook) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        watched(divide, book)()
    assert book.seen[0][1] == "error"


def test_a_deep_recursion_in_the_tool_is_its_own_error(book: Notebook) -> None:
    def tool() -> None:
        tool()

    with pytest.raises(RecursionError):
        watched(tool, book)()
    assert book.seen[-1][:2] == ("tool", "error")


def test_partials_of_partials_keep_their_name(book: Notebook) -> None:
    tool = functools.partial(functools.partial(divide, 6), scale=2.0)
    assert name_of(tool) == "divide"
    assert watched(tool, book)(3) == 4
