"""Reads what a model answered: JSON Lines, or what models make of them. Pure, and takes any text whatsoever.

Read are objects wherever they stand: one a line, in a fence, between prose, in an array, in an object around them, over
several lines, with single quotes. Fields are taken as far as they can be understood. A line that was said before, which
is all that a model in a loop has to say, is counted and left out. What cannot be read is reported.
"""

import ast
import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from enum import StrEnum
from typing import Final, TypeVar

from lamina.kernel.text import normalise, unstorable
from lamina.observation.drafts import Answer, Draft
from lamina.observation.types import EntryKind, Period, Priority, Status

MOST_DRAFTS: Final = 400
"""Different lines of an answer that are read; no stretch of a conversation is worth more."""
LONGEST_TEXT: Final = 4_000
"""Characters of a line's text; a longer one is no note."""
_LONGEST_ANSWER: Final = 1_000_000
_LONGEST_OBJECT: Final = 16_000
_MOST_FAILURES: Final = 1_000
_MOST_REPORTS: Final = 20
_MOST_SOURCES: Final = 1_000
_LONGEST_RANGE: Final = 200
_SHOWN: Final = 60

_OPENING: Final = re.compile(r"\{")
_WRAPPERS: Final = frozenset({"entries", "observations", "notes", "reflections"})
_TEXT: Final = ("text", "content", "observation", "note", "entry")
_SOURCES: Final = ("sources", "source", "messages", "sequences")
_MADE_FROM: Final = ("from", "sources", "ids")
_REPLACES: Final = ("supersedes", "replaces", "superseded")
_NUMBERS: Final = re.compile(r"(\d{1,15})(?:\s*(?:-|–|\.\.+|to)\s*(\d{1,15}))?")
_ID: Final = re.compile(r"[a-z]\d{1,6}", re.IGNORECASE)
_DAY: Final = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_UNSEEN: Final = re.compile("[\u200b\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]")
_BULLET: Final = re.compile(r"^(?:[-*•]\s+)+")
_Word = TypeVar("_Word", bound=StrEnum)


def parse_answer(text: str) -> Answer:
    """Everything of an answer that can be read; the same text gives the same result."""
    drafts: dict[str, Draft] = {}
    unreadable: list[str] = []
    nothing, repeated = False, 0
    for found in _objects(text[:_LONGEST_ANSWER]):
        if isinstance(found, str):
            unreadable.append(found)
            continue
        if (said := _said(found)) is None:
            if _says_nothing(found):
                nothing = True
            else:
                unreadable.append(f"an object without a text: {_short(str(sorted(map(str, found))))}")
            continue
        if isinstance(said, Draft):
            if (key := normalise(said.text)) in drafts:
                repeated += 1
            elif len(drafts) < MOST_DRAFTS:
                drafts[key] = said
            else:
                unreadable.append(f"more than {MOST_DRAFTS} lines")
            continue
        unreadable.append(said)
    if not drafts and not nothing and not unreadable and text.strip():
        unreadable.append(f"no JSON in: {_short(text)}")
    return Answer(
        drafts=tuple(drafts.values()),
        nothing=nothing and not drafts and not unreadable,
        unreadable=tuple(dict.fromkeys(unreadable))[:_MOST_REPORTS],
        repeated=repeated,
    )


def _objects(text: str) -> Iterator[dict[str, object] | str]:
    """The objects of a text, inner ones of lists and wrappers; a string says why a piece was not one."""
    decoder, place, failures = json.JSONDecoder(), 0, 0
    while (match := _OPENING.search(text, place)) and failures < _MOST_FAILURES:
        start = match.start()
        piece = text[start : start + _LONGEST_OBJECT]
        try:
            value, length = decoder.raw_decode(piece)
        except (ValueError, RecursionError):
            value, length = _python_object(piece)
        if length:
            place = start + length
            yield from _inner(value)
            continue
        failures += 1
        # What is inside an object that is not whole may be whole: the lines of an array that was cut off.
        inside = text.find("{", start + 1)
        line_end = text.find("\n", start)
        if inside < 0 or 0 <= line_end < inside:
            yield f"not JSON: {_short(piece)}"
        place = start + 1


def _python_object(piece: str) -> tuple[object, int]:
    """An object with single quotes or a comma too many, on one line; length 0 when it is none."""
    line = piece.partition("\n")[0]
    end = line.rfind("}") + 1
    if end and end <= LONGEST_TEXT and line.count("{") + line.count("[") <= 16:
        try:
            value = ast.literal_eval(line[:end])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None, 0
        if isinstance(value, dict):
            return value, end
        if isinstance(value, tuple):  # several, with commas between them
            return list(value), end
    return None, 0


