"""The texts of messages, for late vectors and for a change of the embedding model."""

from collections.abc import Sequence

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.embedding.reembed import PendingText
from lamina.index.late import HeldEntry
from lamina.index.tables import index_vector
from lamina.session.rows import load_parts, message_scope, searched_text
from lamina.session.tables import message

_columns = message.c
_SAID = _columns.kind == "message"


class MessageTexts:
    """Messages as a `TextSource` and a `LateOwner`; summaries have no vectors."""

    def count(self, link: Link) -> int:
        """How many messages there are, over all tenants."""
        return int(link.execute(sa.select(sa.func.count()).select_from(message).where(_SAID)).scalar_one())

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Messages above row `after` without a vector of the model; `hold` locks them against changes."""
        vectors = sa.select(index_vector.c.entry).where(
            index_vector.c.model_id == model_id,
            index_vector.c.scope_id == _columns.scope_id,
            index_vector.c.entry == _columns.row,
        )
        statement = (
            sa.select(_columns.row, _columns.scope_id, _columns.tenant, _columns.content, _columns.parts)
            .where(_columns.row > after, _SAID, ~vectors.exists())
            .order_by(_columns.row)
            .limit(limit)
        )
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=message, read=True)
        return [
            PendingText(entry=row[0], scope_id=row[1], tenant=row[2], text=searched_text(row[3], load_parts(row[4])))
            for row in link.execute(statement)
        ]

    def hold(self, link: Link, tenant: str, entries: Sequence[int]) -> list[HeldEntry]:
        """Those of the messages that exist, locked until the commit, ascending."""
        statement = (
            sa.select(_columns.row, _columns.session_row, _columns.indexed, _columns.content, _columns.parts)
            .where(_columns.tenant == tenant, _columns.row.in_(entries))
            .order_by(_columns.row)
        )
        if link.name == "postgresql":
            statement = statement.with_for_update()
        return [
            HeldEntry(
                entry=row[0],
                key=message_scope(tenant, row[1]),
                indexed=row[2],
                text=searched_text(row[3], load_parts(row[4])),
            )
            for row in link.execute(statement)
        ]

    def moved(self, link: Link, tenant: str, entries: Sequence[int], version: int) -> None:
        """Note where the messages' index rows are now."""
        changed = sa.update(message).where(_columns.tenant == tenant, _columns.row.in_(entries))
        link.execute(changed.values(indexed=version))
