"""The tables of skills. What ranking needs of a skill is in `lamina.index.tables`.

`skill` holds the latest version of each name with its counters, `skill_version` every version including the latest.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata

skill = sa.Table(
    "skill",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("type", Text, nullable=False),
    sa.Column("definition", Json, nullable=False),
    sa.Column("parameters", Json, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", Text, nullable=False),
    sa.Column("requires_approval", sa.Boolean, nullable=False),
    sa.Column("created_by", Text, nullable=False),
    sa.Column("decided_by", Text, nullable=True),
    sa.Column("origin", Text, nullable=False),
    sa.Column("use_count", sa.BigInteger, nullable=False),
    sa.Column("success_count", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger, nullable=True),
    sa.Column("scope_id", sa.BigInteger, nullable=False),
    sa.Column("indexed", sa.BigInteger, nullable=False),  # the scope version that wrote the index row
    sa.UniqueConstraint("tenant", "name"),
    sa.Index("ix_skill_tenant_status", "tenant", "status"),
)

skill_version = sa.Table(
    "skill_version",
    metadata,
    sa.Column("skill_row", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("type", Text, nullable=False),
    sa.Column("definition", Json, nullable=False),
    sa.Column("parameters", Json, nullable=False),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("created_by", Text, nullable=False),
    sa.Column("saved_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("skill_row", "version"),
)
