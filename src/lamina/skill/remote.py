"""Code that comes from elsewhere or is hidden: downloads and decoded text that an interpreter runs."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.program import DECODERS, DOWNLOADERS, INTERPRETERS, SHELLS, has_long, letters

_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\0?[0-7]{3}|\\u[0-9a-fA-F]{4}){3,}")
_SCRAMBLERS = frozenset({"rev", "tr", "fold", "cut", "awk", "sed", "xxd", "od", "openssl", "base64", "base32"})


def downloads(command: Invocation) -> bool:
    """Say whether `command` prints or stores what another machine sends."""
    if command.name == "openssl":
        return "s_client" in command.words or "s_server" in command.words
    if command.name in ("scp", "rsync"):
        return any(re.match(r"^(?:[\w.-]+@)?[\w.-]+:(?!\\)", word) or "://" in word for word in command.words[:-1])
    if command.name in ("git", "gh"):
        return "clone" in command.words and False
    return command.name in DOWNLOADERS


def decodes(command: Invocation) -> bool:
    """Say whether `command` turns encoded text back into plain text."""
    name, words = command.name, command.words
    if name not in DECODERS:
        return name in ("printf", "echo") and any(_ESCAPED.search(word) for word in _raw(command))
    if name in ("base64", "base32", "base16", "basenc", "gzip"):
        return bool(letters(words) & {"d", "D"}) or has_long(words, "--decode", "--decompress")
    if name == "xxd":
        return "r" in letters(words) or has_long(words, "-revert")
    if name == "openssl":
        return "-d" in words
    return True


def _raw(command: Invocation) -> tuple[str, ...]:
    return command.words


def foreign_code(command: Invocation) -> Iterator[tuple[str, str]]:
    """Yield the rule and the reason why the code that `command` runs is not part of the script."""
    runs = command.executes
    if any(downloads(one) for one in runs):
        yield "remote-code", f"runs what {next(one.name for one in runs if downloads(one))} brings from the network"
    if any(decodes(one) for one in runs):
        yield "encoded", f"runs what {next(one.name for one in runs if decodes(one))} decodes"
    shell_like = command.name in SHELLS or command.name == "eval" or command.name in INTERPRETERS
    if shell_like and runs and runs[0].name in ("echo", "printf") and command.stdin is None:
        hidden = [one.name for one in runs[1:] if one.name in _SCRAMBLERS]
        if hidden and not any(one.name in ("find", "ls", "grep", "cat") for one in runs):
            yield "encoded", f"runs text that {hidden[0]} unscrambles"
