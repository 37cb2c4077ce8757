"""Numbers and times of day, however they are written: 10,000 and 10 000, 5 % and five percent, 2:30 pm and 14:30.

Texts are given in the form `plain` makes of them. A number can be read in more than one way (1.500 is one and a half,
or fifteen hundred); two numbers are the same when they have a reading in common.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from lamina.index.terms import stem, words
from lamina.memory.word_lists import SAME
from lamina.observation.calendar_words import NUMBERS, UNITS, either

_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
        **dict.fromkeys("’‘‚‛′ʼ`´", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "),
        **dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff*"),
    }
)
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The inside of a character class: scripts that write words without blanks between them."""
_JOINTS: Final = re.compile(
    rf"(?<=[{UNSPACED}])(?=[^\W{UNSPACED}])|(?<=[^\W{UNSPACED}])(?=[{UNSPACED}])|(?<=\d)(?=[가-힣])|(?<=[가-힣])(?=[0-9])"
)


def _counted_from(start: int, names: str) -> dict[str, str]:
    return {name: str(place) for place, name in enumerate(names.split(), start)}


_WORD_NUMBERS: Final = {
    **{name: str(value) for name, value in NUMBERS.items() if value > 1 and name != "once" and name.isalpha()},
    **{name: number for name, number in SAME.items() if name.isalpha() and number.isdigit() and int(number) > 1},
    **dict.fromkeys(("million", "millionen", "millions", "millones"), "1000000"),
    **dict.fromkeys(("billion", "billions"), "1000000000"),
    **dict.fromkeys(("sixty", "sechzig"), "60"),
    **dict.fromkeys(("seventy", "siebzig"), "70"),
    **dict.fromkeys(("eighty", "achtzig"), "80"),
    **dict.fromkeys(("ninety", "neunzig"), "90"),
    **dict.fromkeys(("thousand", "tausend", "mille", "mil"), "1000"),
    **dict.fromkeys(("hundred", "hundert", "cent", "cien"), "100"),
    **_counted_from(3, "third fourth fifth sixth seventh eighth ninth tenth"),
    **_counted_from(13, "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"),
}
_SECOND: Final = _WORD_NUMBERS | {"one": "1"}
_SCALES: Final = {"100", "1000", "1000000", "1000000000"}
_MEASURES: Final = {
    name: names.split()[0]
    for names in (
        "%|percent|prozent|pct",
        "kb|kib",
        "mb|mib|megabytes",
        "gb|gib|gigabytes",
        "tb|tib|terabytes",
        "ms|milliseconds|msec",
        "s|sec|secs|second|seconds|sekunden",
        "min|mins|minute|minutes|minuten",
        "h|hr|hrs|hour|hours|stunde|stunden",
        "km|kilometers|kilometres|kilometer",
        "mi|mile|miles",
        "kg|kilos|kilograms",
        "g|gram|grams|gramm",
        "lb|lbs|pounds",
        "cm|centimeters",
        "mm|millimeters",
        "$|usd|dollar|dollars",
        "€|eur|euro|euros",
        "£|gbp",
        "¥|jpy|yen",
        "°c|celsius",
        "°f|fahrenheit",
        "px|pixels",
        "k",
    )
    for name in names.split("|")
    for names in [names.replace("|", " ")]
} | {name: unit for name, unit in UNITS.items() if unit in ("day", "week", "month", "year")}
_TIME: Final = re.compile(
    r"(?<![\w.:/-])(?P<hour>[01]?\d|2[0-4])(?:(?:[:.]|h(?=\d\d))(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[ap])\.?m\b\.?|(?=\s?uhr\b)|(?<=[:h]\d\d)|(?<=:\d\d:\d\d))"
    r"|\s?(?P<whole>[ap])\.?m\b\.?)(?![\w:]|[.-]\d)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?<![^\W_])(?<![\w][.,/:\\@#_-])(?<![.#@_\\/])(?P<sign>(?<!\S)-|(?<=\()-)?(?P<before>[$€£¥])?\s?"
    r"(?P<digits>\d{1,3}(?:(?P<group>[ ,.'_])\d{3})(?:(?P=group)\d{3})*(?:[.,]\d{1,2})?(?![\d']|(?P=group)\d)"
    r"|\d+(?:[.,]\d+)?)"
    r"(?:(?P<ordinal>st|nd|rd|th|er|\.)(?![\w])|\s?-?(?P<unit>%|°\s?[cf]\b|[€£$¥]|[^\W\d_]{1,12}(?![\w])))?"
    r"(?![^\W]|[.,:/\\-]\d|-[^\W\d_])",
    re.IGNORECASE,
)
_WRITTEN: Final = re.compile(
    rf"(?<!\w)(?P<first>{either(_WORD_NUMBERS)})(?:[\s-](?P<second>{either(_SECOND)}))?(?!\w)", re.IGNORECASE
)
_SCALE: Final = re.compile(
    rf"\s*(?P<scale>{either(name for name, value in _WORD_NUMBERS.items() if value in _SCALES)})\b"
)
_NEXT: Final = re.compile(r"[\s-]*[^\s,;:.!?()\[\]|]+(?:\s+[^\s,;:.!?()\[\]|]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in a text, what it can mean, what it counts, and where it stands."""

    values: frozenset[str]
    unit: str | None
    counted: tuple[str, ...]
    """Stems of the one or two words that follow it."""
    start: int
    end: int


def plain(text: str) -> str:
    """The text with one form for each digit, dash, quotation mark and blank; case stays. Idempotent, never fails.

    Where a script without blanks meets another one, a blank is put between them.
    """
    if text.isascii():
        return text.translate(_SIGNS)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(_SIGNS))
    if any(one.isdecimal() and not one.isascii() for one in folded):
        folded = "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in folded)
    return _JOINTS.sub(" ", folded)


