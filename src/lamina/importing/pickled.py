"""Reads the plain data in a pickle. No class or function that it names is looked up, so nothing in it can run.

Where an ordinary unpickler would build an object, there is a `Thing` that holds what the object was to be made of.
"""

import pickletools
from dataclasses import dataclass, field
from typing import Any, Final

from lamina.errors import InvalidInputError

_MOST_STEPS = 2_000_000
_LARGEST = 64 * 1024 * 1024


@dataclass(slots=True)
class Thing:
    """An object that was not built: its name, what it was called with, and the state it was to get."""

    name: str
    arguments: object = ()
    state: object = None
    items: list[object] = field(default_factory=list)


class _Mark:
    """The place on the stack where a list of values begins."""


_VALUES: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PLAIN: Final = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    )
)
_EMPTY: Final[dict[str, type]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": list}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING: Final = frozenset(("PROTO", "FRAME"))


def read_pickled(data: bytes) -> Any:
    """What a pickle holds. Raises InvalidInputError for one that is damaged, too large or not plain data."""
    if len(data) > _LARGEST:
        raise _refused("it is too large")
    reading = _Reading()
    try:
        for steps, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if steps > _MOST_STEPS:
                raise _refused("it is too large")
            if opcode.name == "STOP":
                return reading.stack.pop()
            reading.take(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _refused("it is damaged") from error
    raise _refused("it has no end")


class _Reading:
    """A pickle under way: the machine of a pickle, without the instructions that call anything."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def take(self, name: str, argument: Any) -> None:
        """One instruction."""
        stack = self.stack
        if name in _PLAIN:
            stack.append(argument)
        elif name in _VALUES:
            stack.append(_VALUES[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
        elif name not in _NOTHING:
            self._other(name, argument)

    def _other(self, name: str, argument: Any) -> None:
        stack = self.stack
        match name:
            case "MARK":
                stack.append(_Mark())
            case "MEMOIZE":
                self._memo[len(self._memo)] = stack[-1]
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self._memo[int(argument)] = stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                stack.append(self._memo[int(argument)])
            case "POP":
                stack.pop()
            case "TUPLE" | "LIST" | "FROZENSET":
                values = self._marked()
                stack.append(tuple(values) if name == "TUPLE" else values)
            case "DICT":
                stack.append(_pairs(self._marked()))
            case "APPEND":
                value = stack.pop()
                _append(stack[-1], [value])
            case "APPENDS" | "ADDITEMS":
                values = self._marked()
                _append(stack[-1], values)
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                _update(stack[-1], [key, value])
            case "SETITEMS":
                values = self._marked()
                _update(stack[-1], values)
            case "GLOBAL":
                stack.append(Thing(str(argument).replace(" ", ".", 1)))
            case "STACK_GLOBAL":
                last, module = stack.pop(), stack.pop()
                stack.append(Thing(f"{module}.{last}"))
            case "REDUCE" | "NEWOBJ":
                arguments, made = stack.pop(), stack.pop()
                stack.append(Thing(made.name, arguments))
            case "NEWOBJ_EX":
                _, arguments, made = stack.pop(), stack.pop(), stack.pop()
                stack.append(Thing(made.name, arguments))
            case "BUILD":
                state = stack.pop()
                stack[-1].state = state
            case _:
                raise _refused(f"it uses {name}")

    def _marked(self) -> list[Any]:
        """What is above the last mark; both leave the stack."""
        at = len(self.stack) - 1
        while not isinstance(self.stack[at], _Mark):
            at -= 1
            if at < 0:
                raise ValueError("there is no mark")
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values


def _append(target: Any, values: list[Any]) -> None:
    (target.items if isinstance(target, Thing) else target).extend(values)


def _update(target: Any, values: list[Any]) -> None:
    if isinstance(target, Thing):
        target.items.extend(values)
    else:
        target.update(_pairs(values))


def _pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary; keys that only an ordinary unpickler could make are no keys of plain data."""
    return dict(zip(values[::2], values[1::2], strict=True))


def _refused(why: str) -> InvalidInputError:
    return InvalidInputError(f"A pickled entry cannot be read: {why}.")
