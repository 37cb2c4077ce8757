"""Which learnings a listing, a search or a clean-up is about: the same choice in SQL and in memory."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamina.database.schema import to_micros
from lamina.learning.rows import ALPHA, BETA, CATEGORY, FIX, TOOL
from lamina.learning.tables import CONFIDENCE, learning
from lamina.learning.types import LearningCategory


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Criteria that must all be met; None does not restrict."""

    tool: str | None = None
    category: LearningCategory | None = None
    has_fix: bool | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    not_seen_since: datetime | None = None
    """Only what last occurred before this moment."""
    ids: tuple[str, ...] | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is restricted."""
        return all(value is None for value in asdict(self).values())

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """The criteria as SQL; the tenant is not among them."""
        columns = learning.c
        chosen: list[sa.ColumnElement[bool]] = []
        if self.tool is not None:
            chosen.append(columns.tool == self.tool)
        if self.category is not None:
            chosen.append(columns.category == self.category.value)
        if self.has_fix is not None:
            chosen.append(columns.fix.is_not(None) if self.has_fix else columns.fix.is_(None))
        if self.min_confidence is not None:
            chosen.append(self.min_confidence <= CONFIDENCE)
        if self.max_confidence is not None:
            chosen.append(self.max_confidence >= CONFIDENCE)
        if self.not_seen_since is not None:
            chosen.append(columns.last_seen_at < to_micros(self.not_seen_since))
        if self.ids is not None:
            chosen.append(columns.id.in_(self.ids))
        return chosen

    def matches(self, row: Any) -> bool:
        """Whether a row of `LEARNING_COLUMNS` meets the criteria that a search has."""
        return (
            (self.tool is None or row[TOOL] == self.tool)
            and (self.category is None or row[CATEGORY] == self.category.value)
            and (self.has_fix is None or (row[FIX] is not None) == self.has_fix)
            and (self.min_confidence is None or row[ALPHA] / (row[ALPHA] + row[BETA]) >= self.min_confidence)
        )

    def description(self) -> dict[str, object]:
        """The criteria as plain JSON."""
        since = self.not_seen_since
        return {
            **asdict(self),
            "category": self.category and self.category.value,
            "not_seen_since": None if since is None else to_micros(since),
            "ids": None if self.ids is None else list(self.ids),
        }
