"""How much a tenant knows, and how it grew: for people who look at it, never for the answer to a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.graph.tables import graph_triple
from lamina.index.tables import scope
from lamina.kernel.clock import Clock
from lamina.knowledge.tables import knowledge
from lamina.learning.tables import learning
from lamina.memory.tables import memory
from lamina.observation.economics import MemoryStatus, read_status
from lamina.observation.tables import note
from lamina.session.tables import message, session
from lamina.session.types import MessageKind

_DAY: Final = 86_400_000_000
_EPOCH: Final = date(1970, 1, 1)
_DATED: Final[Mapping[str, "sa.Column[int]"]] = {
    "memories": memory.c.created_at,
    "messages": message.c.at,
    "knowledge": knowledge.c.created_at,
    "learnings": learning.c.created_at,
}
_RANKED: Final = {
    "memory": "memories",
    "knowledge": "knowledge",
    "reference": "references",
    "learning": "learnings",
    "skill": "skills",
    "message": "messages",
}
"""What is ranked is counted with every change, so that asking for the number costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What a tenant was told on one day, in UTC, of what is still there."""

    date: date
    added: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresOfTenant:
    """The figures of one tenant."""

    database: Database
    clock: Clock
    tenant: str

    async def counts(self) -> dict[str, int]:
        """How many memories, knowledge, references, learnings, skills, sessions, messages, notes and triples."""
        return await self.database.read(self._counts)

    async def growth(self, *, days: int = 30) -> tuple[Day, ...]:
        """What was added on each of the last days, today last. Reads every row that is no older: ask seldom."""
        today = self.clock.now().date()
        first = today - timedelta(days=days - 1)

        def read(link: Link) -> tuple[Day, ...]:
            found = {name: _by_day(link, column, self.tenant, (first - _EPOCH).days) for name, column in _DATED.items()}
            dates = [first + timedelta(days=number) for number in range(days)]
            return tuple(
                Day(date=one, added={name: by.get((one - _EPOCH).days, 0) for name, by in found.items()})
                for one in dates
            )

        return await self.database.read(read)

    async def conversations(self) -> MemoryStatus:
        """What notes on all conversations save and cost; unlike `observation.status` it counts as no operation."""
        return await self.database.read(lambda link: read_status(link, self.tenant, None))

    def _counts(self, link: Link) -> dict[str, int]:
        ranked = sa.select(scope.c.kind, sa.func.sum(scope.c.entries)).where(scope.c.tenant == self.tenant)
        by_kind = {row[0]: int(row[1]) for row in link.execute(ranked.group_by(scope.c.kind))}
        rows = {"sessions": session, "notes": note, "triples": graph_triple}
        return {
            **{name: by_kind.get(kind, 0) for kind, name in _RANKED.items()},
            **{name: _rows(link, table, self.tenant) for name, table in rows.items()},
        }


def _rows(link: Link, table: sa.Table, tenant: str) -> int:
    return int(link.execute(sa.select(sa.func.count()).select_from(table).where(table.c.tenant == tenant)).scalar_one())


def _by_day(link: Link, column: "sa.Column[int]", tenant: str, first: int) -> dict[int, int]:
    day: sa.ColumnElement[Any] = column // sa.literal_column(str(_DAY), sa.BigInteger)
    conditions = [column.table.c.tenant == tenant, column >= first * _DAY]
    if column.table is message:  # not what stands for others
        conditions.append(message.c.kind == MessageKind.MESSAGE.value)
    counted = sa.select(day, sa.func.count()).where(*conditions)
    return {int(row[0]): int(row[1]) for row in link.execute(counted.group_by(day))}
