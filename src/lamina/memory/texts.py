"""The texts of memories, for a change of the embedding model."""

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.embedding.reembed import PendingText
from lamina.index.tables import index_vector
from lamina.memory.tables import memory


class MemoryTexts:
    """Memory as a `TextSource`."""

    def count(self, link: Link) -> int:
        """How many memories there are, over all tenants."""
        return int(link.execute(sa.select(sa.func.count()).select_from(memory)).scalar_one())

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Memories above row `after` without a vector of the model; `hold` locks them against changes."""
        vectors = sa.select(index_vector.c.entry).where(
            index_vector.c.model_id == model_id,
            index_vector.c.scope_id == memory.c.scope_id,
            index_vector.c.entry == memory.c.row,
        )
        statement = (
            sa.select(memory.c.row, memory.c.scope_id, memory.c.tenant, memory.c.content)
            .where(memory.c.row > after, ~vectors.exists())
            .order_by(memory.c.row)
            .limit(limit)
        )
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=memory, read=True)
        return [
            PendingText(entry=row[0], scope_id=row[1], tenant=row[2], text=row[3]) for row in link.execute(statement)
        ]
