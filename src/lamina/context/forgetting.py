"""What prompts left behind of a session that is deleted: receipts, and texts that were held back."""

import sqlalchemy as sa

from lamina.context.quarantine import storable
from lamina.context.tables import context_receipt, quarantine
from lamina.database.link import Link
from lamina.database.schema import load_json


def remove_session_context(link: Link, tenant: str, session_key: str, *, only_of: str | None = None) -> dict[str, int]:
    """Remove the receipts of a session, or those of one user in it, and the cases of its texts; how many of each."""
    key = storable(session_key)
    receipts = [context_receipt.c.tenant == tenant, context_receipt.c.session_key == key]
    if only_of is not None:
        stored = link.execute(sa.select(context_receipt.c.row, context_receipt.c.content).where(*receipts)).all()
        receipts.append(context_receipt.c.row.in_([row[0] for row in stored if _user_of(row[1]) == only_of]))
    cases = (quarantine.c.tenant == tenant, quarantine.c.session_key == key)
    return {
        "receipts": link.execute(sa.delete(context_receipt).where(*receipts)).rowcount,
        "held_texts": link.execute(sa.delete(quarantine).where(*cases)).rowcount,
    }


def _user_of(content: object) -> object:
    receipt = load_json(content)
    return receipt.get("user_id") if isinstance(receipt, dict) else None
