"""Learnings as texts for other rooms: everybody in the tenant may see them, a fix only once it is trusted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.texts import StoredText
from lamina.learning.rows import LEARNING_COLUMNS, learning_from_row, told_text
from lamina.learning.tables import learning
from lamina.learning.types import Learning

KIND = "learning"
_TEXT = sa.select(*LEARNING_COLUMNS, learning.c.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLearnings:
    """What each learning says as `StoredTexts`; its key is its id."""

    confidence_threshold: float
    """Below it a fix is not told: nobody may come upon it by another way than the Known Solutions."""

    @property
    def kind(self) -> str:
        """What these texts are called."""
        return KIND

    def after(self, link: Link, row: int, *, limit: int, tenant: str | None = None) -> list[StoredText]:
        """Learnings above a row, ascending; of every tenant unless one is named."""
        statement = _TEXT.where(learning.c.row > row).order_by(learning.c.row).limit(limit)
        if tenant is not None:
            statement = statement.where(learning.c.tenant == tenant)
        return self._read(link, statement)

    def read(self, link: Link, tenant: str, keys: Sequence[str], *, hold: bool = False) -> list[StoredText]:
        """Those of the ids that exist; `hold` keeps them until the commit, and passes over what others hold."""
        statement = _TEXT.where(learning.c.tenant == tenant, learning.c.id.in_(keys)).order_by(learning.c.row)
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(read=True, skip_locked=True)
        return self._read(link, statement)

    def _read(self, link: Link, statement: sa.Select[*tuple[object, ...]]) -> list[StoredText]:
        found = [(row[0], row[-1], learning_from_row(row)) for row in link.execute(statement)]
        return [StoredText(row=row, tenant=tenant, key=one.id, text=self._told(one)) for row, tenant, one in found]

    def _told(self, one: Learning) -> str:
        return told_text(one if one.confidence >= self.confidence_threshold else replace(one, fix=None))
