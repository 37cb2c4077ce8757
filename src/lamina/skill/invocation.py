"""The nouns of the script check: expanded words, and the commands a script would run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node

UNKNOWN = "\ue100"
"""Stands in expanded text for what the script alone does not tell."""

_MARK = 0xE000
_PLAIN = {_MARK + code: code for code in range(128)}
_MARKED = {code: _MARK + code for code in range(128)}


def mark(text: str) -> str:
    """Return `text` with every ASCII character marked as quoted."""
    return text.translate(_MARKED)


def plain(text: str) -> str:
    """Return `text` without marks."""
    return text.translate(_PLAIN)


class TooComplexError(Exception):
    """The script goes deeper or starts more than the check follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """Commands inside a word: `$(...)` gives a value, `<(...)` is read, `>(...)` is written."""

    kind: Literal["value", "read", "write"]
    commands: "tuple[Invocation, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One possible expansion of a word: marked text, and the commands whose output is part of it."""

    text: str
    inner: tuple[Substitution, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One argument as the program receives it, and the commands whose output is part of it."""

    text: str
    inner: tuple[Substitution, ...] = ()


Variables = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """One redirection of a command: operator, descriptor in front of it (or empty) and where it leads."""

    operator: str
    descriptor: str
    target: Field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Invocation:
    """One program the script would start, after expansion and unwrapping.

    `via` names the programs that would start it (outermost first), `upstream` the commands whose output it reads,
    `executes` the commands whose output it runs as code, `stdin` its input where that is literal text, `folder` the
    working folder where the script changed it, `given` the texts of files it is given that the script itself wrote.
    """

    argv: tuple[Field, ...]
    name: str
    line: int
    via: tuple[str, ...] = ()
    assigned: Mapping[str, str] = field(default_factory=dict)
    redirects: tuple[Redirect, ...] = ()
    upstream: "tuple[Invocation, ...]" = ()
    stdin: str | None = None
    folder: str | None = None
    background: bool = False
    executes: "tuple[Invocation, ...]" = ()
    given: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments after the program's name, as text."""
        return tuple(one.text for one in self.argv[1:])

    @property
    def shown(self) -> str:
        """The command as a person may read it in a reason, cut short."""
        text = " ".join(one.text for one in self.argv).replace(UNKNOWN, "…")
        return text if len(text) <= 80 else text[:79] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A shell function that the script defines."""

    name: str
    body: Node
