"""Wraps a tool that is an object: a callable of any kind, or something with `run`, `execute` or the like.

What comes back stands in for the tool: attributes, schema, type checks, comparison and signature are those of the tool
itself, and only the methods that run it are noted. Calls a tool makes to itself are not seen, so one call is one note.
"""

import copy
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Final

from lamina.errors import InvalidInputError
from lamina.learning.wrapper import Watch, watched

RUN_METHODS: Final = (
    "__call__",
    "run",
    "arun",
    "run_async",
    "execute",
    "aexecute",
    "invoke",
    "ainvoke",
    "call",
    "acall",
    "handler",
    "on_invoke_tool",
)
"""The names under which frameworks run a tool; what a tool has of them is noted."""

_OWN = frozenset(("_lamina_tool", "_lamina_watch", "_lamina_runs", "__copy__", "__deepcopy__"))
_SAME = ("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "repr", "str", "format", "dir")
_HELD = ("len", "iter", "next", "reversed", "contains", "getitem", "setitem", "delitem", "enter", "exit")
_AWAITED = ("aenter", "aexit", "aiter", "anext")
_FORWARDED = [f"__{name}__" for name in (*_SAME, *_HELD, *_AWAITED, "instancecheck", "subclasscheck")]


class StandIn:
    """A tool whose runs are noted. Made by `stand_in`, in a class of its own for each kind of tool."""

    __slots__ = ("__weakref__", "_lamina_runs", "_lamina_tool", "_lamina_watch")
    _lamina_tool: Any
    _lamina_watch: Watch
    _lamina_runs: dict[str, tuple[Any, Any]]

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        tool = object.__getattribute__(self, "_lamina_tool")
        if name == "__signature__":
            return _signature(tool)
        if name == "__mro_entries__" and isinstance(tool, type):
            return lambda bases: (tool,)  # a class made from the stand-in is a class made from the tool
        value = getattr(tool, name)
        return _run(self, name, value) if name in RUN_METHODS and callable(value) else value

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._lamina_tool, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._lamina_tool, name)

    def __copy__(self) -> Any:
        return stand_in(copy.copy(self._lamina_tool), self._lamina_watch)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return stand_in(copy.deepcopy(self._lamina_tool, memo), self._lamina_watch)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as the tool itself: an engine does not travel."""
        return self._lamina_tool.__reduce_ex__(protocol)


def watch_of(tool: object) -> Watch | None:
    """The watch of a tool that was wrapped before."""
    if _is_stand_in(tool):
        found = object.__getattribute__(tool, "_lamina_watch")
        return found if isinstance(found, Watch) else None
    marked = tool.__dict__.get("_lamina_watch") if isinstance(tool, types.FunctionType) else None
    return marked if isinstance(marked, Watch) else None


def wrap(tool: Any, watch: Watch) -> Any:
    """The tool with its runs noted. Raises InvalidInputError for what cannot be run."""
    if isinstance(tool, staticmethod | classmethod):
        return type(tool)(wrap(tool.__func__, watch))
    if isinstance(tool, types.FunctionType):
        call: Any = watched(tool, watch)
        call._lamina_watch = watch
        return call
    if not isinstance(tool, type) and callable(tool):
        return stand_in(tool, watch)
    if any(callable(getattr(tool, name, None)) for name in RUN_METHODS[1:]) or _makes_callables(tool):
        return stand_in(tool, watch)
    raise InvalidInputError(
        f"A {type(tool).__name__} cannot be wrapped: a tool is a function, or an object with one of the methods "
        f"{', '.join(RUN_METHODS[1:])}.",
        operation="learning_wrap",
        details={"type": type(tool).__name__},
    )


def _makes_callables(tool: object) -> bool:
    return isinstance(tool, type) and any("__call__" in kind.__dict__ for kind in tool.__mro__[:-1])


def name_of(tool: Any) -> str:
    """What a tool is called: its `name`, else that of the function or class behind it."""
    given = getattr(tool, "name", None)
    if isinstance(given, str) and given.strip():
        return given
    inner = getattr(tool, "__func__", getattr(tool, "func", None)) if not inspect.isfunction(tool) else None
    # Only what is a function for certain: an object that has every attribute, as mocks do, would lead on for ever.
    if not isinstance(getattr(tool, "__name__", None), str) and (
        inspect.isroutine(inner) or isinstance(inner, functools.partial)
    ):
        return name_of(inner)
    named = getattr(tool, "__name__", None)
    return named if isinstance(named, str) and named.strip() else type(tool).__name__


def stand_in(tool: Any, watch: Watch) -> Any:
    """An object in the tool's place."""
    kind: Any = type(tool)
    made = object.__new__(_kind_for(kind))
    object.__setattr__(made, "_lamina_tool", tool)
    object.__setattr__(made, "_lamina_watch", watch)
    object.__setattr__(made, "_lamina_runs", {})
    return made


@functools.lru_cache(maxsize=512)
def _kind_for(kind: Any) -> type[StandIn]:
    """A class of stand-ins with exactly those special methods that the kind of tool has."""
    names: dict[str, Any] = {name: _forward(name) for name in _FORWARDED if _has(kind, name)}
    names["__slots__"] = ()
    if _has(kind, "__call__"):
        names["__call__"] = _call
    return type(kind.__name__, (StandIn,), names)


def _has(kind: type[Any], name: str) -> bool:
    return any(name in one.__dict__ and one.__dict__[name] is not None for one in kind.__mro__)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: StandIn, *args: Any) -> Any:
        tool = self._lamina_tool
        bare = [object.__getattribute__(one, "_lamina_tool") if _is_stand_in(one) else one for one in args]
        return getattr(type(tool), name)(tool, *bare)

    method.__name__ = name
    return method


def _is_stand_in(value: object) -> bool:
    return issubclass(type(value), StandIn)


def _call(self: StandIn, /, *args: Any, **kwargs: Any) -> Any:
    tool = self._lamina_tool
    if isinstance(tool, type):
        made = tool(*args, **kwargs)
        return wrap(made, self._lamina_watch.named(name_of(made)))
    return _run(self, "__call__", tool)(*args, **kwargs)


def _run(self: StandIn, name: str, value: Any) -> Any:
    """The noted form of a method that runs the tool, made once."""
    known = self._lamina_runs.get(name)
    if known is not None and (name == "__call__" or _same(known[0], value)):
        return known[1]
    watch = self._lamina_watch
    if isinstance(self._lamina_tool, type):
        made = value  # a method of the class itself; its instances are wrapped as they are made
    elif name == "__call__":
        made = watched(_behind(self._lamina_tool), watch)
    elif isinstance(value, types.FunctionType):
        made = watched(value, watch)
    else:
        made = stand_in(value, watch)
    self._lamina_runs[name] = (value, made)
    return made


def _same(one: Any, other: Any) -> bool:
    """Whether it is the same function or the same method of the same object; methods are made on each look."""
    if isinstance(one, types.MethodType) and isinstance(other, types.MethodType):
        return one.__func__ is other.__func__ and one.__self__ is other.__self__
    return one is other


def _behind(tool: Any) -> Callable[..., Any]:
    """What a call of the tool runs; the method itself where it says that it is async or a generator."""
    if isinstance(tool, types.MethodType | types.BuiltinFunctionType | functools.partial):
        return tool
    method: Callable[..., Any] = tool.__call__
    return method


def _signature(tool: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(tool)
    except (ValueError, TypeError):
        raise AttributeError("__signature__") from None
