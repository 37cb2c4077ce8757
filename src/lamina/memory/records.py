"""Memories as plain JSON objects, exact in both directions. Not for storage: rows have a form of their own."""

from collections.abc import Mapping
from datetime import datetime

from lamina.kernel.text import moment_text
from lamina.memory.types import JsonValue, MemoryEntry, Revision, SearchResults, Source

Record = dict[str, object]


def entry_record(entry: MemoryEntry) -> Record:
    """Every field of a memory; moments in UTC to the microsecond, keys of metadata in order."""
    return {
        "id": entry.id,
        "content": entry.content,
        "layer": entry.layer.value,
        "identifiers": entry.identifiers.to_dict(),
        "metadata": _ordered(dict(entry.metadata)),
        "tags": list(entry.tags),
        "source": None if entry.source is None else _source_record(entry.source),
        "created_at": moment_text(entry.created_at),
        "updated_at": moment_text(entry.updated_at),
        "expires_at": _optional(entry.expires_at),
        "version": entry.version,
    }


def revision_record(revision: Revision) -> Record:
    """One state of a memory."""
    return {
        "version": revision.version,
        "content": revision.content,
        "metadata": _ordered(dict(revision.metadata)),
        "tags": list(revision.tags),
        "expires_at": _optional(revision.expires_at),
        "changed_at": moment_text(revision.changed_at),
    }


def results_record(results: SearchResults) -> Record:
    """Everything that a search answered."""
    return {
        "results": [
            {"score": hit.score, **({"explain": dict(hit.explain)} if hit.explain else {}), **entry_record(hit.memory)}
            for hit in results
        ],
        "total_count": results.total_count,
        "searched_layers": [layer.value for layer in results.searched_layers],
        "duplicates": [
            {"id": one.id, "layer": one.layer.value, "score": one.score, "kept_id": one.kept_id}
            for one in results.duplicates
        ],
        "warnings": [{"layer": one.layer.value, "code": one.code, "message": one.message} for one in results.warnings],
    }


def _source_record(source: Source) -> Record:
    fields = {
        "kind": source.kind,
        "conversation": source.conversation,
        "sequence": source.sequence,
        "author": source.author,
        "said_at": _optional(source.said_at),
        "reference": source.reference,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _optional(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)


def _ordered(value: JsonValue) -> JsonValue:
    # PostgreSQL keeps an order of its own, so only a fixed one is the same everywhere.
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value
