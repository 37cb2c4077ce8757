"""Text with parameters: a part of Jinja that can show data and nothing else.

Allowed are variables, `if`, `for` over a parameter, comparisons, and filters that do not make a text longer. There are
no calls, no assignments, no arithmetic, no imports, and no attribute that starts with an underscore; what is left is
rendered in Jinja's sandbox as a second fence. The turns of loops, the time and the output are counted while it renders.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lamina.errors import InvalidInputError, SkillFailedError
from lamina.kernel.clock import Clock

LONGEST_TEMPLATE = 65_536
MOST_TURNS = 20_000
MOST_LOOPS = 3
_LONGEST_CONSTANT = 1_000
_COUNT = "counted_by_lamina"

FILTERS = frozenset({
    "capitalize", "count", "d", "default", "dictsort", "escape", "e", "first", "int", "items", "join", "last",
    "length", "list", "lower", "max", "min", "reverse", "round", "sort", "string", "title", "tojson", "trim",
    "unique", "upper", "wordcount", "abs", "float",
})  # fmt: skip
TESTS = frozenset({
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping",
    "sequence", "iterable", "in", "eq", "ne", "lt", "le", "gt", "ge", "even", "odd", "lower", "upper",
})  # fmt: skip
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const, nodes.For,
    nodes.If, nodes.Filter, nodes.Test, nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.CondExpr,
    nodes.Keyword, nodes.Slice, nodes.List, nodes.Tuple,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a rendering may take."""

    seconds: float
    output_bytes: int


def check_template(text: str) -> set[str]:
    """The variables a template needs. Raises InvalidInputError for what is no template, or does more than show data."""
    if len(text) > LONGEST_TEMPLATE:
        raise _refused(f"A template has at most {LONGEST_TEMPLATE} characters.")
    try:
        environment = _environment()
        tree = environment.parse(text)
        _check(tree, loops=0)  # before anything is compiled: the compiler already works out constant expressions
        variables = find_undeclared_variables(tree)
        environment.compile(tree)
    except TemplateError as error:
        raise _refused(f"The template cannot be read: {error.message}") from None
    except (RecursionError, SyntaxError, OverflowError, MemoryError):
        raise _refused("The template is nested too deeply.") from None
    return variables


def render_template(text: str, values: Mapping[str, object], *, limits: Limits, clock: Clock) -> str:
    """The text with the values put in. Raises InvalidInputError, or SkillFailedError when a limit is reached."""
    check_template(text)
    environment = _environment()
    tree = environment.parse(text)
    deadline = clock.monotonic() + limits.seconds
    environment.filters[_COUNT] = _Turns(deadline, clock)
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, _COUNT, [], [], None, None)
    parts: list[str] = []
    room = limits.output_bytes
    try:
        for part in environment.from_string(tree).generate(dict(values)):
            room -= len(part.encode("utf-8", "replace"))
            if room < 0:
                raise SkillFailedError(
                    f"The template makes more than {limits.output_bytes} bytes.", details={"limit": "max_output_bytes"}
                )
            if clock.monotonic() > deadline:
                raise _too_long()
            parts.append(part)
    except (
        TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise SkillFailedError(f"The template failed: {str(error)[:300]}") from None
    return "".join(parts)


class _Turns:
    """Counts the turns of all loops of one rendering, and looks at the clock at each."""

    def __init__(self, deadline: float, clock: Clock) -> None:
        self._left = MOST_TURNS
        self._deadline = deadline
        self._clock = clock

    def __call__(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self._left -= 1
            if self._left < 0:
                raise SkillFailedError(f"The template loops more than {MOST_TURNS} times.", details={"limit": "turns"})
            if self._clock.monotonic() > self._deadline:
                raise _too_long()
            yield item


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox in which a dot and a bracket reach into data only: a key, an index, or `loop`."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of an object, or a fact about the loop."""
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """A key of an object, or a place in a list or a text."""
        if isinstance(obj, str | list | tuple | dict):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.undefined(obj=obj, name=argument)


def _environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.globals.clear()
    environment.filters = {name: each for name, each in environment.filters.items() if name in FILTERS}
    environment.tests = {name: each for name, each in environment.tests.items() if name in TESTS}
    return environment


def _check(node: nodes.Node, *, loops: int) -> None:
    if not isinstance(node, _NODES):
        raise _refused(f"A template only shows data: {type(node).__name__.lower()} is not allowed.", node)
    if isinstance(node, nodes.Name) and node.name in ("self", "super", "varargs", "kwargs", "caller"):
        raise _refused(f"A template cannot reach {node.name}.", node)
    if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        raise _refused("A template cannot reach names that start with an underscore.", node)
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        if node.value.startswith("_"):
            raise _refused("A template cannot reach names that start with an underscore.", node)
        if len(node.value) > _LONGEST_CONSTANT:
            raise _refused(f"A constant has at most {_LONGEST_CONSTANT} characters.", node)
    if isinstance(node, nodes.Filter | nodes.Test):
        given = [*node.args, *(pair.value for pair in node.kwargs)]
        if node.dyn_args or node.dyn_kwargs or not all(isinstance(one, nodes.Const | nodes.Name) for one in given):
            raise _refused("Arguments of filters are constants or parameters.", node)
        if node.name == "join" and not all(isinstance(one, nodes.Const) for one in given):
            raise _refused("What join puts between is a constant.", node)
    if isinstance(node, nodes.For):
        loops += 1
        if loops > MOST_LOOPS or node.recursive:
            raise _refused(f"Loops are nested at most {MOST_LOOPS} deep, and never call themselves.", node)
    for child in node.iter_child_nodes():
        _check(child, loops=loops)


def _too_long() -> SkillFailedError:
    return SkillFailedError("The template takes too long.", details={"limit": "template_timeout_s"})


def _refused(message: str, node: nodes.Node | None = None) -> InvalidInputError:
    where = {} if node is None else {"line": node.lineno}
    return InvalidInputError(message, details={"field": "template", **where})
