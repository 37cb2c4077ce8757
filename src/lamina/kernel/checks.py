"""Checks of what callers pass, without I/O, for every room. Each returns the value as it is stored.

An error says what to do and names fields, limits and lengths; never the text itself.
"""

import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Never, TypeGuard, TypeVar

from lamina.errors import ContentTooLongError, InvalidInputError, QueryTooLongError
from lamina.kernel.text import unseen, unstorable

MAX_NAME = 256
MAX_TAGS = 100
MAX_TAG = 200
MAX_DEPTH = 16
MAX_INTEGER = 2**53
"""Integers up to here are exact as doubles, so that every engine and every JSON reader agrees on them."""

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

E = TypeVar("E", bound=StrEnum)


def check_name(field: str, value: object, *, longest: int = MAX_NAME, operation: str | None = None) -> str:
    """A name: a non-blank string without control characters, of at most `longest` characters."""
    if not isinstance(value, str):
        refuse(f"{field} must be a string.", operation, field=field, type=type(value).__name__)
    controls = not value.isprintable() and any(unicodedata.category(character) == "Cc" for character in value)
    if not value.strip() or len(value) > longest or controls or unstorable(value) is not None:
        refuse(
            f"{field} must be a non-blank string of at most {longest} characters, "
            "without control characters or lone surrogates.",
            operation,
            field=field,
            max_length=longest,
        )
    return str.__str__(value)


def check_new_name(field: str, value: object, *, longest: int = MAX_NAME, operation: str | None = None) -> str:
    """A name under which something new is kept: without characters that nobody sees, so that no two look the same."""
    name = check_name(field, value, longest=longest, operation=operation)
    if (place := unseen(name)) is not None:
        character = f"U+{ord(name[place]):04X}"
        refuse(
            f"{field} has the invisible character {character} at position {place + 1}; remove it.",
            operation,
            field=field,
            character=character,
        )
    return name


def check_text(field: str, value: object, *, longest: int, operation: str | None = None) -> str:
    """A non-blank, storable string, unchanged; raises ContentTooLongError with the longest length allowed."""
    text = _text(field, value, operation)
    if len(text) > longest:
        raise ContentTooLongError(
            f"The {field} has {len(text)} characters; at most {longest} are stored. Split it.",
            operation=operation,
            details={"max_length": longest, "length": len(text)},
        )
    return text


def check_query(value: object, *, longest: int, operation: str | None = None) -> str:
    """A question to search with, unchanged; raises QueryTooLongError with the longest length allowed."""
    text = _text("query", value, operation)
    if len(text) > longest:
        raise QueryTooLongError(
            f"The query has {len(text)} characters; at most {longest} are accepted. Shorten it.",
            operation=operation,
            details={"max_length": longest, "length": len(text)},
        )
    return text


def check_tags(value: object, *, operation: str | None = None) -> tuple[str, ...]:
    """The tags without repetitions, in the order given. None is none."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        refuse("Tags must be a list of strings.", operation, field="tags", type=type(value).__name__)
    for tag in value:
        if not isinstance(tag, str) or not tag.strip() or len(tag) > MAX_TAG or unstorable(tag) is not None:
            refuse(
                f"A tag must be a non-blank string of at most {MAX_TAG} characters, without NUL or lone surrogates.",
                operation,
                field="tags",
                max_length=MAX_TAG,
            )
    kept = tuple(dict.fromkeys(str.__str__(tag) for tag in value))
    if len(kept) > MAX_TAGS:
        refuse(f"At most {MAX_TAGS} tags.", operation, field="tags", maximum=MAX_TAGS, count=len(kept))
    return kept


def check_limit(value: object, *, most: int, operation: str | None = None) -> int:
    """A whole number from 1 to `most`; True is none."""
    if not is_whole(value, 1, most):
        refuse(f"limit must be a whole number from 1 to {most}.", operation, field="limit", minimum=1, maximum=most)
    return int(value)


def check_share(field: str, value: object, *, operation: str | None = None) -> float:
    """A number from 0 to 1."""
    return check_number(field, value, least=0, most=1, operation=operation)


def check_number(field: str, value: object, *, least: float, most: float, operation: str | None = None) -> float:
    """A number within bounds; True and what is not a number are none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        refuse(f"{field} must be a number from {least} to {most}.", operation, field=field, minimum=least, maximum=most)
    return float(value)


