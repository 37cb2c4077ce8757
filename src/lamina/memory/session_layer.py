"""The session layer of a session that is deleted: its memories go in the same transaction."""

from collections.abc import Mapping

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.database.texts import RemovedListener
from lamina.index.tables import scope
from lamina.memory.types import MemoryLayer
from lamina.memory.writing import delete_memories, find_in_scopes


def remove_session_memories(
    link: Link,
    tenant: str,
    session_id: str,
    on_removed: RemovedListener | None = None,
    *,
    only_of: str | None = None,
) -> int:
    """Remove the session memories of every user of this session, or of one; how many there were."""
    prefix = f"{MemoryLayer.SESSION.value}:"
    chosen = sa.select(scope.c.id, scope.c.key).where(
        scope.c.tenant == tenant,
        scope.c.kind == "memory",
        scope.c.label == MemoryLayer.SESSION.value,
        scope.c.entries > 0,
        scope.c.key.contains(dump_json(session_id), autoescape=True),
    )
    wanted = {"session_id": session_id} if only_of is None else {"session_id": session_id, "user_id": only_of}
    found = [row[0] for row in link.execute(chosen) if _addresses(row[1].removeprefix(prefix), wanted)]
    return delete_memories(link, find_in_scopes(link, tenant, found), on_removed) if found else 0


def _addresses(identifiers: str, wanted: Mapping[str, str]) -> bool:
    """Whether the identifiers of a scope are among others these."""
    parsed = load_json(identifiers)
    return isinstance(parsed, dict) and wanted.items() <= parsed.items()
