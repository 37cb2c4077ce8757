"""The graph: sources, triples, mentions and aliases."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of the graph."""
    op.create_table(
        "graph_source",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("session_key", text, nullable=True),
        sa.Column("scope", text, nullable=False),
        sa.Column("content_hash", sa.LargeBinary, nullable=True),
        sa.Column("extractor", text, nullable=True),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.UniqueConstraint("tenant", "kind", "key", name="uq_graph_source_tenant_kind_key"),
    )
    _create_triples()
    op.create_table(
        "graph_mention",
        sa.Column("source_row", sa.BigInteger, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("label", text, nullable=False),
        sa.Column("scope", text, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("source_row", "name", name="pk_graph_mention"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_graph_mention_tenant_name_scope", "graph_mention", ["tenant", "name", "scope"])
    op.create_table(
        "graph_alias",
        sa.Column("tenant", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("label", text, nullable=False),
        sa.Column("canonical", text, nullable=False),
        sa.Column("canonical_label", text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name="pk_graph_alias"),
    )
    op.create_index("ix_graph_alias_tenant_canonical", "graph_alias", ["tenant", "canonical"])


def _create_triples() -> None:
    op.create_table(
        "graph_triple",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("source_row", sa.BigInteger, nullable=False),
        sa.Column("subject", text, nullable=False),
        sa.Column("subject_label", text, nullable=False),
        sa.Column("predicate", text, nullable=False),
        sa.Column("object", text, nullable=False),
        sa.Column("object_label", text, nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("scope", text, nullable=False),
        sa.Column("valid_from", sa.BigInteger, nullable=True),
        sa.Column("valid_until", sa.BigInteger, nullable=True),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
    )
    op.create_index("ix_graph_triple_tenant_subject_scope", "graph_triple", ["tenant", "subject", "scope"])
    op.create_index("ix_graph_triple_tenant_object_scope", "graph_triple", ["tenant", "object", "scope"])
    op.create_index("ix_graph_triple_source_row", "graph_triple", ["source_row"])
