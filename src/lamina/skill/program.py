"""Names of programs by what they can do, and how their options are read."""

import fnmatch
import re
from collections.abc import Sequence

from lamina.skill.invocation import UNKNOWN, Field

SHELLS = frozenset({
    "sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "lksh", "ash", "fish", "csh", "tcsh", "rbash", "yash",
    "elvish", "osh"
})  # fmt: skip
INTERPRETERS = frozenset({
    "python", "pypy", "perl", "ruby", "jruby", "php", "node", "bun", "deno", "lua", "luajit", "tclsh", "wish",
    "expect", "awk", "gawk", "mawk", "nawk", "rscript", "r", "julia", "guile", "scala", "groovy", "jjs", "jshell",
    "ghci", "ghc", "irb", "gimp", "octave", "pwsh", "powershell", "osascript", "qjs", "d8", "js"
})  # fmt: skip
DOWNLOADERS = frozenset({
    "curl", "wget", "fetch", "aria2c", "axel", "lynx", "links", "elinks", "w3m", "http", "https", "httpie", "xh",
    "lwp-request", "lwp-download", "get", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "sftp", "scp",
    "rsync", "smbclient", "gsutil", "finger", "whois", "dig", "drill", "host", "nslookup", "openssl", "bitsadmin",
    "certutil"
})  # fmt: skip
DECODERS = frozenset({
    "base64", "base32", "base16", "basenc", "xxd", "uudecode", "openssl", "gunzip", "zcat", "gzip", "bzcat",
    "bunzip2", "xzcat", "unxz"
})  # fmt: skip

# Programs a glob or a version suffix in command position may stand for.
_KNOWN = frozenset({
    "rm", "mv", "dd", "nc", "ncat", "netcat", "socat", "curl", "wget", "sudo", "su", "chmod", "chown", "cat",
    "shred", "mkfs", "bash", "sh", "zsh", "dash", "python", "perl", "ruby", "php", "node", "lua", "telnet",
    "openssl", "base64", "eval", "find", "xargs", "env", "tee", "cp", "busybox", "awk", "unlink", "wipefs"
})  # fmt: skip
_VERSIONED = re.compile(
    r"^(python|pypy|perl|ruby|php|lua|luajit|tclsh|wish|bash|zsh|ksh|node|gcc|gdb|ghc)[-.]?\d[\d.]*m?$"
)
_ALIASES = {"nodejs": "node", "nc.traditional": "nc", "nc.openbsd": "nc", "vi": "vim", "rvim": "vim", "view": "vim"}
_ALIASES |= {"Rscript": "rscript", "R": "r"}


def program_name(word: str) -> str:
    """Return the bare name of the program that `word` in command position starts.

    A path, a version and a glob are seen through; what the script does not tell is left out.
    """
    path = word.replace(UNKNOWN, "")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if name != "[" and name != "[[" and any(sign in path for sign in "*?["):
        for known in sorted(_KNOWN, key=len):
            if any(fnmatch.fnmatchcase(folder + known, path) for folder in ("", "/bin/", "/usr/bin/", "/sbin/")):
                return known
    found = _VERSIONED.match(name)
    if found:
        name = found[1]
    return _ALIASES.get(name, name)


def operands(words: Sequence[str], *, valued: str = "", long_valued: Sequence[str] = ()) -> list[str]:
    """Return the words that are no options; `valued` are the short options that take a value."""
    rest: list[str] = []
    waiting = False
    for at, word in enumerate(words):
        if waiting:
            waiting = False
        elif word == "--":
            rest.extend(words[at + 1 :])
            break
        elif word.startswith("--") and len(word) > 2:
            waiting = word in long_valued
        elif len(word) > 1 and word.startswith("-"):
            waiting = _ends_open(word, valued)
        else:
            rest.append(word)
    return rest


def _ends_open(word: str, valued: str) -> bool:
    for at, letter in enumerate(word[1:], start=1):
        if letter in valued:
            return at == len(word) - 1
    return False


def skip_options(argv: Sequence[Field], at: int, *, valued: str = "", long_valued: Sequence[str] = ()) -> int:
    """Return the place of the first word of `argv` from `at` on that is neither an option nor an option's value."""
    while at < len(argv):
        word = argv[at].text
        if word == "--":
            return at + 1
        if word.startswith("--") and len(word) > 2:
            at += 2 if word in long_valued else 1
        elif len(word) > 1 and word.startswith("-"):
            at += 2 if _ends_open(word, valued) else 1
        else:
            return at
    return at


def letters(words: Sequence[str]) -> set[str]:
    """Return the letters of all short options in `words`."""
    found: set[str] = set()
    for word in words:
        if word == "--":
            break
        if len(word) > 1 and word.startswith("-") and not word.startswith("--"):
            found.update(word[1:])
    return found


def has_long(words: Sequence[str], *names: str) -> bool:
    """Say whether one of the long options `names` is given, also abbreviated as getopt allows."""
    for word in words:
        if word == "--":
            return False
        option = word.split("=", 1)[0]
        if len(option) > 4 and option.startswith("--") and any(name.startswith(option) for name in names):
            return True
    return False


def option_value(words: Sequence[str], *names: str) -> str | None:
    """Return the value given to the first of the options `names`, as `-x value`, `-xvalue` or `--long=value`."""
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                return words[at + 1] if at + 1 < len(words) else None
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if not name.startswith("--") and len(name) == 2 and word.startswith(name) and len(word) > 2:
                return word[2:]
    return None
