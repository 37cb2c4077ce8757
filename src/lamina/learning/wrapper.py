"""Wraps a function so that every call of it is noted. Nothing else about it changes.

Results and exceptions pass through untouched, a function stays a function, an async one async, a generator a
generator. Errors are learned from; cancellation, an interrupt or a generator that was left are not errors.
"""

import concurrent.futures
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any

from lamina.learning.category import error_kinds
from lamina.learning.engine import LearningEngine
from lamina.learning.observation import Call, CallStatus, outline, tool_name
from lamina.learning.pattern import error_text

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Watch:
    """Notes the calls of one tool. None of its methods raises an Exception."""

    __slots__ = ("_engine", "_session", "tenant", "tool")

    def __init__(self, engine: LearningEngine, *, tool: str, tenant: str, session: Callable[[], str | None]) -> None:
        self._engine = engine
        self._session = session
        self.tool = tool_name(tool)
        self.tenant = tenant

    def belongs_to(self, engine: LearningEngine, tenant: str) -> bool:
        """Whether this engine is told already, for this tenant."""
        return self._engine is engine and self.tenant == tenant

    def named(self, tool: str) -> "Watch":
        """The same for another tool."""
        return Watch(self._engine, tool=tool, tenant=self.tenant, session=self._session)

    def begin(self) -> int:
        """Call before the tool is called."""
        return self._engine.step()

    def succeeded(self, began: int, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Call after the tool returned."""
        try:
            session = self._session()
            if self._engine.wants((self.tenant, session, self.tool)):
                self._note("success", began, session, outline(names, args, kwargs))
        except Exception as error:  # noqa: BLE001 -- isolation: an engine that fails never breaks the tool
            self._engine.broke(error, self.tool)

    def failed(
        self, began: int, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: BaseException
    ) -> None:
        """Call when the tool raised."""
        try:
            parameters = outline(names, args, kwargs)
            if isinstance(error, Exception) and not isinstance(error, concurrent.futures.CancelledError):
                self._note("error", began, self._session(), parameters, error_text(error), error_kinds(error))
            elif self._engine.wants((self.tenant, session := self._session(), self.tool)):
                self._note("cancelled", began, session, parameters)
        except Exception as failure:  # noqa: BLE001 -- isolation: an engine that fails never breaks the tool
            self._engine.broke(failure, self.tool)

    def _note(
        self,
        status: CallStatus,
        began: int,
        session: str | None,
        parameters: Mapping[str, object],
        error: str | None = None,
        kinds: tuple[str, ...] = (),
    ) -> None:
        engine = self._engine
        engine.note(Call(self.tenant, session, self.tool, began, engine.step(), status, parameters, error, kinds))


def watched(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """A function that does what `function` does, looks like it, and notes each call."""
    names = positional_names(function)
    if inspect.isasyncgenfunction(function):
        call = _watched_async_generator(function, watch, names)
    elif inspect.isgeneratorfunction(function):
        call = _watched_generator(function, watch, names)
    elif inspect.iscoroutinefunction(function):
        call = _watched_coroutine(function, watch, names)
    else:
        call = _watched_plain(function, watch, names)
    return functools.update_wrapper(call, function)


def positional_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that may be given by position; none where a callable does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return ()
    return tuple(one.name for one in parameters if one.kind in _POSITIONAL)


def _watched_plain(function: Callable[..., Any], watch: Watch, names: tuple[str, ...]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        began = watch.begin()
        try:
            result = function(*args, **kwargs)
        except BaseException as error:  # boundary: noted, and raised as it is
            watch.failed(began, names, args, kwargs, error)
            raise
        if inspect.iscoroutine(result):  # an async function behind a lambda, say: what it does is still to come
            return _awaited(result, watch, began, names, args, kwargs)
        watch.succeeded(began, names, args, kwargs)
        return result

    return call


async def _awaited(
    work: Any, watch: Watch, began: int, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    try:
        result = await work
    except BaseException as error:  # boundary: noted, and raised as it is
        watch.failed(began, names, args, kwargs, error)
        raise
    watch.succeeded(began, names, args, kwargs)
    return result


def _watched_coroutine(function: Callable[..., Any], watch: Watch, names: tuple[str, ...]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        began = watch.begin()
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:  # boundary: noted, and raised as it is
            watch.failed(began, names, args, kwargs, error)
            raise
        watch.succeeded(began, names, args, kwargs)
        return result

    return call


def _watched_generator(function: Callable[..., Any], watch: Watch, names: tuple[str, ...]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        began = watch.begin()
        try:
            result = yield from function(*args, **kwargs)
        except BaseException as error:  # boundary: noted, and raised as it is
            watch.failed(began, names, args, kwargs, error)
            raise
        watch.succeeded(began, names, args, kwargs)
        return result

    return call


def _watched_async_generator(function: Callable[..., Any], watch: Watch, names: tuple[str, ...]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        began = watch.begin()
        try:
            inner = function(*args, **kwargs)
            step = inner.__anext__()
            while True:
                try:
                    item = await step
                except StopAsyncIteration:
                    break
                try:
                    sent = yield item
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as thrown:  # noqa: BLE001 -- boundary: whatever is thrown in goes to the inner generator
                    step = inner.athrow(thrown)
                else:
                    step = inner.asend(sent)
        except BaseException as error:  # boundary: noted, and raised as it is
            watch.failed(began, names, args, kwargs, error)
            raise
        watch.succeeded(began, names, args, kwargs)

    return call
