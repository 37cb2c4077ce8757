"""Skills with their versions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables of skills."""
    op.create_table(
        "skill",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.Column("type", text, nullable=False),
        sa.Column("definition", json, nullable=False),
        sa.Column("parameters", json, nullable=False),
        sa.Column("metadata", json, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("status", text, nullable=False),
        sa.Column("requires_approval", sa.Boolean, nullable=False),
        sa.Column("created_by", text, nullable=False),
        sa.Column("decided_by", text, nullable=True),
        sa.Column("origin", text, nullable=False),
        sa.Column("use_count", sa.BigInteger, nullable=False),
        sa.Column("success_count", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger, nullable=True),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "name", name="uq_skill_tenant_name"),
    )
    op.create_index("ix_skill_tenant_status", "skill", ["tenant", "status"])
    op.create_table(
        "skill_version",
        sa.Column("skill_row", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.Column("type", text, nullable=False),
        sa.Column("definition", json, nullable=False),
        sa.Column("parameters", json, nullable=False),
        sa.Column("metadata", json, nullable=False),
        sa.Column("created_by", text, nullable=False),
        sa.Column("saved_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("skill_row", "version", name="pk_skill_version"),
    )
