"""What a few text programs print when everything they read is literal, so that hidden commands come to light."""

import base64
import binascii
import re
from collections.abc import Sequence

from lamina.skill.invocation import UNKNOWN, Invocation
from lamina.skill.program import has_long, letters, operands
from lamina.skill.words import decode_escapes

_SUBSTITUTE = re.compile(
    r"^s(?P<sep>[^\w\s\\])(?P<old>[\w ./:@#%=,-]*)(?P=sep)(?P<new>[\w ./:@#%=,-]*)(?P=sep)(?P<flags>g?)$"
)


def output_of(commands: Sequence[Invocation]) -> str | None:
    """Return what the pipeline `commands` prints, or None where the script does not tell."""
    text: str | None = None
    for at, command in enumerate(commands):
        text = _printed(command, text if at else command.stdin)
        if text is None:
            return None
    return text


def _printed(command: Invocation, stdin: str | None) -> str | None:
    words = command.words
    match command.name:
        case "echo":
            return _echo(words)
        case "printf":
            return _printf(words)
        case "which" | "command" | "basename" | "dirname" | "realpath" | "readlink":
            return _path(command.name, words)
        case "pwd":
            return command.folder
        case _:
            return None if stdin is None else _filtered(command.name, words, stdin)


def _path(name: str, words: Sequence[str]) -> str | None:
    last = words[-1] if words else ""
    if not last or (name == "command" and "-v" not in words):
        return None
    if name == "basename":
        return operands(words)[0].rstrip("/").rsplit("/", 1)[-1] if operands(words) else None
    if name == "dirname":
        return last.rstrip("/").rpartition("/")[0] or ("/" if last.startswith("/") else ".")
    return last


def _filtered(name: str, words: Sequence[str], stdin: str) -> str | None:
    decoding = "d" in letters(words) or "D" in letters(words) or has_long(words, "--decode")
    match name:
        case "cat" | "tee":
            return stdin if name == "tee" or not operands(words) or operands(words) == ["-"] else None
        case "base64" | "base32" if decoding:
            return _decoded(name, stdin)
        case "xxd" if "r" in letters(words):
            return _from_hex(stdin)
        case "rev":
            return "\n".join(line[::-1] for line in stdin.split("\n"))
        case "tr":
            return _translated(words, stdin)
        case "sed":
            found = _SUBSTITUTE.match(words[-1]) if words else None
            return stdin.replace(found["old"], found["new"], -1 if found["flags"] else 1) if found else None
        case _:
            return None


def _echo(words: Sequence[str]) -> str:
    rest = list(words)
    escapes = False
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        escapes = "e" in rest.pop(0) or escapes
    text = " ".join(rest)
    return decode_escapes(text) if escapes else text


def _printf(words: Sequence[str]) -> str | None:
    rest = [word for word in words if word != "--"]
    if not rest or rest[0] == "-v":
        return None
    template = decode_escapes(rest[0])
    values = rest[1:]
    if not values:
        return re.sub(r"%%", "%", template)
    printed: list[str] = []
    while values:
        given = len(values)

        def one(found: re.Match[str]) -> str:
            if found[1] == "%":
                return "%"
            value = values.pop(0) if values else ""
            if found[1] == "b":
                return decode_escapes(value)
            if found[1] in "sdiuq":
                return value
            return UNKNOWN

        printed.append(re.sub(r"%[-+ #0-9.]*([a-zA-Z%])", one, template))
        if len(values) == given:
            break
    return "".join(printed)


def _decoded(name: str, text: str) -> str | None:
    compact = re.sub(r"\s+", "", text)
    try:
        raw = base64.b64decode(compact + "=" * (-len(compact) % 4)) if name == "base64" else base64.b32decode(compact)
    except (binascii.Error, ValueError):
        return None
    return raw.decode("utf-8", "replace")


def _from_hex(text: str) -> str | None:
    try:
        return bytes.fromhex(re.sub(r"\s+|\\x|0x", "", text)).decode("utf-8", "replace")
    except ValueError:
        return None


def _translated(words: Sequence[str], text: str) -> str | None:
    sets = [decode_escapes(word) for word in operands(words)]
    if "d" in letters(words) and len(sets) == 1:
        gone = set(_spread(sets[0]))
        return "".join(sign for sign in text if sign not in gone)
    if len(sets) != 2 or letters(words) or "[:" in sets[0] + sets[1]:
        return None
    old, new = _spread(sets[0]), _spread(sets[1])
    if not new:
        return None
    table = {ord(sign): new[min(at, len(new) - 1)] for at, sign in reversed(list(enumerate(old)))}
    return text.translate(table)


def _spread(text: str) -> str:
    def run(found: re.Match[str]) -> str:
        first, last = ord(found[1]), ord(found[2])
        return "".join(map(chr, range(first, last + 1))) if first <= last else found[0]

    return re.sub(r"(.)-(.)", run, text)
