"""The tables of knowledge. What ranking needs of an entry is in `lamina.index.tables`.

`knowledge` holds the latest version of each key, `knowledge_version` every version including the latest. Rows of
`audit_log` are only ever added: triggers refuse everything else.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

knowledge = sa.Table(
    "knowledge",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("category", Text, nullable=False),
    sa.Column("content", Text, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("source", Text, nullable=True),
    sa.Column("origin", Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("relevance", sa.Double, nullable=False),
    sa.Column("use_count", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger, nullable=True),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),  # the scope version that wrote the index row
    sa.UniqueConstraint("tenant", "key"),
    sa.Index("ix_knowledge_tenant_category", "tenant", "category"),
)

knowledge_version = sa.Table(
    "knowledge_version",
    metadata,
    sa.Column("knowledge_row", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("category", Text, nullable=False),
    sa.Column("content", Text, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("source", Text, nullable=True),
    sa.Column("origin", Text, nullable=False),
    sa.Column("saved_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("knowledge_row", "version"),
)

external_reference = sa.Table(
    "external_reference",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("type", Text, nullable=False),
    sa.Column("location", Text, nullable=False),
    sa.Column("summary", Text, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("origin", Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("tenant", "name"),
)

audit_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("action", Text, nullable=False),
    sa.Column("actor", Text, nullable=False),
    sa.Column("target", Text, nullable=True),
    sa.Column("session_key", Text, nullable=True),
    sa.Column("details", Json, nullable=False),
    sa.Index("ix_audit_log_tenant_row", "tenant", "row"),
    sa.Index("ix_audit_log_tenant_session_key", "tenant", "session_key"),
    sa.Index("ix_audit_log_tenant_target_row", "tenant", "target", "row"),
)
