"""Keys as plain JSON objects, for doors. Never their secrets: those are in a `NewKey` alone."""

from datetime import datetime

from lamina.access.types import Key
from lamina.kernel.text import moment_text

Record = dict[str, object]


def key_record(key: Key) -> Record:
    """Every field of a key but its tenant, which whoever sees it knows."""
    return {
        "id": key.id,
        "name": key.name,
        "right": key.right.value,
        "identifiers": key.identifiers.to_dict(),
        "created_at": moment_text(key.created_at),
        "expires_at": _optional(key.expires_at),
        "revoked_at": _optional(key.revoked_at),
        "last_used_at": _optional(key.last_used_at),
    }


def _optional(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)
