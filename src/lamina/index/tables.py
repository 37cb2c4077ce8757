"""What ranking needs of every searchable entry, kept in the database beside the entry itself.

A scope is one partition that is ranked as a whole. Its `version` rises with every change, inside the change's own
transaction; rows carry the version that wrote them, so that an index in memory catches up by reading what is newer
than itself. A deleted entry leaves a row without terms (a tombstone) until the next sweep raises `floor`.
Vectors sit apart, by model: re-embedding fills in a second model and then switches in one statement.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

scope = sa.Table(
    "scope",
    metadata,
    sa.Column("id", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("label", Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("entries", sa.BigInteger, nullable=False),
    sa.Column("floor", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("tenant", "kind", "key"),
)

index_entry = sa.Table(
    "index_entry",
    metadata,
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("entry", sa.BigInteger, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("terms", sa.LargeBinary, nullable=True),
    sa.Column("conversation", sa.BigInteger, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("author", sa.BigInteger, nullable=False),
    sa.Column("said_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=True),
    sa.PrimaryKeyConstraint("scope_id", "version", "entry"),
    sqlite_with_rowid=False,
)

index_vector = sa.Table(
    "index_vector",
    metadata,
    sa.Column("model_id", RowId, nullable=False),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("entry", sa.BigInteger, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=True),
    sa.PrimaryKeyConstraint("model_id", "scope_id", "entry"),
    sa.Index("ix_index_vector_content", "content_hash"),
    sqlite_with_rowid=False,
)

embedding_model = sa.Table(
    "embedding_model",
    metadata,
    sa.Column("id", RowId, primary_key=True, autoincrement=True),
    sa.Column("name", Text, nullable=False),
    sa.Column("dimensions", sa.Integer, nullable=False),
    sa.Column("calibration", Json, nullable=True),
    sa.Column("state", Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Index(
        "uq_embedding_model_active",
        "state",
        unique=True,
        sqlite_where=sa.text("state = 'active'"),
        postgresql_where=sa.text("state = 'active'"),
    ),
    info={"store_wide": "one embedding model serves every tenant of a store"},
)

ACTIVE_MODEL_ID = (
    sa.select(embedding_model.c.id).where(embedding_model.c.state == sa.literal_column("'active'")).scalar_subquery()
)
"""The model that searches use, read in the same statement as what depends on it."""
