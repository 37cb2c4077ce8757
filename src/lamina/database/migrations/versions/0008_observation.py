"""How far sessions were observed, and the notes on them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def count(name: str) -> "sa.Column[int]":
    """A whole number that is never missing."""
    return sa.Column(name, sa.BigInteger, nullable=False)


def upgrade() -> None:
    """Create the tables of observational memory."""
    op.create_table(
        "observation_state",
        sa.Column("tenant", text, nullable=False),
        count("session_row"),
        *map(count, ("watermark", "observed_tokens", "version", "unsettled", "provisional")),
        sa.Column("lease_owner", text, nullable=True),
        sa.Column("leased_at", sa.BigInteger, nullable=True),
        sa.Column("lease_until", sa.BigInteger, nullable=True),
        count("failures"),
        sa.Column("last_error", text, nullable=True),
        sa.Column("next_attempt_at", sa.BigInteger, nullable=True),
        count("reflect_failures"),
        sa.Column("reflect_at", sa.BigInteger, nullable=True),
        sa.Column("reflect_tried", text, nullable=True),
        sa.Column("consolidate_tried", text, nullable=True),
        count("rewrite_failures"),
        sa.Column("rewrite_at", sa.BigInteger, nullable=True),
        *map(count, ("observations", "reflections", "dropped_entries")),
        *map(count, ("observer_calls", "observer_input_tokens", "observer_output_tokens")),
        *map(count, ("reflector_calls", "reflector_input_tokens", "reflector_output_tokens")),
        *map(count, ("turns", "sent_tokens", "unchanged_tokens")),
        sa.PrimaryKeyConstraint("tenant", "session_row", name="pk_observation_state"),
    )
    op.create_table(
        "note",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        count("session_row"),
        sa.Column("id", text, nullable=False),
        *map(count, ("generation", "first_sequence", "last_sequence", "tokens", "source_tokens")),
        sa.Column("written_by", text, nullable=False),
        *map(count, ("provisional", "created_at")),
        sa.UniqueConstraint("tenant", "id", name="uq_note_tenant_id"),
    )
    op.create_index("ix_note_tenant_session_row_last_sequence", "note", ["tenant", "session_row", "last_sequence"])
    op.create_table(
        "note_entry",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        count("note_row"),
        sa.Column("id", text, nullable=False),
        count("position"),
        *(sa.Column(name, text, nullable=False) for name in ("text", "kind", "priority", "status", "origin")),
        sa.Column("author", text, nullable=True),
        count("said_at"),
        sa.Column("refers_first", text, nullable=True),
        sa.Column("refers_last", text, nullable=True),
        sa.Column("sources", json, nullable=False),
        sa.UniqueConstraint("tenant", "id", name="uq_note_entry_tenant_id"),
    )
    op.create_index("ix_note_entry_note_row_position", "note_entry", ["note_row", "position"])
