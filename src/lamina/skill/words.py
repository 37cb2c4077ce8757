"""What the words of a command become once the shell has expanded them, as far as the text alone tells.

Characters that were quoted are carried as marked characters, so that later steps still know which blank splits a field,
which brace expands and which tilde is a home. What the text does not tell is the one character `UNKNOWN`.
"""

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product

from tree_sitter import Node

from lamina.skill.invocation import UNKNOWN, Field, Substitution, TooComplexError, Value, Variables, mark, plain
from lamina.skill.shell import gaps_and_children, text_of

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
    if len(value) > _LONGEST_STRIPPED or pattern.count("*") > _MOST_STARS:
        return UNKNOWN
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
    new = word(replacement)
    if len(value) // len(needle) * len(new) > MOST_TEXT:
        raise TooComplexError
    return value.replace(needle, new, -1 if everywhere else 1)


HOME = "/home/user"
MOST_ALTERNATIVES = 8
MOST_BRACE_WORDS = 64
MOST_TEXT = 131_072
MOST_INNER = 1_000
_LONGEST_STRIPPED = 1_000
_MOST_STARS = 2

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"^(-?\w+)\.\.(-?\w+)(?:\.\.-?\d+)?$")


def decode_escapes(text: str) -> str:
    """Return `text` with the backslash escapes of `$'...'`, `echo -e` and `printf` carried out."""

    def one(found: re.Match[str]) -> str:
        hexadecimal, short, long, octal, control, other = found.groups()
        code = hexadecimal or short or long
        if code:
            value = int(code, 16)
            return chr(value) if value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else ""
        if octal:
            return chr(int(octal, 8))
        if control:
            return chr(ord(control) & 0x1F)
        return _ESCAPES.get(other, other if other in "\\'\"?" else "\\" + other)

    return _ANSI.sub(one, text)