def check_choice(field: str, value: object, kind: type[E], *, operation: str | None = None) -> E:
    """One of the values of an enumeration; the error names them all."""
    try:
        return kind(str(value))
    except ValueError:
        names = [member.value for member in kind]
        shown = ascii(str(value)[:80])
        refuse(f"There is no {field} {shown}; use one of {', '.join(names)}.", operation, field=field, known=names)


def check_moment(field: str, value: object, *, operation: str | None = None) -> datetime | None:
    """The moment in UTC, None for none. A time without a zone is refused, not guessed."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        refuse(f"{field} must be a datetime with a time zone, such as datetime.now(UTC).", operation, field=field)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        refuse(f"{field} is out of range.", operation, field=field)


def check_json(field: str, value: object, *, max_size: int, operation: str | None = None) -> dict[str, JsonValue]:
    """A deep copy of an object as plain JSON; `max_size` is in bytes of compact UTF-8 JSON. None is empty."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(f"{field} must be an object.", operation, field=field, type=type(value).__name__)
    plain = {str.__str__(key): _json(field, value[key], 1, operation) for key in _keys(field, value, operation)}
    check_json_size(field, plain, max_size=max_size, operation=operation)
    return plain


def check_json_size(field: str, plain: Mapping[str, JsonValue], *, max_size: int, operation: str | None = None) -> None:
    """Refuse a plain object that takes more than `max_size` bytes of compact UTF-8 JSON."""
    size = len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())
    if size > max_size:
        refuse(
            f"{field} takes {size} bytes as JSON; at most {max_size} are stored.",
            operation,
            field=field,
            max_size=max_size,
            size=size,
        )


def is_whole(value: object, least: int, most: int) -> TypeGuard[int]:
    """Whether a value is a whole number within bounds; True is none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def refuse(message: str, operation: str | None, **details: object) -> Never:
    """Raise InvalidInputError."""
    raise InvalidInputError(message, operation=operation, details=details)


def _text(field: str, value: object, operation: str | None) -> str:
    if not isinstance(value, str):
        refuse(f"The {field} must be a string.", operation, field=field, type=type(value).__name__)
    if not value.strip():
        refuse(f"The {field} is empty; give it some text.", operation, field=field)
    if (why := unstorable(value)) is not None:
        refuse(f"The {field} {why}; remove it, or decode the text properly.", operation, field=field)
    return str.__str__(value)


def _keys(field: str, value: Mapping[object, object], operation: str | None) -> list[str]:
    keys = [key for key in value if isinstance(key, str) and unstorable(key) is None]
    if len(keys) < len(value):
        refuse(f"Keys in {field} must be strings without NUL or lone surrogates.", operation, field=field)
    return keys


def _json(field: str, value: object, depth: int, operation: str | None) -> JsonValue:
    if depth > MAX_DEPTH:
        refuse(f"{field} is nested at most {MAX_DEPTH} levels deep.", operation, field=field, max_depth=MAX_DEPTH)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        keys = _keys(field, value, operation)
        return {str.__str__(key): _json(field, value[key], depth + 1, operation) for key in keys}
    if isinstance(value, list | tuple):
        return [_json(field, item, depth + 1, operation) for item in value]
    return _scalar(field, value, operation)


def _scalar(field: str, value: object, operation: str | None) -> JsonValue:
    if isinstance(value, str) and unstorable(value) is None:
        return str.__str__(value)
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return refuse(
        f"Values in {field} must be JSON: strings without NUL or lone surrogates, finite numbers (integers "
        "within ±2^53; store larger ones as strings), booleans, null, lists and objects.",
        operation,
        field=field,
        type=type(value).__name__,
    )
