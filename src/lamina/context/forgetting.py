"""What prompts left behind of a session that is deleted: receipts, and texts that were held back."""

import sqlalchemy as sa

from lamina.context.quarantine import storable
from lamina.context.tables import context_receipt, quarantine
from lamina.database.link import Link


def remove_session_context(link: Link, tenant: str, session_key: str) -> dict[str, int]:
    """Remove the receipts of a session and the cases of its texts; how many there were of each."""
    key = storable(session_key)
    return {
        name: link.execute(sa.delete(table).where(table.c.tenant == tenant, table.c.session_key == key)).rowcount
        for name, table in (("receipts", context_receipt), ("held_texts", quarantine))
    }
