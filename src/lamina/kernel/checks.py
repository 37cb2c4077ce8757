"""Checks of what callers pass, for the rooms that keep named things. Each returns the value as it is stored.

An error's details name fields, limits and lengths; never the text itself.
"""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Never, TypeVar

from lamina.errors import ContentTooLongError, InvalidInputError, QueryTooLongError
from lamina.kernel.text import unstorable

MAX_NAME = 256
MAX_TAGS = 100
MAX_TAG = 200
_MAX_DEPTH = 16
_MAX_INTEGER = 2**53

E = TypeVar("E", bound=StrEnum)


def check_name(field: str, value: object, *, longest: int = MAX_NAME) -> str:
    """A name: a non-blank string without control characters, of at most `longest` characters."""
    text = check_text(field, value, longest=longest)
    if any(unicodedata.category(character) == "Cc" for character in text):
        _refuse(f"{field} must not hold control characters.", field=field)
    return text


def check_text(field: str, value: object, *, longest: int) -> str:
    """A non-blank, storable string, unchanged; raises ContentTooLongError with the longest length allowed."""
    if not isinstance(value, str):
        _refuse(f"{field} must be a string.", field=field, type=type(value).__name__)
    if not value.strip():
        _refuse(f"{field} is empty; give it some text.", field=field)
    if (why := unstorable(value)) is not None:
        _refuse(f"{field} {why}; remove it, or decode the text properly.", field=field)
    if len(value) > longest:
        raise ContentTooLongError(
            f"{field} has {len(value)} characters; at most {longest} are stored.",
            details={"field": field, "max_length": longest, "length": len(value)},
        )
    return str.__str__(value)


def check_query(value: object, *, longest: int) -> str:
    """A question to search with; raises QueryTooLongError with the longest length allowed."""
    try:
        return check_text("query", value, longest=longest)
    except ContentTooLongError as error:
        raise QueryTooLongError(error.message, details=error.details) from None


def check_tags(value: object) -> tuple[str, ...]:
    """The tags without repetitions, in the order given."""
    if not isinstance(value, list | tuple | set | frozenset):
        _refuse("tags must be a list of strings.", field="tags", type=type(value).__name__)
    kept = tuple(dict.fromkeys(check_text("tags", tag, longest=MAX_TAG) for tag in value))
    if len(kept) > MAX_TAGS:
        _refuse(f"At most {MAX_TAGS} tags.", field="tags", maximum=MAX_TAGS, count=len(kept))
    return kept


def check_limit(value: object, *, most: int) -> int:
    """A whole number from 1 to `most`; True is none."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        _refuse(f"limit must be a whole number from 1 to {most}.", field="limit", minimum=1, maximum=most)
    return int(value)


def check_share(field: str, value: object) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        _refuse(f"{field} must be a number from 0 to 1.", field=field, minimum=0, maximum=1)
    return float(value)


def check_choice(field: str, value: object, kind: type[E]) -> E:
    """One of the values of an enumeration; the error names them all."""
    try:
        return kind(str(value))
    except ValueError:
        names = [member.value for member in kind]
        _refuse(f"There is no {field} {str(value)[:80]!a}; use one of {', '.join(names)}.", field=field, known=names)


def check_json(field: str, value: object, *, most_bytes: int) -> dict[str, object]:
    """A deep copy of an object as plain JSON, of at most `most_bytes` bytes; None is empty."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse(f"{field} must be an object.", field=field, type=type(value).__name__)
    plain = {key: _plain(field, item, 1) for key, item in _items(field, value)}
    size = len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())
    if size > most_bytes:
        _refuse(f"{field} takes {size} bytes as JSON; at most {most_bytes} are stored.", field=field, size=size)
    return plain


def _items(field: str, value: Mapping[object, object]) -> list[tuple[str, object]]:
    if not all(isinstance(key, str) and unstorable(key) is None for key in value):
        _refuse(f"Keys in {field} must be strings without NUL or lone surrogates.", field=field)
    return [(str(key), item) for key, item in value.items()]


def _plain(field: str, value: object, depth: int) -> object:
    if depth > _MAX_DEPTH:
        _refuse(f"{field} is nested at most {_MAX_DEPTH} levels deep.", field=field, max_depth=_MAX_DEPTH)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(field, item, depth + 1) for key, item in _items(field, value)}
    if isinstance(value, str):
        if unstorable(value) is None:
            return str.__str__(value)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(field, item, depth + 1) for item in value]
    elif isinstance(value, int) and abs(value) <= _MAX_INTEGER:
        return int(value)
    elif isinstance(value, float) and math.isfinite(value):
        return float(value)
    return _refuse(f"Values in {field} must be plain JSON.", field=field, type=type(value).__name__)


def _refuse(message: str, **details: object) -> Never:
    raise InvalidInputError(message, details=details)
