"""Between the nouns of knowledge and their rows."""

from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.index.store import ScopeKey
from lamina.knowledge.tables import external_reference, knowledge, knowledge_version
from lamina.knowledge.types import Category, KnowledgeEntry, KnowledgeVersion, Origin, Reference, ReferenceType

ENTRY_COLUMNS: tuple[sa.Column[Any], ...] = (
    knowledge.c.row,
    knowledge.c.indexed,
    knowledge.c.key,
    knowledge.c.category,
    knowledge.c.content,
    knowledge.c.tags,
    knowledge.c.source,
    knowledge.c.origin,
    knowledge.c.version,
    knowledge.c.relevance,
    knowledge.c.use_count,
    knowledge.c.created_at,
    knowledge.c.updated_at,
    knowledge.c.last_used_at,
)
"""In the order `entry_from_row` reads them."""

VERSION_COLUMNS: tuple[sa.Column[Any], ...] = (
    knowledge_version.c.version,
    knowledge_version.c.category,
    knowledge_version.c.content,
    knowledge_version.c.tags,
    knowledge_version.c.source,
    knowledge_version.c.origin,
    knowledge_version.c.saved_at,
)

REFERENCE_COLUMNS: tuple[sa.Column[Any], ...] = (
    external_reference.c.row,
    external_reference.c.indexed,
    external_reference.c.name,
    external_reference.c.type,
    external_reference.c.location,
    external_reference.c.summary,
    external_reference.c.metadata,
    external_reference.c.origin,
    external_reference.c.created_at,
    external_reference.c.updated_at,
)


KEY, CATEGORY, CONTENT, ORIGIN = (
    ENTRY_COLUMNS.index(knowledge.c[name]) for name in ("key", "category", "content", "origin")
)
REFERENCE_NAME, LOCATION, SUMMARY, REFERENCE_ORIGIN = (
    REFERENCE_COLUMNS.index(external_reference.c[name]) for name in ("name", "location", "summary", "origin")
)


def knowledge_scope(tenant: str) -> ScopeKey:
    """A tenant's knowledge is one scope."""
    return ScopeKey(tenant=tenant, kind="knowledge", key="all", label="knowledge")


def reference_scope(tenant: str) -> ScopeKey:
    """A tenant's external references are one scope."""
    return ScopeKey(tenant=tenant, kind="reference", key="all", label="reference")


def searched_text(name: str, text: str) -> str:
    """What terms and vectors are made from: the key counts as much as what it names."""
    return f"{name}\n{text}"


def entry_from_row(row: Any) -> KnowledgeEntry:
    """An entry from a row of `ENTRY_COLUMNS`."""
    return KnowledgeEntry(
        key=row[2],
        category=Category(row[3]),
        content=row[4],
        tags=tuple(cast(list[str], load_json(row[5]))),
        source=row[6],
        origin=Origin(row[7]),
        version=row[8],
        relevance=row[9],
        use_count=row[10],
        created_at=from_micros(row[11]),
        updated_at=from_micros(row[12]),
        last_used_at=None if row[13] is None else from_micros(row[13]),
    )


def entry_values(tenant: str, entry: KnowledgeEntry) -> dict[str, Any]:
    """The stored form of an entry, without its place in the index."""
    return {
        "tenant": tenant,
        "key": entry.key,
        "category": entry.category.value,
        "content": entry.content,
        "tags": dump_json(list(entry.tags)),
        "source": entry.source,
        "origin": entry.origin.value,
        "version": entry.version,
        "relevance": entry.relevance,
        "use_count": entry.use_count,
        "created_at": to_micros(entry.created_at),
        "updated_at": to_micros(entry.updated_at),
        "last_used_at": _micros(entry.last_used_at),
    }


def version_from_row(row: Any) -> KnowledgeVersion:
    """A version from a row of `VERSION_COLUMNS`."""
    return KnowledgeVersion(
        version=row[0],
        category=Category(row[1]),
        content=row[2],
        tags=tuple(cast(list[str], load_json(row[3]))),
        source=row[4],
        origin=Origin(row[5]),
        saved_at=from_micros(row[6]),
    )


def reference_from_row(row: Any) -> Reference:
    """A reference from a row of `REFERENCE_COLUMNS`."""
    return Reference(
        name=row[2],
        type=ReferenceType(row[3]),
        location=row[4],
        summary=row[5],
        metadata=cast(dict[str, object], load_json(row[6])),
        origin=Origin(row[7]),
        created_at=from_micros(row[8]),
        updated_at=from_micros(row[9]),
    )


def reference_values(tenant: str, reference: Reference) -> dict[str, Any]:
    """The stored form of a reference, without its place in the index."""
    return {
        "tenant": tenant,
        "name": reference.name,
        "type": reference.type.value,
        "location": reference.location,
        "summary": reference.summary,
        "metadata": dump_json(dict(reference.metadata)),
        "origin": reference.origin.value,
        "created_at": to_micros(reference.created_at),
        "updated_at": to_micros(reference.updated_at),
    }


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)
