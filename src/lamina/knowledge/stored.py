"""Knowledge as texts for other rooms: everybody in the tenant may see them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.texts import StoredText
from lamina.knowledge.tables import knowledge

_TEXT = sa.select(knowledge.c.row, knowledge.c.tenant, knowledge.c.key, knowledge.c.content)


class StoredKnowledge:
    """The latest version of each key as `StoredTexts`."""

    kind = "knowledge"

    def after(self, link: Link, row: int, *, limit: int, tenant: str | None = None) -> list[StoredText]:
        """Entries above a row, ascending; of every tenant unless one is named."""
        statement = _TEXT.where(knowledge.c.row > row).order_by(knowledge.c.row).limit(limit)
        if tenant is not None:
            statement = statement.where(knowledge.c.tenant == tenant)
        return [_stored(found) for found in link.execute(statement)]

    def read(self, link: Link, tenant: str, keys: Sequence[str], *, hold: bool = False) -> list[StoredText]:
        """Those of the keys that exist; `hold` keeps them until the commit, and passes over what others hold."""
        statement = _TEXT.where(knowledge.c.tenant == tenant, knowledge.c.key.in_(keys)).order_by(knowledge.c.row)
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(read=True, skip_locked=True)
        return [_stored(found) for found in link.execute(statement)]


def _stored(row: Any) -> StoredText:
    return StoredText(row=row[0], tenant=row[1], key=row[2], text=row[3])
