"""The texts of learnings, for late vectors and for a change of the embedding model."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.embedding.reembed import PendingText
from lamina.index.late import HeldEntry
from lamina.index.tables import index_vector
from lamina.learning.rows import learning_scope, searched_text
from lamina.learning.tables import learning

_PARTS = ("tool", "trigger", "pattern", "diagnosis", "fix")
_TEXT = tuple(learning.c[name] for name in _PARTS)


class LearningTexts:
    """Learnings as a `TextSource` and a `LateOwner`."""

    def count(self, link: Link) -> int:
        """How many learnings there are, over all tenants."""
        return int(link.execute(sa.select(sa.func.count()).select_from(learning)).scalar_one())

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Learnings above row `after` without a vector of the model; `hold` locks them against changes."""
        vectors = sa.select(index_vector.c.entry).where(
            index_vector.c.model_id == model_id,
            index_vector.c.scope_id == learning.c.scope_id,
            index_vector.c.entry == learning.c.row,
        )
        statement = (
            sa.select(learning.c.row, learning.c.scope_id, learning.c.tenant, *_TEXT)
            .where(learning.c.row > after, ~vectors.exists())
            .order_by(learning.c.row)
            .limit(limit)
        )
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=learning, read=True)
        return [
            PendingText(entry=row[0], scope_id=row[1], tenant=row[2], text=_text(row[3:]))
            for row in link.execute(statement)
        ]

    def hold(self, link: Link, tenant: str, entries: Sequence[int]) -> list[HeldEntry]:
        """Those of the entries that exist, locked until the commit, ascending."""
        statement = (
            sa.select(learning.c.row, learning.c.indexed, *_TEXT)
            .where(learning.c.tenant == tenant, learning.c.row.in_(entries))
            .order_by(learning.c.row)
        )
        if link.name == "postgresql":
            statement = statement.with_for_update()
        return [
            HeldEntry(entry=row[0], key=learning_scope(tenant), indexed=row[1], text=_text(row[2:]))
            for row in link.execute(statement)
        ]

    def moved(self, link: Link, tenant: str, entries: Sequence[int], version: int) -> None:
        """Note where the learnings' index rows are now."""
        changed = sa.update(learning).where(learning.c.tenant == tenant, learning.c.row.in_(entries))
        link.execute(changed.values(indexed=version))


def _text(row: Any) -> str:
    return searched_text(**dict(zip(_PARTS, row, strict=True)))
