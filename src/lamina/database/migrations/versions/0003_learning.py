"""Learnings from tools and from the user's corrections."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the table of learnings."""
    op.create_table(
        "learning",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("identity", text, nullable=False),
        sa.Column("tool", text, nullable=True),
        sa.Column("trigger", text, nullable=False),
        sa.Column("pattern", text, nullable=True),
        sa.Column("diagnosis", text, nullable=True),
        sa.Column("fix", text, nullable=True),
        sa.Column("category", text, nullable=False),
        sa.Column("tags", json, nullable=False),
        sa.Column("origin", text, nullable=False),
        sa.Column("alpha", sa.Double, nullable=False),
        sa.Column("beta", sa.Double, nullable=False),
        sa.Column("occurrence_count", sa.BigInteger, nullable=False),
        sa.Column("success_count", sa.BigInteger, nullable=False),
        sa.Column("failure_count", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("last_seen_at", sa.BigInteger, nullable=False),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "id", name="uq_learning_tenant_id"),
        sa.UniqueConstraint("tenant", "identity", name="uq_learning_tenant_identity"),
    )
    op.create_index("ix_learning_tenant_category", "learning", ["tenant", "category"])
    fixed = sa.text("fix IS NOT NULL")
    op.create_index("ix_learning_tenant_fixed", "learning", ["tenant"], sqlite_where=fixed, postgresql_where=fixed)
