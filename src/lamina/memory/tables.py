"""The tables of memory. What ranking needs of an entry is in `lamina.index.tables`."""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

memory = sa.Table(
    "memory",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("layer", Text, nullable=False),
    sa.Column("identifiers", Json, nullable=False),
    sa.Column("content", Text, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("source", Json, nullable=True),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),  # the scope version that wrote the index row
    sa.UniqueConstraint("tenant", "id"),
    sa.Index("ix_memory_scope_id_row", "scope_id", "row"),
    sa.Index(
        "ix_memory_expires_at",
        "expires_at",
        sqlite_where=sa.text("expires_at IS NOT NULL"),
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    ),
    sqlite_autoincrement=True,  # a row number is never used again: an index may still know the old entry
)

memory_revision = sa.Table(
    "memory_revision",
    metadata,
    sa.Column("memory_row", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("content", Text, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("memory_row", "version"),
)

hierarchy = sa.Table(
    "hierarchy",
    metadata,
    sa.Column("tenant", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("parent_id", Text, nullable=False),
    sa.PrimaryKeyConstraint("tenant", "kind", "id"),
)
