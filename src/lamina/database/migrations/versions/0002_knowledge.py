"""Knowledge with its versions, external references, the audit log, and counted slots."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables of knowledge."""
    _create_knowledge()
    op.create_table(
        "external_reference",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("type", text, nullable=False),
        sa.Column("location", text, nullable=False),
        sa.Column("summary", text, nullable=False),
        sa.Column("metadata", json, nullable=False),
        sa.Column("origin", text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "name", name="uq_external_reference_tenant_name"),
    )
    op.create_table(
        "rate_slot",
        sa.Column("tenant", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("holder", text, nullable=False),
        sa.Column("period", text, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", "holder", "period", name="pk_rate_slot"),
    )
    _create_audit_log()


def _create_knowledge() -> None:
    op.create_table(
        "knowledge",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("category", text, nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("tags", json, nullable=False),
        sa.Column("source", text, nullable=True),
        sa.Column("origin", text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("relevance", sa.Double, nullable=False),
        sa.Column("use_count", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger, nullable=True),
        sa.Column("scope_id", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "key", name="uq_knowledge_tenant_key"),
    )
    op.create_index("ix_knowledge_tenant_category", "knowledge", ["tenant", "category"])
    op.create_table(
        "knowledge_version",
        sa.Column("knowledge_row", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("category", text, nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("tags", json, nullable=False),
        sa.Column("source", text, nullable=True),
        sa.Column("origin", text, nullable=False),
        sa.Column("saved_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("knowledge_row", "version", name="pk_knowledge_version"),
    )


def _create_audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("row", row_id, primary_key=True, autoincrement=True),
        sa.Column("tenant", text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("action", text, nullable=False),
        sa.Column("actor", text, nullable=False),
        sa.Column("target", text, nullable=True),
        sa.Column("session_key", text, nullable=True),
        sa.Column("details", json, nullable=False),
    )
    op.create_index("ix_audit_log_tenant_row", "audit_log", ["tenant", "row"])
    op.create_index("ix_audit_log_tenant_session_key", "audit_log", ["tenant", "session_key"])
    for statement in _APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)


_APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER audit_log_{event.lower()} BEFORE {event} ON audit_log "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END"
        for event in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append only'; END $$",
        "CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only()",
    ],
}
