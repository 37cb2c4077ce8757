"""The tables of access: keys, and the answers that a repeated request gets again."""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

access_key = sa.Table(
    "access_key",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("rights", Text, nullable=False),
    sa.Column("identifiers", Json, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the secret, which is stored nowhere
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.Column("revoked_at", sa.BigInteger, nullable=True),
    sa.Column("last_used_at", sa.BigInteger, nullable=True),
    sa.UniqueConstraint("id"),  # in the whole store: a secret does not say whose it is
)

idempotency = sa.Table(
    "idempotency",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("actor", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("request", sa.LargeBinary, nullable=False),  # a digest
    sa.Column("id", Text, nullable=False),  # for what the request makes
    sa.Column("claim", Text, nullable=False),  # of whoever works on it
    sa.Column("claimed_at", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Integer, nullable=True),  # none until there is an answer
    sa.Column("body", sa.LargeBinary, nullable=True),
    sa.UniqueConstraint("tenant", "actor", "key"),
    sa.Index("ix_idempotency_claimed_at", "claimed_at"),
)
