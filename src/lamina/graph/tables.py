"""The tables of the graph.

`graph_source` is where something comes from, and remembers which text was read by which extractor; triples and mentions
go with their source. Names are kept twice, as written and folded, so that no table of entities can be left behind
by a deletion. Scope and expiry are repeated beside each name, because every query asks for them.
"""

import sqlalchemy as sa

from lamina.database.schema import RowId, Text, metadata

graph_source = sa.Table(
    "graph_source",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("key", Text, nullable=False),
    sa.Column("session_key", Text, nullable=True),
    sa.Column("scope", Text, nullable=False),
    sa.Column("content_hash", sa.LargeBinary, nullable=True),  # of the text that was read; none for other sources
    sa.Column("extractor", Text, nullable=True),
    sa.Column("recorded_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.UniqueConstraint("tenant", "kind", "key"),
)

graph_triple = sa.Table(
    "graph_triple",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("source_row", sa.BigInteger, nullable=False),
    sa.Column("subject", Text, nullable=False),
    sa.Column("subject_label", Text, nullable=False),
    sa.Column("predicate", Text, nullable=False),
    sa.Column("object", Text, nullable=False),
    sa.Column("object_label", Text, nullable=False),
    sa.Column("weight", sa.Double, nullable=False),
    sa.Column("scope", Text, nullable=False),
    sa.Column("valid_from", sa.BigInteger, nullable=True),
    sa.Column("valid_until", sa.BigInteger, nullable=True),
    sa.Column("recorded_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.Index("ix_graph_triple_tenant_subject_scope", "tenant", "subject", "scope"),
    sa.Index("ix_graph_triple_tenant_object_scope", "tenant", "object", "scope"),
    sa.Index("ix_graph_triple_source_row", "source_row"),
)

graph_mention = sa.Table(
    "graph_mention",
    metadata,
    sa.Column("source_row", sa.BigInteger, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("label", Text, nullable=False),
    sa.Column("scope", Text, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.PrimaryKeyConstraint("source_row", "name"),
    sa.Index("ix_graph_mention_tenant_name_scope", "tenant", "name", "scope"),
    sqlite_with_rowid=False,
)

graph_alias = sa.Table(
    "graph_alias",
    metadata,
    sa.Column("tenant", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("label", Text, nullable=False),
    sa.Column("canonical", Text, nullable=False),
    sa.Column("canonical_label", Text, nullable=False),
    sa.PrimaryKeyConstraint("tenant", "name"),
    sa.Index("ix_graph_alias_tenant_canonical", "tenant", "canonical"),
)
