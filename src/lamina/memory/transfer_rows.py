"""The steps of an import's transaction, and the hierarchy as rows."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import Link
from lamina.database.texts import RemovedListener
from lamina.errors import InvalidInputError
from lamina.index.models import StoredModel
from lamina.memory.parsing import HierarchyLink, ImportedMemory
from lamina.memory.tables import hierarchy
from lamina.memory.writing import (
    PreparedMemory,
    StoredMemory,
    delete_memories,
    find_memory,
    insert_memories,
    put_revisions,
)


def put_memories(
    link: Link,
    model: StoredModel,
    tenant: str,
    memories: Sequence[tuple[ImportedMemory, PreparedMemory]],
    on_conflict: str,
    on_removed: RemovedListener | None = None,
) -> tuple[int, int]:
    """Store imported memories with their history; how many are new and how many took the place of another.

    Raises InvalidInputError, naming the line, for one that is there already when `on_conflict` is `error`.
    """
    # In one order everywhere, because finding them locks them.
    ordered = sorted(memories, key=lambda pair: pair[0].entry.id)
    present: dict[str, StoredMemory] = {}
    for item, _ in ordered:
        found = find_memory(link, tenant, item.entry.id)
        if found is not None:
            present[item.entry.id] = found
    if present and on_conflict == "error":
        line = min(item.line for item, _ in memories if item.entry.id in present)
        raise InvalidInputError(
            f"Line {line}: a memory with this id is there already.", operation="import", details={"line": line}
        )
    if on_conflict == "replace":
        delete_memories(link, present.values(), on_removed)
        chosen = list(memories)
    else:
        chosen = [pair for pair in memories if pair[0].entry.id not in present]
    rows = insert_memories(link, model, [prepared for _, prepared in chosen])
    states = [(row, state) for row, (item, _) in zip(rows, chosen, strict=True) for state in item.revisions]
    put_revisions(link, tenant, states)
    replaced = len(present) if on_conflict == "replace" else 0
    return len(chosen) - replaced, replaced


def hierarchy_links(link: Link, tenant: str) -> list[HierarchyLink]:
    """Every stored link of a tenant, by level and id."""
    columns = hierarchy.c
    rows = link.execute(
        sa.select(columns.kind, columns.id, columns.parent_id)
        .where(columns.tenant == tenant)
        .order_by(columns.kind, columns.id)
    )
    return [HierarchyLink(kind=row[0], id=row[1], parent_id=row[2]) for row in rows]


def put_links(link: Link, tenant: str, links: Sequence[HierarchyLink], on_conflict: str) -> None:
    """Store links; one that differs from what is stored stays out, wins or is an error, as `on_conflict` says."""
    if not links:
        return
    statement: Any = postgresql.insert(hierarchy) if link.name == "postgresql" else sqlite.insert(hierarchy)
    key = [hierarchy.c.tenant, hierarchy.c.kind, hierarchy.c.id]
    if on_conflict == "replace":
        statement = statement.on_conflict_do_update(
            index_elements=key, set_={"parent_id": statement.excluded.parent_id}
        )
    else:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    given = {(each.kind, each.id): each.parent_id for each in links}
    link.execute(
        statement, [{"tenant": tenant, "kind": kind, "id": id, "parent_id": up} for (kind, id), up in given.items()]
    )
    if on_conflict == "error":
        stored = {(each.kind, each.id): each.parent_id for each in hierarchy_links(link, tenant)}
        other = next((f"{kind} {id}" for (kind, id), up in given.items() if stored[kind, id] != up), None)
        if other is not None:
            raise InvalidInputError(f"The {other} belongs to somebody else already.", operation="import")
