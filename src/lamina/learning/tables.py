"""The table of learnings. What ranking needs of one is in `lamina.index.tables`.

`identity` is a hash of tool and pattern (of the trigger where there is no pattern): one learning for each of a tenant.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

learning = sa.Table(
    "learning",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("identity", Text, nullable=False),
    sa.Column("tool", Text, nullable=True),
    sa.Column("trigger", Text, nullable=False),
    sa.Column("pattern", Text, nullable=True),
    sa.Column("diagnosis", Text, nullable=True),
    sa.Column("fix", Text, nullable=True),
    sa.Column("category", Text, nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("origin", Text, nullable=False),
    sa.Column("alpha", sa.Double, nullable=False),
    sa.Column("beta", sa.Double, nullable=False),
    sa.Column("occurrence_count", sa.BigInteger, nullable=False),
    sa.Column("success_count", sa.BigInteger, nullable=False),
    sa.Column("failure_count", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger, nullable=False),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),  # the scope version that wrote the index row
    sa.UniqueConstraint("tenant", "id"),
    sa.UniqueConstraint("tenant", "identity"),
    sa.Index("ix_learning_tenant_category", "tenant", "category"),
    sa.Index(
        "ix_learning_tenant_fixed",
        "tenant",
        sqlite_where=sa.text("fix IS NOT NULL"),
        postgresql_where=sa.text("fix IS NOT NULL"),
    ),
)

CONFIDENCE: sa.ColumnElement[float] = sa.type_coerce(learning.c.alpha / (learning.c.alpha + learning.c.beta), sa.Double)
"""The confidence of a row (see `confidence`)."""
