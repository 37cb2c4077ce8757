"""Finds the summary of a session without looking at all of its messages."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Index the summaries alone."""
    summary = sa.text("kind = 'summary'")
    op.create_index(
        "ix_message_summary",
        "message",
        ["tenant", "session_row", "kind"],
        sqlite_where=summary,
        postgresql_where=summary,
    )
