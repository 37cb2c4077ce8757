"""Calls of tools in order. A parameter of a step may refer to an input or to what an earlier step returned.

`{{ inputs.city }}` is an input, `{{ steps.1 }}` the first step's result, `{{ steps.1.items.0.id }}` a part of it. A
text that is one reference and nothing else becomes the value itself; inside a longer text it becomes text.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

import anyio.to_thread

from lamina.errors import InvalidInputError, SkillFailedError
from lamina.kernel.checks import check_name
from lamina.kernel.redact import redact
from lamina.kernel.secret_places import secret_path
from lamina.skill.types import StepDone

MOST_STEPS = 50
_REFERENCE = re.compile(r"\{\{\s*(inputs|steps)((?:\.[A-Za-z0-9_-]+)+)\s*\}\}")
_LONGEST_REPORT = 300
_LONGEST_TEXT = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a tool."""

    tool: str
    params: Mapping[str, object]


class ToolSet:
    """The tools that composites may call, by name: plain and async functions."""

    def __init__(self, tools: Iterable[Callable[..., object]] = ()) -> None:
        self._tools: dict[str, Callable[..., object]] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Callable[..., object], *, name: str | None = None) -> None:
        """Let composites call a function, under its own name or another. Raises InvalidInputError without a name."""
        self._tools[check_name("tool", name or getattr(tool, "__name__", None))] = tool

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool there is."""
        return tuple(self._tools)

    async def call(self, name: str, params: Mapping[str, object]) -> object:
        """Call a tool; raises InvalidInputError for an unknown one, and what the tool raises."""
        tool = self._tools.get(name)
        if tool is None:
            raise InvalidInputError(f"There is no tool {name[:80]!a}.", details={"known": sorted(self._tools)[:100]})
        if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(type(tool).__call__):
            return await tool(**params)  # type: ignore[misc]
        # A tool that blocks must not hold up everybody else.
        result = await anyio.to_thread.run_sync(lambda: tool(**params), abandon_on_cancel=True)
        return await result if inspect.isawaitable(result) else result


def check_steps(steps: object, inputs: set[str]) -> tuple[Step, ...]:
    """The steps of a composite. Raises InvalidInputError for a malformed one or a reference that cannot resolve."""
    if not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
        _refuse(f"A composite needs a list of 1 to {MOST_STEPS} steps.")
    checked: list[Step] = []
    for at, step in enumerate(steps, start=1):
        if not isinstance(step, Mapping) or set(step) - {"tool", "params"} or "tool" not in step:
            _refuse(f"Step {at} must be an object with tool and params.", step=at)
        params = step.get("params", {})
        if not isinstance(params, Mapping):
            _refuse(f"The params of step {at} must be an object.", step=at)
        for kind, path in _references(params):
            _check_reference(kind, path, at, inputs)
        checked.append(Step(tool=check_name("tool", step["tool"]), params=params))
    return tuple(checked)


def refuse_secrets(steps: Sequence[Step]) -> None:
    """Raise InvalidInputError that names the place when a step's params hold a secret."""
    for at, step in enumerate(steps, start=1):
        if (path := secret_path(step.params, ignoring=_REFERENCE)) is not None:
            _refuse(f"Step {at} holds a secret in params.{path}; take it as an input instead.", step=at, path=path)


async def run_steps(
    steps: Sequence[Step], inputs: Mapping[str, object], call: Callable[[str, Mapping[str, object]], Any]
) -> tuple[StepDone, ...]:
    """Run the steps in order. Raises SkillFailedError that names the failing step and those that were done."""
    done: list[StepDone] = []
    for at, step in enumerate(steps, start=1):
        try:
            params = {name: _resolve(value, inputs, done) for name, value in step.params.items()}
            result = await call(step.tool, params)
        except Exception as error:  # isolation: a tool may raise anything, and the report says which one did
            raise SkillFailedError(
                f"Step {at} ({step.tool}) failed: {type(error).__name__}: {redact(str(error))[:_LONGEST_REPORT]}",
                details={"step": at, "tool": step.tool, "done": [{"step": one.step, "tool": one.tool} for one in done]},
            ) from error
        done.append(StepDone(step=at, tool=step.tool, result=result))
    return tuple(done)


def _references(value: object) -> Iterable[tuple[str, tuple[str, ...]]]:
    if isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            yield found[1], tuple(found[2].split(".")[1:])
        if "{{" in _REFERENCE.sub("", value):
            _refuse("A reference is {{ inputs.NAME }} or {{ steps.NUMBER.PART }}.")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _check_reference(kind: str, path: tuple[str, ...], at: int, inputs: set[str]) -> None:
    if kind == "inputs" and path[0] not in inputs:
        _refuse(f"Step {at} refers to the input {path[0]}, which the parameters do not declare.", step=at)
    if kind == "steps" and not (path[0].isdigit() and 1 <= int(path[0][:6]) < at):
        _refuse(f"Step {at} refers to step {path[0]}, which is not an earlier one.", step=at)


def _resolve(value: object, inputs: Mapping[str, object], done: Sequence[StepDone]) -> object:
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value)
        if whole:
            return _look_up(whole, inputs, done)
        text = _REFERENCE.sub(lambda found: _as_text(_look_up(found, inputs, done)), value)
        if len(text) > _LONGEST_TEXT:
            _refuse(f"A parameter became longer than {_LONGEST_TEXT} characters.")
        return text
    if isinstance(value, Mapping):
        return {name: _resolve(inner, inputs, done) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, inputs, done) for inner in value]
    return value


def _look_up(found: re.Match[str], inputs: Mapping[str, object], done: Sequence[StepDone]) -> object:
    path = found[2].split(".")[1:]
    if found[1] == "inputs":
        value, rest = inputs.get(path[0]), path[1:]
    else:
        value, rest = done[int(path[0]) - 1].result, path[1:]
    for part in rest:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part)]
        else:
            _refuse(f"{found[0]} leads nowhere: there is no {part}.")
    return value


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _refuse(message: str, **details: object) -> Never:
    raise InvalidInputError(message, details={"field": "steps", **details})
