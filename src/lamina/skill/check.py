"""Say whether a shell script may run at all, by parsing it: allowed, or refused with the reasons.

This is the first of two fences. It refuses what is recognisably destructive or hostile; the sandbox holds what is
not recognised.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lamina.skill.bomb import bombs, kills, loops
from lamina.skill.code import code_dangers, commands_in, programs_in
from lamina.skill.destroy import deletes, devices
from lamina.skill.intrusion import climbs, escapes, reads_secrets, stays, wipes_traces
from lamina.skill.invocation import Invocation, TooComplexError
from lamina.skill.network import foreign_code, network_shells
from lamina.skill.shell import parse
from lamina.skill.walk import Walker

MAX_SCRIPT_BYTES = 65_536
MAX_DEPTH = 12
MAX_COMMANDS = 3_000
_MAX_NESTED_PROGRAMS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a script is refused: the rule, what was seen, and the line."""

    rule: str
    message: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.message} [{self.rule}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a check; allowed when there is no reason against it."""

    reasons: tuple[Reason, ...]

    @property
    def allowed(self) -> bool:
        """Whether nothing speaks against the script."""
        return not self.reasons


_RULES = (
    ("delete", deletes),
    ("device", devices),
    ("kill-all", kills),
    ("reverse-shell", network_shells),
    ("privilege", climbs),
    ("shell-escape", escapes),
    ("credential", reads_secrets),
    ("trace", wipes_traces),
    ("persistence", stays),
)


def check_script(text: str, *, max_bytes: int = MAX_SCRIPT_BYTES) -> Verdict:
    """Return whether the shell script `text` is acceptable, with every reason against it.

    What cannot be parsed, or is larger or deeper than the check follows, is refused. Nothing is run or looked up.
    """
    if len(text.encode("utf-8", "replace")) > max_bytes:
        return _refused("size", f"the script is longer than {max_bytes} bytes")
    if "\x00" in text:
        return _refused("unparsable", "the script contains a NUL character")
    try:
        found = list(_judge(text, nested=0))
    except (TooComplexError, RecursionError):
        return _refused("complexity", "the script is nested deeper, or starts more commands, than the check follows")
    return Verdict(reasons=tuple(dict.fromkeys(found)))


def _refused(rule: str, message: str) -> Verdict:
    return Verdict(reasons=(Reason(rule=rule, message=message, line=1),))


def _judge(text: str, *, nested: int) -> Iterator[Reason]:
    root = parse(text)
    if root is None:
        yield Reason(rule="unparsable", message="this is not a shell script that can be understood", line=1)
        return
    walker = Walker(max_depth=MAX_DEPTH, max_commands=MAX_COMMANDS)
    walker.script(text)
    yield from (
        Reason(rule="fork-bomb", message=message, line=1) for message in (*bombs(walker.functions), *loops(root))
    )
    if walker.unparsable:
        yield Reason(rule="unparsable", message="a script inside the script cannot be understood", line=1)
    for command in walker.invocations:
        yield from _reasons(command, nested)


def _reasons(command: Invocation, nested: int) -> Iterator[Reason]:
    for rule, judge in _RULES:
        for message in judge(command):
            yield Reason(rule=rule, message=message, line=command.line)
    for rule, message in foreign_code(command):
        yield Reason(rule=rule, message=message, line=command.line)
    for program in programs_in(command):
        yield from _program(program, command.line, nested)


def _program(text: str, line: int, nested: int) -> Iterator[Reason]:
    for rule, message in code_dangers(text):
        yield Reason(rule=rule, message=message, line=line)
    if nested >= _MAX_NESTED_PROGRAMS:
        raise TooComplexError
    for inner in commands_in(text):
        yield from _within(_judge(inner, nested=nested + 1), line)


def _within(reasons: Iterable[Reason], line: int) -> Iterator[Reason]:
    """Pass on what a string inside a program would do; a string that is no command is no reason."""
    for reason in reasons:
        if reason.rule != "unparsable":
            yield Reason(rule=reason.rule, message=reason.message, line=line)