def find_times(text: str) -> Iterator[tuple[frozenset[str], int, int]]:
    """Times of day: their readings on a clock of 24 hours, and where they stand."""
    for match in _TIME.finditer(text):
        hour, minute = int(match["hour"]), match["minute"] or "00"
        half = (match["half"] or match["whole"] or "").lower()
        if half:
            hours = {hour % 12 + (12 if half == "p" else 0)}
        else:
            hours = {hour % 24, hour + 12} if 1 <= hour < 12 else {hour % 24}
        yield frozenset(f"{one:02}:{minute}" for one in hours), match.start(), match.end()


def find_quantities(text: str) -> Iterator[Quantity]:
    """Numbers in digits and in words, from left to right; those inside names and codes are not numbers."""
    taken = 0
    found = [*_NUMBER.finditer(text), *_WRITTEN.finditer(text)]
    for match in sorted(found, key=lambda one: one.start()):
        if match.start() < taken:
            continue
        one = _written(match, text) if match.re is _WRITTEN else _digits(match, text)
        taken = one.end
        yield one


def readings(digits: str) -> frozenset[str]:
    """What a number in digits can mean."""
    found = set()
    if re.fullmatch(r"\d{1,3}(?:[ ,.'_]\d{3})+(?:[.,]\d{1,2})?", digits):
        whole, mark, cents = digits, "", ""
        if match := re.fullmatch(r"(.*\d{3})([.,])(\d{1,2})", digits):
            whole, mark, cents = match[1], match[2], match[3]
        found.add(_canonical(re.sub(r"\D", "", whole) + ("." + cents if mark else "")))
    if re.fullmatch(r"\d+(?:\.\d+)?", digits) or re.fullmatch(r"\d+,(?:\d{1,2}|\d{4,})", digits):
        found.add(_canonical(digits.replace(",", ".")))
    return frozenset(found)


def _digits(match: re.Match[str], text: str) -> Quantity:
    values, end, unit = readings(match["digits"]), match.end(), match["unit"]
    known = _MEASURES[match["before"]] if match["before"] else None
    if unit is not None:
        measure = _MEASURES.get(unit.lower().replace(" ", ""))
        if measure == "k":
            values = _times(values, "1000")
        elif measure:
            known = known or measure
        else:  # a word that measures nothing is not part of the number, only what it counts
            end = match.start("unit")
    elif match["ordinal"] == ".":
        end = match.start("ordinal")
    if scale := _SCALE.match(text, end):
        values, end = _times(values, _WORD_NUMBERS[scale["scale"].lower()]), scale.end()
    if match["sign"]:
        values = frozenset("-" + value for value in values)
    return Quantity(values=values, unit=known, counted=_counted(text, end), start=match.start("digits"), end=end)


def _written(match: re.Match[str], text: str) -> Quantity:
    first = _WORD_NUMBERS[match["first"].lower()]
    second = _SECOND.get((match["second"] or "").lower())
    end = match.end()
    if second is None:
        values = {first}
    elif second in _SCALES:
        values = set(_times(frozenset({first}), second))
    elif int(first) in range(20, 100, 10) and int(second) < 10:
        values = {str(int(first) + int(second))}
    else:
        values, end = {first}, match.end("first")
    unit = None
    if after := re.compile(r"[\s-](%|[^\W\d_]{1,12})(?!\w)").match(text, end):
        unit = _MEASURES.get(after[1].lower())
    return Quantity(values=frozenset(values), unit=unit, counted=_counted(text, end), start=match.start(), end=end)


def _times(values: frozenset[str], scale: str) -> frozenset[str]:
    return frozenset(_canonical(str(Decimal(value) * Decimal(scale))) for value in values)


@lru_cache(maxsize=4096)
def _canonical(number: str) -> str:
    if len(number) > 40:
        return number
    return format(Decimal(number).normalize(), "f")


def _counted(text: str, end: int) -> tuple[str, ...]:
    match = _NEXT.match(text, end)
    return tuple(stem(word) for word in words(match[0])[:2]) if match else ()
