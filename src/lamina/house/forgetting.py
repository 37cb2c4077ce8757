"""What every room has of a session goes when the session is deleted, in the same transaction."""

from typing import TYPE_CHECKING

from lamina.context.forgetting import remove_session_context
from lamina.database.link import Link
from lamina.database.slots import drop_slots
from lamina.graph.types import session_scope
from lamina.graph.writing import remove_scope, remove_sources
from lamina.memory.session_layer import remove_session_memories
from lamina.observation.removing import remove_notes
from lamina.session.reading import StoredSession
from lamina.session.removing import Deletion

if TYPE_CHECKING:
    from lamina.knowledge.audit import AuditLog


def forget_session(link: Link, held: StoredSession, deletion: Deletion, *, audit: "AuditLog") -> dict[str, int]:
    """Remove what the other rooms have of a session, in the transaction that deletes it; how much, by kind."""
    tenant, key = held.tenant, held.key
    removed = {
        **remove_notes(link, held),
        "memories": remove_session_memories(link, tenant, key, remove_sources, only_of=deletion.only_of),
        "triples": remove_scope(link, tenant, session_scope(key)),
        **remove_session_context(link, tenant, key, only_of=deletion.only_of),
        "slots": drop_slots(link, tenant, key),
    }
    audit.add(link, tenant=tenant, action="session_delete", actor=deletion.actor, target=key, details=removed)
    return removed
