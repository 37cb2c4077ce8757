"""The tables of context: stored receipts, and texts that were held back."""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

context_receipt = sa.Table(
    "context_receipt",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("session_key", Text, nullable=True),
    sa.Column("content", Json, nullable=False),
    sa.UniqueConstraint("tenant", "id"),
    sa.Index("ix_context_receipt_tenant_row", "tenant", "row"),
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("layer", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of layer, key and text: another text is another case
    sa.Column("content", Text, nullable=False),  # empty once it was purged
    sa.Column("origin", Text, nullable=False),
    sa.Column("reasons", Json, nullable=False),
    sa.Column("state", Text, nullable=False),
    sa.Column("held_at", sa.BigInteger, nullable=False),
    sa.Column("decided_at", sa.BigInteger, nullable=True),
    sa.Column("session_key", Text, nullable=True),  # of what belongs to one session
    sa.UniqueConstraint("tenant", "id"),
    sa.UniqueConstraint("tenant", "digest"),
)
