"""What must hold between the memories and messages of a store and what ranking knows of them, over all tenants.

Every write keeps these in one transaction, so only damage from outside breaks them.
"""

from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.index.tables import ACTIVE_MODEL_ID, index_entry, index_vector, scope
from lamina.memory.tables import memory
from lamina.session.tables import message, session


def find_loose_ends(link: Link) -> dict[str, int]:
    """How many rows of memories break which rule; empty when all is well."""
    vector = sa.select(index_vector.c.entry).where(
        index_vector.c.model_id == ACTIVE_MODEL_ID,
        index_vector.c.scope_id == memory.c.scope_id,
        index_vector.c.entry == memory.c.row,
        index_vector.c.tenant == memory.c.tenant,
    )
    queries = _index_rules(memory, "memory", "memories")
    return _broken(link, {**queries, "memories without vector": _count(memory, ~vector.exists())})


def find_loose_messages(link: Link) -> dict[str, int]:
    """How many rows of conversations break which rule. A message's vector may still be on its way."""
    said = (message.c.kind == "message", message.c.tenant == session.c.tenant, message.c.session_row == session.c.row)
    there = sa.select(sa.func.count()).select_from(message).where(*said)
    last = sa.select(sa.func.coalesce(sa.func.max(message.c.sequence), 0)).where(*said)
    archived = there.where(message.c.archived_at.is_not(None))
    tokens = sa.select(sa.func.coalesce(sa.func.sum(message.c.tokens), 0)).where(*said)
    wrong = sa.or_(
        session.c.last_sequence != there.scalar_subquery(),
        session.c.last_sequence != last.scalar_subquery(),
        session.c.archived != archived.scalar_subquery(),
        session.c.total_tokens != tokens.scalar_subquery(),
    )
    owner = sa.select(session.c.row).where(session.c.row == message.c.session_row, session.c.tenant == message.c.tenant)
    queries = _index_rules(message, "message", "messages", message.c.kind == "message")
    return _broken(
        link,
        {
            **queries,
            "messages without session": _count(message, ~owner.exists()),
            "sessions that miscount": _count(session, wrong),
        },
    )


def count_entries(link: Link) -> tuple[int, int]:
    """The memories there are, and the marks that deletions left."""
    memories = link.execute(_count(memory)).scalar_one()
    marks = _count(index_entry, index_entry.c.terms.is_(None))
    return int(memories), int(link.execute(marks).scalar_one())


def count_conversations(link: Link) -> tuple[int, int]:
    """The sessions and the messages there are."""
    messages = _count(message, message.c.kind == "message")
    return int(link.execute(_count(session)).scalar_one()), int(link.execute(messages).scalar_one())


def tenants_with_marks(link: Link) -> list[str]:
    """The tenants whose deletions left marks."""
    rows = link.execute(sa.select(index_entry.c.tenant).where(index_entry.c.terms.is_(None)).distinct())
    return sorted(row[0] for row in rows)


def _index_rules(table: sa.Table, kind: str, names: str, *entries: sa.ColumnElement[bool]) -> dict[str, sa.Select[int]]:
    """The rules that hold for every room with entries in the index."""
    columns = table.c
    entry = sa.select(index_entry.c.entry).where(
        index_entry.c.scope_id == columns.scope_id,
        index_entry.c.version == columns.indexed,
        index_entry.c.entry == columns.row,
        index_entry.c.tenant == columns.tenant,
        index_entry.c.terms.is_not(None),
    )
    owner = sa.select(columns.row).where(
        columns.row == index_entry.c.entry,
        columns.scope_id == index_entry.c.scope_id,
        columns.indexed == index_entry.c.version,
    )
    mine = sa.select(scope.c.id).where(scope.c.id == index_entry.c.scope_id, scope.c.kind == kind)
    held: Any = sa.select(sa.func.count()).select_from(table).where(columns.scope_id == scope.c.id).scalar_subquery()
    return {
        f"{names} without index row": _count(table, *entries, ~entry.exists()),
        f"index rows without {kind}": _count(
            index_entry, index_entry.c.terms.is_not(None), mine.exists(), ~owner.exists()
        ),
        "scopes that miscount": _count(scope, scope.c.kind == kind, scope.c.entries != held),
    }


def _count(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.Select[int]:
    return sa.select(sa.func.count()).select_from(table).where(*conditions)


def _broken(link: Link, queries: dict[str, sa.Select[int]]) -> dict[str, int]:
    found = {name: int(link.execute(query).scalar_one()) for name, query in queries.items()}
    return {name: count for name, count in found.items() if count}
