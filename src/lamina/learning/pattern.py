"""The pattern of an error: what stays the same when it happens again. Pure.

Quoted values, addresses, moments, paths, identifiers and numbers become placeholders; the words stay, in any script.
The name of the exception only counts where its message says nothing by itself, as that of a KeyError does, so that an
error is recognised from its exception, from its text alone, and from the last line of a traceback. A pattern is its
own pattern.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

LONGEST_PATTERN: Final = 500
LONGEST_ERROR: Final = 8_000
"""Characters of an error that are looked at."""
UNKNOWN: Final = "unknown error"
_MOST_ROUNDS = 16

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]+")
_TRACEBACK = "Traceback (most recent call last):"
_KIND = re.compile(
    r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Timeout|Exit|Interrupt|Failure|Fault|Warning|Group))(?::\s*|$)"
)

_QUOTES = ("''", '""', "``", "“”", "‘’", "„“", "«»", "「」", "『』")


def _quoted(opening: str, closing: str) -> str:
    if closing not in "'\"`’":
        return rf"{opening}[^{closing}]{{0,1000}}+{closing}"
    # A quote within a word is an apostrophe: it neither opens nor closes anything.
    inner = rf"(?:[^{closing}\\]|\\.|(?<=\w){closing}(?=\w)){{0,1000}}+"
    return rf"(?<!\w){opening}{inner}{closing}(?!\w)"


def _identifier(found: re.Match[str]) -> str:
    """Long words that mix letters with two digits or more."""
    word = found[0]
    mixed = sum(map(str.isdigit, word)) >= 2 and any(map(str.isalpha, word))
    return "<id>" if mixed else word


_PATH_PART = r"[^\s/\\:*?\"'<>|,;()\[\]{}`]+"
_HOST_END = r"(?:com|org|net|io|dev|app|ai|cloud|internal|local|lan|corp|edu|gov|localhost|cluster|svc|test|example)"
_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(expression), placeholder)
    for expression, placeholder in (
        ("|".join(_quoted(pair[0], pair[1]) for pair in _QUOTES), "<value>"),
        (r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"'`,;()\[\]{}]+", "<url>"),
        (
            r"\b\d{4}-\d{2}-\d{2}"
            r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?(?!\w)",
            "<time>",
        ),
        (
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} [A-Z][a-z]{2}|[A-Z][a-z]{2} {1,2}\d{1,2}),?"
            r"(?: \d{4})? \d{2}:\d{2}:\d{2}(?: \d{4})?(?: (?:Z|UTC|GMT|[+-]\d{4}))?\b",
            "<time>",
        ),
        (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
        (r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b", "<id>"),
        (r"\b0[xX][0-9A-Fa-f]+\b", "<address>"),
        (r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?(?::\d{1,5})?(?![\w.]\d)", "<address>"),
        (r"\[?(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:])(?:\](?::\d{1,5})?)?", "<address>"),
        (rf"(?<![\w.-])(?:[A-Za-z0-9_-]{{1,63}}\.){{1,8}}{_HOST_END}(?::\d{{1,5}})?\b(?!\.\w)", "<address>"),
        (r"\blocalhost(?::\d{1,5})?\b", "<address>"),
        (rf"(?<![\w<])[A-Za-z]:\\(?:{_PATH_PART}\\?)*|(?<!\S)\\\\{_PATH_PART}(?:\\{_PATH_PART})*", "<path>"),
        (rf"(?<![\w<.])(?:~|\.{{1,2}})?/(?:{_PATH_PART}/?)+", "<path>"),
        (r"(?<![\w<./-])[\w.-]+(?:/[\w.-]+)+\.[A-Za-z]\w{0,7}\b(?!\()", "<path>"),
        (r"(?<![\w<-])[\w-]{8,}(?![\w>])", _identifier),
        (r"(?<![\w.])[-+]?\d+(?:[.,_]\d+)*(?:[eE][-+]?\d+)?|\d+(?:[.,]\d+)*", "<number>"),
    )
)
_AGAIN = re.compile(r"(<(?:value|url|time|id|address|path|number)>)(?:(?:[,;:|/-]|\s)+\1)+")
PLACEHOLDER = re.compile(r"<(?:value|url|time|id|address|path|number)>")


def error_text(error: BaseException) -> str:
    """What an error says, `Kind: message`, at most `LONGEST_ERROR` characters; never raises because of the error.

    A group of one is its member, a group of several its first.
    """
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    kind = type(error).__name__
    try:
        message = str(error)[:LONGEST_ERROR]
    except Exception:  # noqa: BLE001 -- isolation: an error that cannot be shown must not break the tool that raised it
        return kind
    return f"{kind}: {message}" if message.strip() else kind


def clean_text(text: str, *, longest: int = LONGEST_ERROR) -> str:
    """The text as both engines can store it: no NUL, no lone surrogates, at most `longest` characters."""
    return text[: longest + 1].replace("\0", "").encode("utf-8", "replace").decode()[:longest]


def extract_pattern(text: str) -> str:
    """The pattern of an error's text; not empty, at most `LONGEST_PATTERN` characters."""
    pattern = _once(clean_text(text))
    for _ in range(_MOST_ROUNDS):  # what was replaced can let its neighbours be seen
        again = _once(pattern)
        if again == pattern:
            break
        pattern = again
    return pattern


def _once(text: str) -> str:
    kind, message = _split(_last_line(text))
    pattern = _replaced(message)[:LONGEST_PATTERN].strip()
    if any(character.isalpha() for character in PLACEHOLDER.sub("", pattern)):
        return pattern
    if not kind:
        return pattern or UNKNOWN
    return f"{kind}: {pattern}"[:LONGEST_PATTERN].strip(" :")


def _last_line(text: str) -> str:
    """One line; of a printed traceback the line that names the error."""
    if _TRACEBACK in text:
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
        text = lines[-1] if lines and lines[-1] != _TRACEBACK else text
    return " ".join(_CONTROL.sub(" ", unicodedata.normalize("NFC", text)).split())


def _split(text: str) -> tuple[str, str]:
    """The innermost kind of error that stands before the message, and the message."""
    kind = ""
    while (found := _KIND.match(text)) is not None:
        kind, text = found[1], text[found.end() :]
    return kind, text


def _replaced(text: str) -> str:
    for expression, placeholder in _RULES:
        text = expression.sub(placeholder, text)
    return " ".join(_AGAIN.sub(r"\1", text).split())
