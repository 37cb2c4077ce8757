"""The session layer of a session that is deleted: its memories go in the same transaction."""

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.database.texts import RemovedListener
from lamina.index.tables import scope
from lamina.memory.types import MemoryLayer
from lamina.memory.writing import delete_memories, find_in_scopes


def remove_session_memories(link: Link, tenant: str, session_id: str, on_removed: RemovedListener | None = None) -> int:
    """Remove the session memories of every user of this session; how many there were."""
    prefix = f"{MemoryLayer.SESSION.value}:"
    chosen = sa.select(scope.c.id, scope.c.key).where(
        scope.c.tenant == tenant,
        scope.c.kind == "memory",
        scope.c.label == MemoryLayer.SESSION.value,
        scope.c.entries > 0,
        scope.c.key.contains(dump_json(session_id), autoescape=True),
    )
    found = [row[0] for row in link.execute(chosen) if _session_of(row[1].removeprefix(prefix)) == session_id]
    return delete_memories(link, find_in_scopes(link, tenant, found), on_removed) if found else 0


def _session_of(identifiers: str) -> object:
    parsed = load_json(identifiers)
    return parsed.get("session_id") if isinstance(parsed, dict) else None
