"""Sessions and their messages; the session of a text that was held back."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables of conversations."""
    op.create_table(
        "session",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("channel", text, nullable=False),
        sa.Column("user_id", text, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
        sa.Column("archived", sa.BigInteger, nullable=False),
        sa.Column("total_tokens", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "key", name="uq_session_tenant_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_session_tenant_user_id_updated_at", "session", ["tenant", "user_id", "updated_at"])
    op.add_column("quarantine", sa.Column("session_key", text, nullable=True))
    op.create_table(
        "message",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("session_row", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("role", text, nullable=False),
        sa.Column("author", text, nullable=True),
        sa.Column("content", text, nullable=False),
        sa.Column("parts", json, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("total_tokens", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("archived_at", sa.BigInteger, nullable=True),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint(
            "tenant", "session_row", "sequence", "kind", name="uq_message_tenant_session_row_sequence_kind"
        ),
        sa.UniqueConstraint("tenant", "session_row", "id", name="uq_message_tenant_session_row_id"),
        sqlite_autoincrement=True,
    )
