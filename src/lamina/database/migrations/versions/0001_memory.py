"""Memories, their scopes, index rows, vectors, history, and the hierarchy."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "scope",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("label", text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("floor", sa.BigInteger, nullable=False, server_default="0"),
        sa.UniqueConstraint("tenant", "kind", "key", name="uq_scope_tenant_kind_key"),
    )
    op.create_table(
        "index_entry",
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("terms", sa.LargeBinary, nullable=True),
        sa.Column("conversation", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("author", sa.BigInteger, nullable=False),
        sa.Column("said_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=True),
        sa.PrimaryKeyConstraint("scope_id", "version", "entry", name="pk_index_entry"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "index_vector",
        sa.Column("model_id", row_id, nullable=False),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("content_hash", sa.LargeBinary, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=True),
        sa.PrimaryKeyConstraint("model_id", "scope_id", "entry", name="pk_index_vector"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_index_vector_content", "index_vector", ["content_hash"])
    op.create_table(
        "embedding_model",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("name", text, nullable=False),
        sa.Column("dimensions", sa.Integer, nullable=False),
        sa.Column("calibration", json, nullable=True),
        sa.Column("state", text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    active = sa.text("state = 'active'")
    op.create_index(
        "uq_embedding_model_active",
        "embedding_model",
        ["state"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )
    op.create_table(
        "memory",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("layer", text, nullable=False),
        sa.Column("identifiers", json, nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("metadata", json, nullable=False),
        sa.Column("tags", json, nullable=False),
        sa.Column("source", json, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "id", name="uq_memory_tenant_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_scope_id_row", "memory", ["scope_id", "row"])
    expiring = sa.text("expires_at IS NOT NULL")
    op.create_index("ix_memory_expires_at", "memory", ["expires_at"], sqlite_where=expiring, postgresql_where=expiring)
    op.create_table(
        "memory_revision",
        sa.Column("memory_row", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("metadata", json, nullable=False),
        sa.Column("tags", json, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("memory_row", "version", name="pk_memory_revision"),
    )
    op.create_table(
        "hierarchy",
        sa.Column("tenant", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("parent_id", text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "id", name="pk_hierarchy"),
    )
