"""Keys, and the answers that a repeated request gets again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables of access."""
    op.create_table(
        "access_key",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("rights", text, nullable=False),
        sa.Column("identifiers", json, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("revoked_at", sa.BigInteger, nullable=True),
        sa.Column("last_used_at", sa.BigInteger, nullable=True),
        sa.UniqueConstraint("id", name="uq_access_key_id"),
    )
    op.create_table(
        "idempotency",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("actor", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("claim", text, nullable=False),
        sa.Column("claimed_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer, nullable=True),
        sa.Column("body", sa.LargeBinary, nullable=True),
        sa.UniqueConstraint("tenant", "actor", "key", name="uq_idempotency_tenant_actor_key"),
    )
    op.create_index("ix_idempotency_claimed_at", "idempotency", ["claimed_at"])
