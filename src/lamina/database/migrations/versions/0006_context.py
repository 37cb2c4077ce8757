"""Stored receipts, and texts that were held back."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables of context."""
    op.create_table(
        "context_receipt",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("session_key", text, nullable=True),
        sa.Column("content", json, nullable=False),
        sa.UniqueConstraint("tenant", "id", name="uq_context_receipt_tenant_id"),
    )
    op.create_index("ix_context_receipt_tenant_row", "context_receipt", ["tenant", "row"])
    op.create_table(
        "quarantine",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("layer", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("origin", text, nullable=False),
        sa.Column("reasons", json, nullable=False),
        sa.Column("state", text, nullable=False),
        sa.Column("held_at", sa.BigInteger, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=True),
        sa.UniqueConstraint("tenant", "id", name="uq_quarantine_tenant_id"),
        sa.UniqueConstraint("tenant", "digest", name="uq_quarantine_tenant_digest"),
    )
