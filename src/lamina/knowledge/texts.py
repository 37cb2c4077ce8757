"""The texts of knowledge and references, for late vectors and for a change of the embedding model."""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.embedding.reembed import PendingText
from lamina.index.late import HeldEntry
from lamina.index.store import ScopeKey
from lamina.index.tables import index_vector
from lamina.knowledge.rows import knowledge_scope, reference_scope, searched_text
from lamina.knowledge.tables import external_reference, knowledge


class NamedTexts:
    """A table of named texts as a `TextSource` and a `LateOwner`."""

    def __init__(
        self, table: sa.Table, name: sa.Column[Any], text: sa.Column[Any], scope_key: Callable[[str], ScopeKey]
    ) -> None:
        self._table = table
        self._name = name
        self._text = text
        self._scope_key = scope_key

    def count(self, link: Link) -> int:
        """How many entries there are, over all tenants."""
        return int(link.execute(sa.select(sa.func.count()).select_from(self._table)).scalar_one())

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Entries above row `after` without a vector of the model; `hold` locks them against changes."""
        columns = self._table.c
        vectors = sa.select(index_vector.c.entry).where(
            index_vector.c.model_id == model_id,
            index_vector.c.scope_id == columns.scope_id,
            index_vector.c.entry == columns.row,
        )
        statement = (
            sa.select(columns.row, columns.scope_id, columns.tenant, self._name, self._text)
            .where(columns.row > after, ~vectors.exists())
            .order_by(columns.row)
            .limit(limit)
        )
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=self._table, read=True)
        return [
            PendingText(entry=row[0], scope_id=row[1], tenant=row[2], text=searched_text(row[3], row[4]))
            for row in link.execute(statement)
        ]

    def hold(self, link: Link, tenant: str, entries: Sequence[int]) -> list[HeldEntry]:
        """Those of the entries that exist, locked until the commit, ascending."""
        columns = self._table.c
        statement = (
            sa.select(columns.row, columns.indexed, self._name, self._text)
            .where(columns.tenant == tenant, columns.row.in_(entries))
            .order_by(columns.row)
        )
        if link.name == "postgresql":
            statement = statement.with_for_update()
        return [
            HeldEntry(entry=row[0], key=self._scope_key(tenant), indexed=row[1], text=searched_text(row[2], row[3]))
            for row in link.execute(statement)
        ]

    def moved(self, link: Link, tenant: str, entries: Sequence[int], version: int) -> None:
        """Note where the entries' index rows are now."""
        columns = self._table.c
        changed = sa.update(self._table).where(columns.tenant == tenant, columns.row.in_(entries))
        link.execute(changed.values(indexed=version))


def knowledge_texts() -> NamedTexts:
    """The latest versions of every key."""
    return NamedTexts(knowledge, knowledge.c.key, knowledge.c.content, knowledge_scope)


def reference_texts() -> NamedTexts:
    """The names and summaries of every reference."""
    return NamedTexts(external_reference, external_reference.c.name, external_reference.c.summary, reference_scope)