def _inner(value: object, depth: int = 0) -> Iterator[dict[str, object] | str]:
    if isinstance(value, list) and depth < 4:
        for one in value:
            yield from _inner(one, depth + 1)
    if not isinstance(value, dict):
        return
    wrapped = [one for one in value.values() if isinstance(one, list) and any(isinstance(item, dict) for item in one)]
    if wrapped and not any(isinstance(value.get(name), str) for name in _TEXT):
        yield from _inner(wrapped, depth + 1)
    else:
        yield value


def _says_nothing(found: dict[str, object]) -> bool:
    if found.get("nothing") is True:
        return True
    return bool(found) and all(name in _WRAPPERS and value == [] for name, value in found.items())


def _said(found: dict[str, object]) -> Draft | str | None:
    """The draft in an object, why there is none, or None when it has no text at all."""
    text = next((value for name in _TEXT if isinstance(value := found.get(name), str)), None)
    if text is None:
        return None
    text = _one_line(text)
    if not text:
        return "an empty text"
    if len(text) > LONGEST_TEXT:
        return f"a text of {len(text)} characters: {_short(text)}"
    return Draft(
        text=text,
        kind=_word(found.get("kind", found.get("type")), EntryKind, EntryKind.FACT),
        priority=_word(found.get("priority"), Priority, Priority.MEDIUM),
        status=_word(found.get("status"), Status, Status.OPEN),
        sources=tuple(dict.fromkeys(_numbers(_first(found, _SOURCES))))[:_MOST_SOURCES],
        made_from=tuple(dict.fromkeys(_ids(_first(found, _MADE_FROM))))[:_MOST_SOURCES],
        replaces=tuple(dict.fromkeys(_ids(_first(found, _REPLACES))))[:_MOST_SOURCES],
        refers_to=_period(found.get("refers_to")),
    )


def _one_line(text: str) -> str:
    """The text on one line, without what nobody sees and what no store takes."""
    plain = _UNSEEN.sub("", _CONTROL.sub(" ", text))
    if unstorable(plain) is not None:
        plain = plain.encode("utf-8", "replace").decode()
    return _BULLET.sub("", " ".join(plain.split()))


def _first(found: dict[str, object], names: tuple[str, ...]) -> object:
    return next((found[name] for name in names if found.get(name) is not None), None)


def _word(value: object, words: type[_Word], default: _Word) -> _Word:
    try:
        return words(value.strip().lower()) if isinstance(value, str) else default
    except ValueError:
        return default


def _numbers(value: object) -> Iterator[int]:
    """Sequence numbers: 3, "3", "#3", "3-5", or a list of such."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, float) and value.is_integer():
        yield int(value)
    elif isinstance(value, str):
        for first, last in _NUMBERS.findall(value[:_LONGEST_OBJECT]):
            start, end = int(first), int(last or first)
            # A range that spans more than any stretch is a mistake; its ends say so when they are looked up.
            yield from range(start, end + 1) if 0 <= end - start <= _LONGEST_RANGE else (start, end)
    elif isinstance(value, list):
        for one in value[:_MOST_SOURCES]:
            if not isinstance(one, list | dict):
                yield from _numbers(one)


def _ids(value: object) -> Iterator[str]:
    """Short ids: "e3", ["e3", "E4"], "e3, e4"; what is no id stays as it is, to be refused by its name."""
    if isinstance(value, str):
        found = _ID.findall(value[:_LONGEST_OBJECT])
        yield from (one.lower() for one in found) if found else ([_short(value)] if value.strip() else [])
    elif isinstance(value, list):
        for one in value[:_MOST_SOURCES]:
            if isinstance(one, str):
                yield from _ids(one)
            elif isinstance(one, int) and not isinstance(one, bool):
                yield str(one)


def _period(value: object) -> Period | None:
    """Days: "2026-05-03", "2026-05", "2026-05-03/2026-05-05", a list of two, or first and last."""
    if isinstance(value, dict):
        value = [value.get("first"), value.get("last")]
    if isinstance(value, list):
        value = " ".join(one for one in value if isinstance(one, str))
    if not isinstance(value, str):
        return None
    try:
        spans = [_days(*found) for found in _DAY.findall(value[:200])]
    except ValueError:
        return None
    if not 1 <= len(spans) <= 2 or spans[0].first > spans[-1].last:
        return None
    return Period(first=spans[0].first, last=spans[-1].last)


def _days(year: str, month: str, day: str) -> Period:
    if day:
        one = date(int(year), int(month), int(day))
        return Period(first=one, last=one)
    first = date(int(year), int(month), 1)
    following = (first + timedelta(days=31)).replace(day=1)
    return Period(first=first, last=following - timedelta(days=1))


def _short(text: str) -> str:
    plain = _one_line(text)
    return plain if len(plain) <= _SHOWN else plain[:_SHOWN] + "…"
