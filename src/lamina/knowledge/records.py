"""Knowledge, references and audit rows as plain JSON objects, for doors. Not for storage: rows have their own form."""

from lamina.kernel.text import moment_text
from lamina.knowledge.types import (
    AuditRow,
    KnowledgeEntry,
    KnowledgeHit,
    KnowledgeVersion,
    Reference,
    ReferenceHit,
)

Record = dict[str, object]


def entry_record(entry: KnowledgeEntry) -> Record:
    """Every field of an entry; moments in UTC."""
    return {
        "key": entry.key,
        "category": entry.category.value,
        "content": entry.content,
        "tags": list(entry.tags),
        "source": entry.source,
        "origin": entry.origin.value,
        "version": entry.version,
        "relevance": entry.relevance,
        "use_count": entry.use_count,
        "created_at": moment_text(entry.created_at),
        "updated_at": moment_text(entry.updated_at),
        "last_used_at": None if entry.last_used_at is None else moment_text(entry.last_used_at),
    }


def version_record(version: KnowledgeVersion) -> Record:
    """One version of an entry."""
    return {
        "version": version.version,
        "category": version.category.value,
        "content": version.content,
        "tags": list(version.tags),
        "source": version.source,
        "origin": version.origin.value,
        "saved_at": moment_text(version.saved_at),
    }


def hit_record(hit: KnowledgeHit) -> Record:
    """An entry that was found, its score and the parts of it."""
    return {"score": hit.score, "explain": dict(hit.explain), **entry_record(hit.entry)}


def reference_record(reference: Reference) -> Record:
    """Every field of a reference."""
    return {
        "name": reference.name,
        "type": reference.type.value,
        "location": reference.location,
        "summary": reference.summary,
        "metadata": dict(reference.metadata),
        "origin": reference.origin.value,
        "created_at": moment_text(reference.created_at),
        "updated_at": moment_text(reference.updated_at),
    }


def reference_hit_record(hit: ReferenceHit) -> Record:
    """A reference that was found, its score and the parts of it."""
    return {"score": hit.score, "explain": dict(hit.explain), **reference_record(hit.reference)}


def audit_record(row: AuditRow) -> Record:
    """One row of the audit log."""
    return {
        "sequence": row.sequence,
        "at": moment_text(row.at),
        "action": row.action,
        "actor": row.actor,
        "target": row.target,
        "session_key": row.session_key,
        "details": dict(row.details),
    }
