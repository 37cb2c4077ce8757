"""What was done to one thing is found in the audit log without reading all of it."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Index the audit log by target."""
    op.create_index("ix_audit_log_tenant_target_row", "audit_log", ["tenant", "target", "row"])
