"""Reads the lines of an export, checking every field as if a caller had passed it. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Never

from lamina.errors import InvalidInputError, LaminaError
from lamina.memory.access import resolve_scope
from lamina.memory.settings import MemorySettings
from lamina.memory.types import MemoryEntry, Revision, Scope, Source
from lamina.memory.validate import (
    check_content,
    check_expires_at,
    check_identifier,
    check_identifiers,
    check_metadata,
    check_source,
    check_tags,
)
from lamina.transfer.lines import in_line, load_line

FORMAT = 1
"""The version of the export's form, in its header."""

_OPERATION = "import"
_ENTRY_FIELDS = (
    *("id", "content", "layer", "identifiers", "metadata", "tags", "source"),
    *("created_at", "updated_at", "expires_at", "version", "revisions"),
)
_SOURCE_FIELDS = ("kind", "conversation", "sequence", "author", "said_at", "reference")
_REVISION_FIELDS = ("version", "content", "metadata", "tags", "expires_at", "changed_at")
_LINK_FIELDS = ("kind", "id", "parent_id")
_LINK_KINDS = ("project", "team", "org")
_MAX_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: how many memories the export expected to hold."""

    memories: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyLink:
    """A line that says who belongs to whom."""

    kind: str
    id: str
    parent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """A line with a memory, where it belongs, and its earlier states, oldest first."""

    line: int
    scope: Scope
    entry: MemoryEntry
    revisions: tuple[Revision, ...]


def parse_line(
    number: int, raw: bytes, *, tenant: str, settings: MemorySettings, now: datetime
) -> Header | HierarchyLink | ImportedMemory | None:
    """What a line says; None for a blank one. `now` stands in for moments that a line leaves out.

    Raises an InvalidInputError whose message and details name the line.
    """
    if not raw.strip():
        return None
    with in_line(number):
        record = load_line(raw)
        if "lamina_export" in record:
            return _header(record, first=number == 1)
        return parse_record(number, record, tenant=tenant, settings=settings, now=now)


def parse_record(
    number: int, record: Mapping[str, Any], *, tenant: str, settings: MemorySettings, now: datetime
) -> HierarchyLink | ImportedMemory:
    """What the object of a line says, which is no header. Raises InvalidInputError."""
    if "hierarchy" in record:
        return _link(_fields(record["hierarchy"], _LINK_FIELDS, "hierarchy"))
    entry = _entry(_fields(record, _ENTRY_FIELDS, "memory"), tenant, settings, now)
    revisions = tuple(_revision(item, settings) for item in _list(record, "revisions"))
    versions = [*(state.version for state in revisions), entry.version]
    if any(later <= earlier for earlier, later in pairwise(versions)):
        _refuse("The versions of the revisions must rise, up to the memory's own.", "revisions")
    scope = resolve_scope(tenant, entry.identifiers, entry.layer, operation=_OPERATION)
    return ImportedMemory(line=number, scope=scope, entry=entry, revisions=revisions)


def _header(record: Mapping[str, Any], *, first: bool) -> Header:
    if not first:
        _refuse("A header may only be the first line.", "lamina_export")
    if record["lamina_export"] != FORMAT:
        _refuse(f"The export has another form than this Lamina reads ({FORMAT}); upgrade Lamina.", "lamina_export")
    memories = record.get("memories")
    return Header(memories=memories if isinstance(memories, int) else None)


def _link(fields: Mapping[str, Any]) -> HierarchyLink:
    if fields.get("kind") not in _LINK_KINDS:
        _refuse(f"hierarchy.kind must be one of {', '.join(_LINK_KINDS)}.", "hierarchy.kind")
    values = {name: check_identifier(f"hierarchy.{name}", fields.get(name)) for name in ("id", "parent_id")}
    return HierarchyLink(kind=fields["kind"], **values)


def _entry(fields: Mapping[str, Any], tenant: str, settings: MemorySettings, now: datetime) -> MemoryEntry:
    content = check_content(fields.get("content"), settings.max_content_length)
    given = check_identifiers(**_fields(fields.get("identifiers") or {}, None, "identifiers"))
    scope = resolve_scope(tenant, given, _text(fields, "layer", "user"), operation=_OPERATION)
    created_at = _moment(fields, "created_at") or now
    return MemoryEntry(
        id=_id(fields, scope, content),
        content=content,
        layer=scope.layer,
        identifiers=scope.identifiers,
        metadata=check_metadata(fields.get("metadata"), settings.max_metadata_size),
        tags=check_tags(fields.get("tags")),
        source=_source(fields.get("source")),
        created_at=created_at,
        updated_at=_moment(fields, "updated_at") or created_at,
        expires_at=_moment(fields, "expires_at"),
        version=_version(fields.get("version", 1)),
    )


def _id(fields: Mapping[str, Any], scope: Scope, content: str) -> str:
    given = fields.get("id")
    if given is not None:
        return check_identifier("id", given)
    # From what the line says, so that importing it a second time finds it there.
    parts = json.dumps([scope.layer.value, scope.identifiers.to_dict(), content])
    return f"import-{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


def _source(value: object) -> Source | None:
    if value is None:
        return None
    fields = _fields(value, _SOURCE_FIELDS, "source")
    source = Source(**{**fields, "said_at": _moment(fields, "said_at")})
    return check_source(source)


def _revision(value: object, settings: MemorySettings) -> Revision:
    fields = _fields(value, _REVISION_FIELDS, "revisions")
    changed_at = _moment(fields, "changed_at")
    if changed_at is None:
        _refuse("A revision needs changed_at.", "revisions.changed_at")
    return Revision(
        version=_version(fields.get("version")),
        content=check_content(fields.get("content"), settings.max_content_length),
        metadata=check_metadata(fields.get("metadata"), settings.max_metadata_size),
        tags=check_tags(fields.get("tags")),
        expires_at=_moment(fields, "expires_at"),
        changed_at=changed_at,
    )


def _fields(value: object, known: Sequence[str] | None, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{name} must be an object.", name)
    unknown = [] if known is None else sorted(set(value) - set(known))
    if unknown:
        _refuse(f"There is no field {ascii(unknown[0])[:80]} in {name}.", name)
    return value


def _list(fields: Mapping[str, Any], name: str) -> Sequence[object]:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        _refuse(f"{name} must be a list.", name)
    return value


def _text(fields: Mapping[str, Any], name: str, default: str) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        _refuse(f"{name} must be a string.", name)
    return value


def _version(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_VERSION:
        _refuse("version must be a whole number from 1.", "version")
    return value


def _moment(fields: Mapping[str, Any], name: str) -> datetime | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        return check_expires_at(datetime.fromisoformat(value))
    except (TypeError, ValueError, LaminaError):
        _refuse(f"{name} must be a moment with a time zone, such as 2026-05-01T12:00:00Z.", name)


def _refuse(message: str, field: str) -> Never:
    raise InvalidInputError(message, details={"field": field})
