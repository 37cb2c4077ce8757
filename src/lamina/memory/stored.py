"""Memories as texts for other rooms, with the scope that says who may see them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.texts import StoredText
from lamina.index.tables import scope
from lamina.memory.tables import memory

_TEXT = sa.select(
    memory.c.row, memory.c.tenant, memory.c.id, memory.c.content, scope.c.key, memory.c.expires_at
).join_from(memory, scope, memory.c.scope_id == scope.c.id)


class StoredMemories:
    """Memory as `StoredTexts`. The scope of a memory is its layer with the identifiers of its owner."""

    kind = "memory"

    def after(self, link: Link, row: int, *, limit: int, tenant: str | None = None) -> list[StoredText]:
        """Memories above a row, ascending; of every tenant unless one is named."""
        statement = _TEXT.where(memory.c.row > row).order_by(memory.c.row).limit(limit)
        if tenant is not None:
            statement = statement.where(memory.c.tenant == tenant)
        return [_stored(found) for found in link.execute(statement)]

    def read(self, link: Link, tenant: str, keys: Sequence[str], *, hold: bool = False) -> list[StoredText]:
        """Those of the ids that exist; `hold` keeps them until the commit, and passes over what others hold."""
        statement = _TEXT.where(memory.c.tenant == tenant, memory.c.id.in_(keys)).order_by(memory.c.row)
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=memory, read=True, skip_locked=True)
        return [_stored(found) for found in link.execute(statement)]


def _stored(row: Any) -> StoredText:
    return StoredText(row=row[0], tenant=row[1], key=row[2], text=row[3], scope=row[4], expires_at=row[5])