def combine(parts: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Join the alternatives of neighbouring parts into alternatives of the whole, a bounded number of them."""
    return tuple(dict.fromkeys(map(join, islice(product(*parts), MOST_ALTERNATIVES))))


def join(parts: Sequence[Value]) -> Value:
    """Return the parts as one value. Raises TooComplexError for one longer than any script needs."""
    if sum(len(part.text) for part in parts) > MOST_TEXT or sum(len(part.inner) for part in parts) > MOST_INNER:
        raise TooComplexError
    return Value(text="".join(part.text for part in parts), inner=tuple(i for part in parts for i in part.inner))


def to_fields(value: Value, *, quoted: bool) -> tuple[Field, ...]:
    """Expand braces and tildes in `value` and split it where unquoted blanks are."""
    fields: list[Field] = []
    for word in expand_braces(value.text):
        pieces = re.split(r"[ \t\n]+", word)
        fields.extend(Field(text=plain(_tilde(piece)), inner=value.inner) for piece in pieces if piece)
    if not fields and (quoted or value.inner):
        fields.append(Field(text="", inner=value.inner))
    return tuple(fields)


def expand_braces(text: str) -> list[str]:
    """Return the words that unquoted `{a,b}` and `{1..3}` in marked `text` make."""
    done: list[str] = []
    open_ends = [text]
    while open_ends and len(done) + len(open_ends) <= MOST_BRACE_WORDS:
        word = open_ends.pop(0)
        for found in _BRACES.finditer(word):
            choices = _brace_choices(found[1])
            if choices:
                open_ends.extend(word[: found.start()] + choice + word[found.end() :] for choice in choices)
                break
        else:
            done.append(word)
    return done + open_ends


def _brace_choices(body: str) -> list[str]:
    if "," in body:
        return body.split(",")
    found = _RANGE.match(body)
    if found and found[1].lstrip("-").isdigit() and found[2].lstrip("-").isdigit():
        first, last = int(found[1]), int(found[2])
        step = 1 if last >= first else -1
        return [str(number) for number in islice(range(first, last + step, step), MOST_BRACE_WORDS)]
    if found and len(found[1]) == len(found[2]) == 1:
        low, high = sorted((ord(found[1]), ord(found[2])))
        return [chr(code) for code in range(low, high + 1)]
    return []


def _tilde(word: str) -> str:
    found = re.match(r"~([\w.-]*|\+|-)(?=/|$)", word)
    if not found:
        return word
    name = found[1]
    if name in ("+", "-"):
        return UNKNOWN + word[found.end() :]
    home = HOME if not name else "/root" if name == "root" else f"/home/{name}"
    return home + word[found.end() :]


class Resolver:
    """Expands words of one script with the variables known at this point; command substitutions are asked for."""

    def __init__(self, variables: Variables, substitute: Callable[[Node], Value]) -> None:
        self._variables = variables
        self._substitute = substitute

    def fields(self, node: Node) -> tuple[tuple[Field, ...], ...]:
        """Return the alternatives of the fields that the word `node` expands to."""
        quoted = node.type in ("string", "raw_string", "ansi_c_string", "translated_string")
        alternatives = (to_fields(value, quoted=quoted) for value in self.values(node))
        return tuple(dict.fromkeys(alternatives)) or ((),)

    def values(self, node: Node, *, quoted: bool = False) -> tuple[Value, ...]:
        """Return the possible expansions of `node`."""
        kind = node.type
        if kind == "raw_string":
            return (Value(text=mark(text_of(node)[1:-1])),)
        if kind == "ansi_c_string":
            return (Value(text=mark(decode_escapes(text_of(node)[2:-1]))),)
        if kind in ("string", "translated_string"):
            return self._string(node)
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node, quoted=quoted)
        if kind in ("command_substitution", "process_substitution"):
            value = self._substitute(node)
            return (Value(text=mark(value.text), inner=value.inner) if quoted else value,)
        if kind == "arithmetic_expansion":
            return (Value(text=UNKNOWN, inner=self._inside(node)),)
        if kind in ("concatenation", "command_name", "array"):
            return self._parts(node, between=" " if kind == "array" else "")
        return (Value(text=mark(text_of(node)) if quoted else _unescape(text_of(node))),)

    def heredoc(self, body: Node) -> tuple[Value, ...]:
        """Return what the unquoted here-document `body` becomes."""
        return combine(
            (Value(text=mark(_unescape_quoted(part))),)
            if isinstance(part, str)
            else (Value(text=mark(_unescape_quoted(text_of(part)))),)
            if part.type == "heredoc_content"
            else self.values(part, quoted=True)
            for part in gaps_and_children(body)
        )

    def _inside(self, node: Node) -> tuple[Substitution, ...]:
        inner: list[Substitution] = []
        for child in node.named_children:
            if child.type == "command_substitution":
                inner.extend(self._substitute(child).inner)
            else:
                inner.extend(self._inside(child))
        return tuple(inner)

    def _parts(self, node: Node, *, between: str) -> tuple[Value, ...]:
        parts: list[tuple[Value, ...]] = []
        for part in gaps_and_children(node):
            if isinstance(part, str):
                text = between if between else _unescape(part)
                parts.append((Value(text="" if text in "()" else text),))
            elif between == "" and text_of(part) in ("${@}", "${*}"):
                # In the middle of a word a script without arguments adds nothing here: r$@m is rm.
                parts.append((Value(text=""),))
            else:
                parts.append(self.values(part))
        return combine(parts)

    def _string(self, node: Node) -> tuple[Value, ...]:
        parts: list[tuple[Value, ...]] = []
        pieces = gaps_and_children(node)
        for at, part in enumerate(pieces):
            if isinstance(part, str):
                literal = part
                if at == 0:
                    literal = literal.removeprefix("$").removeprefix('"')
                if at == len(pieces) - 1:
                    literal = literal.removesuffix('"')
                parts.append((Value(text=mark(_unescape_quoted(literal))),))
            elif part.type == "string_content":
                parts.append((Value(text=mark(_unescape_quoted(text_of(part)))),))
            elif part.type == "string":
                parts.append(self._string(part))
            else:
                parts.append(self.values(part, quoted=True))
        return combine(parts)

    def _expansion(self, node: Node, *, quoted: bool) -> tuple[Value, ...]:
        source = text_of(node)
        inner = self._inside(node)
        values = expand_parameter(source, self._variables, inner, self._word)
        is_list = source == "${@}" or (source.startswith("${") and source.endswith(("[@]}", "[*]}")))
        if quoted and not is_list:
            return tuple(Value(text=mark(value.text), inner=value.inner) for value in values)
        blanks = {ord(sign): " " for value in self._variables.get("IFS", ()) for sign in plain(value.text)}
        return tuple(Value(text=value.text.translate(blanks), inner=value.inner) for value in values)

    def _word(self, text: str) -> str:
        """Return the default or replacement word `text` of an expansion with quotes removed and variables put in."""

        def known(found: re.Match[str]) -> str:
            values = self._variables.get(found[1] or found[2] or "")
            return values[-1].text if values else UNKNOWN

        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", known, re.sub(r"[\"'\\]", "", text))


def _unescape(text: str) -> str:
    return re.sub(r"\\(\n|.)", lambda found: "" if found[1] == "\n" else mark(found[1]), text, flags=re.DOTALL)


def _unescape_quoted(text: str) -> str:
    return re.sub(r"\\([$`\"\\\n])", lambda found: "" if found[1] == "\n" else found[1], text)
