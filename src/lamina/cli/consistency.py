"""What must hold between the memories of a store and what ranking knows of them, over all tenants.

Every write keeps these in one transaction, so only damage from outside breaks them.
"""

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.index.tables import ACTIVE_MODEL_ID, index_entry, index_vector, scope
from lamina.memory.tables import memory


def find_loose_ends(link: Link) -> dict[str, int]:
    """How many rows break which rule; empty when all is well."""
    found = {name: int(link.execute(query).scalar_one()) for name, query in _queries().items()}
    return {name: count for name, count in found.items() if count}


def count_entries(link: Link) -> tuple[int, int]:
    """The memories there are, and the marks that deletions left."""
    memories = link.execute(sa.select(sa.func.count()).select_from(memory)).scalar_one()
    marks = sa.select(sa.func.count()).select_from(index_entry).where(index_entry.c.terms.is_(None))
    return int(memories), int(link.execute(marks).scalar_one())


def tenants_with_marks(link: Link) -> list[str]:
    """The tenants whose deletions left marks."""
    rows = link.execute(sa.select(index_entry.c.tenant).where(index_entry.c.terms.is_(None)).distinct())
    return sorted(row[0] for row in rows)


def _queries() -> dict[str, sa.Select[int]]:
    entry = sa.select(index_entry.c.entry).where(
        index_entry.c.scope_id == memory.c.scope_id,
        index_entry.c.version == memory.c.indexed,
        index_entry.c.entry == memory.c.row,
        index_entry.c.tenant == memory.c.tenant,
        index_entry.c.terms.is_not(None),
    )
    vector = sa.select(index_vector.c.entry).where(
        index_vector.c.model_id == ACTIVE_MODEL_ID,
        index_vector.c.scope_id == memory.c.scope_id,
        index_vector.c.entry == memory.c.row,
        index_vector.c.tenant == memory.c.tenant,
    )
    owner = sa.select(memory.c.row).where(
        memory.c.row == index_entry.c.entry,
        memory.c.scope_id == index_entry.c.scope_id,
        memory.c.indexed == index_entry.c.version,
    )
    held = sa.select(sa.func.count()).select_from(memory).where(memory.c.scope_id == scope.c.id).scalar_subquery()

    def count(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.Select[int]:
        return sa.select(sa.func.count()).select_from(table).where(*conditions)

    return {
        "memories without index row": count(memory, ~entry.exists()),
        "memories without vector": count(memory, ~vector.exists()),
        "index rows without memory": count(index_entry, index_entry.c.terms.is_not(None), ~owner.exists()),
        "scopes that miscount": count(scope, scope.c.kind == "memory", scope.c.entries != held),
    }
