"""The tables of conversations. What ranking needs of a message is in `lamina.index.tables`.

A session's sequence numbers have no gaps and only a beginning of them is ever archived, so `archived` is both how
many messages are in the archive and the sequence of the last of them. `message.total_tokens` is the sum of the
session's tokens up to and with that message. A summary is no entry of the index: its `scope_id` and `indexed` are 0.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

session = sa.Table(
    "session",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("channel", Text, nullable=False),
    sa.Column("user_id", Text, nullable=True),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("last_sequence", sa.BigInteger, nullable=False),
    sa.Column("archived", sa.BigInteger, nullable=False),
    sa.Column("total_tokens", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("tenant", "key"),
    sa.Index("ix_session_tenant_user_id_updated_at", "tenant", "user_id", "updated_at"),
    sqlite_autoincrement=True,  # the number names the session's scope in the index: it is never used again
)

message = sa.Table(
    "message",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("session_row", sa.BigInteger, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("role", Text, nullable=False),
    sa.Column("author", Text, nullable=True),
    sa.Column("content", Text, nullable=False),
    sa.Column("parts", Json, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("total_tokens", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("archived_at", sa.BigInteger, nullable=True),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),  # the scope version that wrote the index row
    sa.UniqueConstraint("tenant", "session_row", "sequence", "kind"),
    sa.UniqueConstraint("tenant", "session_row", "id"),
    # Finds the one summary of a session without looking at all of its messages.
    sa.Index(
        "ix_message_summary",
        "tenant",
        "session_row",
        "kind",
        sqlite_where=sa.text("kind = 'summary'"),
        postgresql_where=sa.text("kind = 'summary'"),
    ),
    sqlite_autoincrement=True,  # an index may still know the old entry of a number
)
