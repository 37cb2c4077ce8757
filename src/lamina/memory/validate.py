"""Checks of what callers pass, without I/O. Each returns the value as it is stored, or says what to do.

An error's details name fields, limits and lengths; never the text of a memory.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Never, TypeGuard

from lamina.errors import ContentTooLongError, InvalidInputError, QueryTooLongError
from lamina.kernel.text import unstorable
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, JsonValue, NewMemory, Source

MAX_INTEGER = 2**53
"""Integers up to here are exact as doubles, so that every engine and every JSON reader agrees on them."""
MAX_DEPTH = 16
MAX_TAGS = 100
MAX_TAG_LENGTH = 200
MAX_IDENTIFIER_LENGTH = 256
MAX_REFERENCE_LENGTH = 2048
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
SOURCE_KINDS = ("conversation", "tool_result", "knowledge_sync", "manual", "import")
_KNOWN = frozenset(IDENTIFIER_NAMES)


def is_storable(text: str) -> bool:
    """Whether both engines can store the text: no NUL, no lone surrogate."""
    return unstorable(text) is None


def check_content(content: object, max_length: int, *, operation: str | None = None) -> str:
    """The text of a memory, unchanged; raises ContentTooLongError with the longest length allowed."""
    text = _text("content", content, operation)
    if len(text) > max_length:
        raise ContentTooLongError(
            f"The content has {len(text)} characters; at most {max_length} are stored. Split it.",
            operation=operation,
            details={"max_length": max_length, "length": len(text)},
        )
    return text


def check_query(query: object, max_length: int, *, operation: str | None = None) -> str:
    """A question to search with, unchanged; raises QueryTooLongError with the longest length allowed."""
    text = _text("query", query, operation)
    if len(text) > max_length:
        raise QueryTooLongError(
            f"The query has {len(text)} characters; at most {max_length} are accepted. Shorten it.",
            operation=operation,
            details={"max_length": max_length, "length": len(text)},
        )
    return text


def check_metadata(metadata: object, max_size: int, *, operation: str | None = None) -> dict[str, JsonValue]:
    """A deep copy as plain JSON; `max_size` is in bytes of compact UTF-8 JSON. None is empty."""
    if metadata is None or (type(metadata) is dict and not metadata):
        return {}
    if not isinstance(metadata, Mapping):
        _refuse("Metadata must be an object.", operation, field="metadata", type=type(metadata).__name__)
    plain = {str.__str__(key): _json(metadata[key], 1, operation) for key in _keys(metadata, operation)}
    check_metadata_size(plain, max_size, operation=operation)
    return plain


def check_metadata_size(plain: Mapping[str, JsonValue], max_size: int, *, operation: str | None = None) -> None:
    """Refuse plain metadata that takes more than `max_size` bytes of compact UTF-8 JSON."""
    size = len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())
    if size > max_size:
        _refuse(
            f"The metadata takes {size} bytes as JSON; at most {max_size} are stored.",
            operation,
            field="metadata",
            max_size=max_size,
            size=size,
        )


def check_tags(tags: object, *, operation: str | None = None) -> tuple[str, ...]:
    """The tags without repetitions, in the order given. None is none."""
    if tags is None:
        return ()
    if not isinstance(tags, list | tuple):
        _refuse("Tags must be a list of strings.", operation, field="tags", type=type(tags).__name__)
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip() or len(tag) > MAX_TAG_LENGTH or not is_storable(tag):
            _refuse(
                f"A tag must be a non-blank string of at most {MAX_TAG_LENGTH} characters, "
                "without NUL or lone surrogates.",
                operation,
                field="tags",
                max_length=MAX_TAG_LENGTH,
            )
    kept = tuple(dict.fromkeys(str.__str__(tag) for tag in tags))
    if len(kept) > MAX_TAGS:
        _refuse(f"At most {MAX_TAGS} tags.", operation, field="tags", maximum=MAX_TAGS, count=len(kept))
    return kept


def check_identifier(name: str, value: object, *, operation: str | None = None) -> str:
    """One identifier: a non-blank string of at most 256 characters without control characters."""
    if not isinstance(value, str):
        _refuse(f"{name} must be a string.", operation, field=name, type=type(value).__name__)
    blank_or_long = not value.strip() or len(value) > MAX_IDENTIFIER_LENGTH
    if blank_or_long or _CONTROL.search(value) or not is_storable(value):
        _refuse(
            f"{name} must be a non-blank string of at most {MAX_IDENTIFIER_LENGTH} characters, "
            "without control characters or lone surrogates.",
            operation,
            field=name,
            max_length=MAX_IDENTIFIER_LENGTH,
        )
    return str.__str__(value)


def sought_id(id: object, *, operation: str | None = None) -> str:
    """An id to look up. Text that no id can be becomes the empty one, which no entry has: it reads as absent."""
    if not isinstance(id, str):
        _refuse("An id must be a string.", operation, field="id", type=type(id).__name__)
    return str.__str__(id) if is_storable(id) else ""


def sought_ids(ids: object, *, operation: str | None = None) -> tuple[str, ...]:
    """Several ids to look up, each once; a single string is refused, not taken for a list of letters."""
    if not isinstance(ids, list | tuple | set | frozenset):
        _refuse("Ids must be a list of strings.", operation, field="ids", type=type(ids).__name__)
    return tuple(dict.fromkeys(sought_id(id, operation=operation) for id in ids))


def check_identifiers(*, operation: str | None = None, **ids: object) -> Identifiers:
    """The identifiers given; None is not given, an unknown name is refused."""
    unknown = sorted(ids.keys() - _KNOWN)
    if unknown:
        _refuse(
            f"There is no identifier {unknown[0][:80]!a}; there are {', '.join(IDENTIFIER_NAMES)}.",
            operation,
            field=ascii(unknown[0])[:80],
            identifiers=list(IDENTIFIER_NAMES),
        )
    given = {name: value for name, value in ids.items() if value is not None}
    return Identifiers(**{name: check_identifier(name, value, operation=operation) for name, value in given.items()})


def check_limit(value: object, maximum: int, *, operation: str | None = None) -> int:
    """A whole number from 1 to `maximum`; True is none."""
    if not _is_whole(value, 1, maximum):
        _refuse(
            f"limit must be a whole number from 1 to {maximum}.",
            operation,
            field="limit",
            minimum=1,
            maximum=maximum,
        )
    return int(value)


def check_threshold(value: object, *, operation: str | None = None) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        _refuse("threshold must be a number from 0 to 1.", operation, field="threshold", minimum=0, maximum=1)
    return float(value)


def check_expires_at(value: object, *, operation: str | None = None) -> datetime | None:
    """The moment in UTC; None never expires. A time without a zone is refused, not guessed."""
    return check_moment("expires_at", value, operation=operation)


def check_moment(field: str, value: object, *, operation: str | None = None) -> datetime | None:
    """The moment in UTC, None for none. A time without a zone is refused, not guessed."""
    return None if value is None else _moment(field, value, operation)


def check_new_memories(memories: object) -> tuple[NewMemory, ...]:
    """The memories of a bulk add, whose fields are still to be checked."""
    if isinstance(memories, str | bytes | Mapping) or not isinstance(memories, Iterable):
        _refuse("Memories must be a list of NewMemory.", None, field="memories", type=type(memories).__name__)
    given = tuple(memories)
    for place, new in enumerate(given):
        if not isinstance(new, NewMemory):
            _refuse(
                f"Memory {place} must be a NewMemory.", None, field="memories", position=place, type=type(new).__name__
            )
        if not isinstance(new.identifiers, Identifiers):
            _refuse(
                f"The identifiers of memory {place} must be Identifiers, such as Identifiers(user_id='u1').",
                None,
                field="identifiers",
                position=place,
                type=type(new.identifiers).__name__,
            )
    return given


def check_source(source: object, *, operation: str | None = None) -> Source | None:
    """Where a memory comes from, with its moment in UTC."""
    if source is None:
        return None
    if not isinstance(source, Source):
        _refuse("source must be a Source.", operation, field="source", type=type(source).__name__)
    if source.kind not in SOURCE_KINDS:
        _refuse(
            f"source.kind must be one of {', '.join(SOURCE_KINDS)}.",
            operation,
            field="source.kind",
            kinds=list(SOURCE_KINDS),
        )
    sequence = source.sequence
    if sequence is not None and not _is_whole(sequence, 0, MAX_INTEGER):
        _refuse("source.sequence must be a whole number from 0 to 2^53.", operation, field="source.sequence")
    for name in ("conversation", "author"):
        if getattr(source, name) is not None:
            check_identifier(f"source.{name}", getattr(source, name), operation=operation)
    reference = source.reference
    if reference is not None and len(_text("source.reference", reference, operation)) > MAX_REFERENCE_LENGTH:
        _refuse(
            f"source.reference has at most {MAX_REFERENCE_LENGTH} characters.",
            operation,
            field="source.reference",
            max_length=MAX_REFERENCE_LENGTH,
        )
    said_at = None if source.said_at is None else _moment("source.said_at", source.said_at, operation)
    return Source(
        kind=source.kind,
        conversation=source.conversation,
        sequence=sequence,
        author=source.author,
        said_at=said_at,
        reference=reference,
    )


def _is_whole(value: object, minimum: int, maximum: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def _text(field: str, value: object, operation: str | None) -> str:
    if not isinstance(value, str):
        _refuse(f"The {field} must be a string.", operation, field=field, type=type(value).__name__)
    if not value.strip():
        _refuse(f"The {field} is empty; give it some text.", operation, field=field)
    if not is_storable(value):
        _refuse(
            f"The {field} holds a NUL character or a lone surrogate; remove it or decode the text properly.",
            operation,
            field=field,
        )
    return str.__str__(value)


def _moment(field: str, value: object, operation: str | None) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        _refuse(f"{field} must be a datetime with a time zone, such as datetime.now(UTC).", operation, field=field)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        _refuse(f"{field} is out of range.", operation, field=field)


def _keys(value: Mapping[object, object], operation: str | None) -> list[str]:
    keys = [key for key in value if isinstance(key, str) and is_storable(key)]
    if len(keys) < len(value):
        _refuse("Keys in metadata must be strings without NUL or lone surrogates.", operation, field="metadata")
    return keys


def _json(value: object, depth: int, operation: str | None) -> JsonValue:
    if depth > MAX_DEPTH:
        _refuse(
            f"Metadata is nested at most {MAX_DEPTH} levels deep.",
            operation,
            field="metadata",
            max_depth=MAX_DEPTH,
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {str.__str__(key): _json(value[key], depth + 1, operation) for key in _keys(value, operation)}
    if isinstance(value, list | tuple):
        return [_json(item, depth + 1, operation) for item in value]
    return _scalar(value, operation)


def _scalar(value: object, operation: str | None) -> JsonValue:
    if isinstance(value, str) and is_storable(value):
        return str.__str__(value)
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return _refuse(
        "Values in metadata must be JSON: strings without NUL or lone surrogates, finite numbers (integers "
        "within ±2^53; store larger ones as strings), booleans, null, lists and objects.",
        operation,
        field="metadata",
        type=type(value).__name__,
    )


def _refuse(message: str, operation: str | None, **details: object) -> Never:
    raise InvalidInputError(message, operation=operation, details=details)
