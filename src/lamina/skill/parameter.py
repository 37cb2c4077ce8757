"""The values of `$name` and `${name...}`: defaults, substrings, removals, replacements, case and indirection."""

import fnmatch
import re
from collections.abc import Callable

from lamina.skill.invocation import UNKNOWN, Substitution, Value, Variables, plain

_FORM = re.compile(r"^\$\{([!#]?)(\w+|[@*#?$!-])(\[[^\]]*\])?(.*)\}$", re.DOTALL)
_SUBSTRING = re.compile(r"^:\s*(-?\d+|\(-\d+\)|\s-\d+)\s*(?::\s*(-?\d+))?$")


def expand_parameter(
    source: str, variables: Variables, inner: tuple[Substitution, ...], word: Callable[[str], str]
) -> tuple[Value, ...]:
    """Return the possible values of the expansion `source`; one UNKNOWN where the script does not tell.

    `word` resolves the text of a default or a replacement.
    """
    unknown = (Value(text=UNKNOWN, inner=inner),)
    found = _FORM.match(source)
    if not found:
        known = variables.get(source.lstrip("$"))
        return known or unknown
    sign, name, _, rest = found.groups()
    known = variables.get(name)
    if sign == "!":
        names = [value.text for value in known or ()]
        return tuple(value for one in names for value in variables.get(one, ())) or unknown
    if sign == "#":
        return unknown
    if rest[:2] in (":-", ":=") or rest[:1] in ("-", "="):
        default = Value(text=word(rest.lstrip(":")[1:]), inner=inner)
        return (*known, default) if known else (default,)
    if rest[:2] == ":+" or rest[:1] == "+":
        return (Value(text=word(rest.lstrip(":")[1:]), inner=inner),)
    if rest[:2] == ":?" or rest[:1] == "?":
        # The script stops when the variable is empty, so this is some value, never nothing.
        return known or (Value(text=UNKNOWN + "?", inner=inner),)
    if not known:
        return unknown
    if not rest:
        return known
    return tuple(Value(text=_operate(value.text, rest, word), inner=value.inner) for value in known)


def _operate(text: str, rest: str, word: Callable[[str], str]) -> str:
    value = plain(text)
    if UNKNOWN in value:
        return value
    substring = _SUBSTRING.match(rest)
    if substring:
        start = int(substring[1].strip("() "))
        length = int(substring[2]) if substring[2] else None
        begin = start if start >= 0 else max(0, len(value) + start)
        tail = value[begin:]
        return tail if length is None else tail[:length]
    if rest in ("^^", ",,", "^", ","):
        return {"^^": value.upper(), ",,": value.lower(), "^": value[:1].upper() + value[1:]}.get(
            rest, value[:1].lower() + value[1:]
        )
    if rest[0] in "#%":
        longest = rest[:2] in ("##", "%%")
        return _strip(value, word(rest[2:] if longest else rest[1:]), front=rest[0] == "#", longest=longest)
    if rest[0] == "/":
        return _replace(value, rest, word)
    return UNKNOWN


def _strip(value: str, pattern: str, *, front: bool, longest: bool) -> str:
    cuts = range(len(value) + 1)
    sizes = reversed(cuts) if longest else iter(cuts)
    for size in sizes:
        part = value[:size] if front else value[len(value) - size :]
        if fnmatch.fnmatchcase(part, pattern):
            return value[size:] if front else value[: len(value) - size]
    return value


def _replace(value: str, rest: str, word: Callable[[str], str]) -> str:
    everywhere = rest.startswith("//")
    pattern, _, replacement = (rest[2:] if everywhere else rest[1:]).partition("/")
    needle = word(pattern)
    if not needle or set(needle) & set("*?["):
        return UNKNOWN
    return value.replace(needle, word(replacement), -1 if everywhere else 1)
