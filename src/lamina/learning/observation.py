"""What the wrapper notes of one call of a tool, and what becomes of it before anything is stored.

Taking the note runs inside the tool's call, so it is cheap and runs no code of others apart from an error's own text.
Hiding secrets and finding the pattern come later, on another thread, and always before anything is written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lamina.kernel.redact import redact, redact_value
from lamina.learning.category import categorise
from lamina.learning.pattern import LONGEST_ERROR, clean_text, extract_pattern
from lamina.learning.types import LearningCategory

CallStatus = Literal["success", "error", "cancelled"]

_TAKEN = 2_000  # characters of a text that are looked at for secrets, of which so many are kept:
_KEPT = 200
_MOST_PARAMETERS = 32
_LONGEST_TOOL = 256
_PLAIN = (bool, int, float, type(None))


class Call(NamedTuple):
    """One call of a wrapped tool."""

    tenant: str
    session: str | None
    tool: str
    began: int
    ended: int
    """`began` and `ended` order calls within the process: what began after another ended can have known of it."""
    status: CallStatus
    parameters: Mapping[str, object]
    error: str | None = None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A call without secrets."""

    call: Call
    parameters: object
    error: str | None
    pattern: str | None
    category: LearningCategory | None


def tool_name(name: str) -> str:
    """A tool's name as it is stored."""
    return " ".join(clean_text(name, longest=_LONGEST_TOOL).split()) or "tool"


def outline(names: Iterable[str], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a call by name: plain values, the beginning of texts, of everything else what it is."""
    given = dict(zip(names, args, strict=False))
    if len(given) < len(args):
        given["*"] = args[len(given) :]
    if kwargs:
        given.update(kwargs)
    return {name: _outlined(given[name], 0) for name in list(given)[:_MOST_PARAMETERS]}


def _outlined(value: object, depth: int) -> object:
    kind = type(value)
    if kind is str:
        return value[:_TAKEN]  # type: ignore[index]
    if kind in _PLAIN:
        return value
    if kind is dict and depth < 2:
        items = list(value.items())[:_MOST_PARAMETERS]  # type: ignore[attr-defined]
        return {key[:_KEPT]: _outlined(item, depth + 1) for key, item in items if type(key) is str}
    if kind in (list, tuple, set, frozenset, dict):
        return f"[{len(value)} items]"  # type: ignore[arg-type]
    if kind in (bytes, bytearray):
        return f"[{len(value)} bytes]"  # type: ignore[arg-type]
    return f"<{kind.__name__}>"


def prepare(call: Call, *, longest: int) -> Noted:
    """Hide the secrets of a call and find the pattern of its error. Pure, and not for the event loop's thread."""
    parameters = _cut(redact_value(dict(call.parameters)))
    if call.error is None:
        return Noted(call=call, parameters=parameters, error=None, pattern=None, category=None)
    text = redact(clean_text(call.error, longest=LONGEST_ERROR))
    return Noted(
        call=call,
        parameters=parameters,
        error=text[:longest],
        pattern=extract_pattern(text),
        category=categorise(text, tool=call.tool, kinds=call.kinds),
    )


def _cut(value: object) -> object:
    """After hiding, so that no half of a secret is left that nothing recognises."""
    if isinstance(value, str):
        return value if len(value) <= _KEPT else f"{value[:_KEPT]}..."
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return value
