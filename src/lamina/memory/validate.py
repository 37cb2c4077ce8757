"""Checks of what callers of memory pass: the house's checks under memory's names, and the nouns only memory has."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from lamina.kernel import checks
from lamina.kernel.checks import MAX_INTEGER, check_moment, check_tags, is_whole, refuse
from lamina.kernel.text import unstorable
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, JsonValue, NewMemory, Source

__all__ = [
    "MAX_INTEGER",
    "check_content",
    "check_expires_at",
    "check_identifier",
    "check_identifiers",
    "check_limit",
    "check_metadata",
    "check_metadata_size",
    "check_moment",
    "check_new_memories",
    "check_query",
    "check_source",
    "check_tags",
    "check_threshold",
    "is_storable",
    "sought_id",
    "sought_ids",
]

MAX_REFERENCE_LENGTH = 2048
SOURCE_KINDS = ("conversation", "tool_result", "knowledge_sync", "manual", "import")


def is_storable(text: str) -> bool:
    """Whether both engines can store the text: no NUL, no lone surrogate."""
    return unstorable(text) is None


def check_content(content: object, max_length: int, *, operation: str | None = None) -> str:
    """The text of a memory, unchanged; raises ContentTooLongError with the longest length allowed."""
    return checks.check_text("content", content, longest=max_length, operation=operation)


def check_query(query: object, max_length: int, *, operation: str | None = None) -> str:
    """A question to search with, unchanged; raises QueryTooLongError with the longest length allowed."""
    return checks.check_query(query, longest=max_length, operation=operation)


def check_metadata(metadata: object, max_size: int, *, operation: str | None = None) -> dict[str, JsonValue]:
    """A deep copy as plain JSON; `max_size` is in bytes of compact UTF-8 JSON. None is empty."""
    return checks.check_json("metadata", metadata, max_size=max_size, operation=operation)


def check_metadata_size(plain: Mapping[str, JsonValue], max_size: int, *, operation: str | None = None) -> None:
    """Refuse plain metadata that takes more than `max_size` bytes of compact UTF-8 JSON."""
    checks.check_json_size("metadata", plain, max_size=max_size, operation=operation)


def check_identifier(name: str, value: object, *, operation: str | None = None) -> str:
    """One identifier: a non-blank string of at most 256 characters without control characters."""
    return checks.check_name(name, value, operation=operation)


def sought_id(id: object, *, operation: str | None = None) -> str:
    """An id to look up. Text that no id can be becomes the empty one, which no entry has: it reads as absent."""
    if not isinstance(id, str):
        refuse("An id must be a string.", operation, field="id", type=type(id).__name__)
    return str.__str__(id) if is_storable(id) else ""


def sought_ids(ids: object, *, operation: str | None = None) -> tuple[str, ...]:
    """Several ids to look up, each once; a single string is refused, not taken for a list of letters."""
    if not isinstance(ids, list | tuple | set | frozenset):
        refuse("Ids must be a list of strings.", operation, field="ids", type=type(ids).__name__)
    return tuple(dict.fromkeys(sought_id(id, operation=operation) for id in ids))


def check_identifiers(*, operation: str | None = None, **ids: object) -> Identifiers:
    """The identifiers given; None is not given, an unknown name is refused."""
    unknown = sorted(set(ids) - set(IDENTIFIER_NAMES))
    if unknown:
        refuse(
            f"There is no identifier {unknown[0][:80]!a}; there are {', '.join(IDENTIFIER_NAMES)}.",
            operation,
            field=ascii(unknown[0])[:80],
            identifiers=list(IDENTIFIER_NAMES),
        )
    given = {name: value for name, value in ids.items() if value is not None}
    return Identifiers(**{name: check_identifier(name, value, operation=operation) for name, value in given.items()})


def check_limit(value: object, maximum: int, *, operation: str | None = None) -> int:
    """A whole number from 1 to `maximum`; True is none."""
    return checks.check_limit(value, most=maximum, operation=operation)


def check_threshold(value: object, *, operation: str | None = None) -> float:
    """A number from 0 to 1."""
    return checks.check_share("threshold", value, operation=operation)


def check_expires_at(value: object, *, operation: str | None = None) -> datetime | None:
    """The moment in UTC; None never expires. A time without a zone is refused, not guessed."""
    return check_moment("expires_at", value, operation=operation)


def check_new_memories(memories: object) -> tuple[NewMemory, ...]:
    """The memories of a bulk add, whose fields are still to be checked."""
    if isinstance(memories, str | bytes | Mapping) or not isinstance(memories, Iterable):
        refuse("Memories must be a list of NewMemory.", None, field="memories", type=type(memories).__name__)
    given = tuple(memories)
    for place, new in enumerate(given):
        if not isinstance(new, NewMemory):
            refuse(
                f"Memory {place} must be a NewMemory.", None, field="memories", position=place, type=type(new).__name__
            )
        if not isinstance(new.identifiers, Identifiers):
            refuse(
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
        refuse("source must be a Source.", operation, field="source", type=type(source).__name__)
    if source.kind not in SOURCE_KINDS:
        refuse(
            f"source.kind must be one of {', '.join(SOURCE_KINDS)}.",
            operation,
            field="source.kind",
            kinds=list(SOURCE_KINDS),
        )
    sequence = source.sequence
    if sequence is not None and not is_whole(sequence, 0, MAX_INTEGER):
        refuse("source.sequence must be a whole number from 0 to 2^53.", operation, field="source.sequence")
    for name in ("conversation", "author"):
        if getattr(source, name) is not None:
            check_identifier(f"source.{name}", getattr(source, name), operation=operation)
    if source.reference is not None:
        checks.check_text("source.reference", source.reference, longest=MAX_REFERENCE_LENGTH, operation=operation)
    return Source(
        kind=source.kind,
        conversation=source.conversation,
        sequence=sequence,
        author=source.author,
        said_at=check_moment("source.said_at", source.said_at, operation=operation),
        reference=source.reference,
    )
