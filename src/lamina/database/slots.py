"""Counted slots: how often a holder may do something, shared by every process on the store.

A reservation checks and counts in one statement, so that N concurrent callers get exactly the limit, on one machine
or on several, and a restart forgets nothing. Inside a transaction a slot comes and goes with it; `RateLimiter` is for
work that is no transaction and must give its slot back when it fails.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import anyio
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.database.schema import Text, metadata
from lamina.errors import RateLimitedError

rate_slot = sa.Table(
    "rate_slot",
    metadata,
    sa.Column("tenant", Text, nullable=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("holder", Text, nullable=False),
    sa.Column("period", Text, nullable=False),
    sa.Column("used", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("tenant", "name", "holder", "period"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What is counted: the setting that limits it, who holds it, and the period, such as a day, it is counted in."""

    tenant: str
    name: str
    holder: str = ""
    period: str = ""

    @classmethod
    def daily(cls, *, tenant: str, name: str, now: datetime, holder: str = "") -> Self:
        """A slot that is counted anew each day, in UTC."""
        return cls(tenant=tenant, name=name, holder=holder, period=now.astimezone(UTC).date().isoformat())

    @property
    def params(self) -> dict[str, str]:
        """The key of its row."""
        return {"tenant": self.tenant, "name": self.name, "holder": self.holder, "period": self.period}


def _reserve(insert: Any) -> Prepared:
    statement = insert(rate_slot).values(
        tenant=sa.bindparam("tenant"),
        name=sa.bindparam("name"),
        holder=sa.bindparam("holder"),
        period=sa.bindparam("period"),
        used=sa.literal_column("1"),
    )
    return Prepared(
        statement.on_conflict_do_update(
            index_elements=[rate_slot.c.tenant, rate_slot.c.name, rate_slot.c.holder, rate_slot.c.period],
            set_={"used": rate_slot.c.used + sa.literal_column("1")},
            where=rate_slot.c.used < sa.bindparam("most", type_=sa.BigInteger),
        ).returning(rate_slot.c.used)
    )


_RESERVE = {"sqlite": _reserve(sqlite.insert), "postgresql": _reserve(postgresql.insert)}
_KEY = tuple(rate_slot.c[name] == sa.bindparam(f"of_{name}") for name in ("tenant", "name", "holder", "period"))
_RELEASE = Prepared(
    sa.update(rate_slot)
    .where(*_KEY, rate_slot.c.used > sa.literal_column("0"))
    .values(used=rate_slot.c.used - sa.literal_column("1"))
)
_TAKEN = Prepared(sa.select(rate_slot.c.used).where(*_KEY))
_RESET = Prepared(sa.delete(rate_slot).where(*_KEY))


def reserve_slot(link: Link, slot: Slot, *, most: int) -> int:
    """Take one of `most` slots in this transaction and say how many are taken; 0 is unlimited and counts nothing.

    Raises RateLimitedError, which names the limit, when none is left.
    """
    if most == 0:
        return 0
    row = link.run(_RESERVE[link.name], {**slot.params, "most": most}).fetchone()
    if row is None:
        when = f" of {slot.period}" if slot.period else ""
        raise RateLimitedError(
            f"The limit {slot.name} = {most}{when} is used up.",
            details={
                "limit": slot.name,
                "most": most,
                "holder": slot.holder,
                "period": slot.period,
                "next": f"Raise {slot.name} in the configuration (0 is unlimited), or free the slots.",
            },
        )
    return int(row[0])


def release_slot(link: Link, slot: Slot) -> None:
    """Give a slot back; without one taken nothing happens."""
    link.run(_RELEASE, _of(slot))


def taken_slots(link: Link, slot: Slot) -> int:
    """How many slots are taken."""
    row = link.run(_TAKEN, _of(slot)).fetchone()
    return 0 if row is None else int(row[0])


def reset_slots(link: Link, slot: Slot) -> None:
    """Forget what was taken: all slots are free again."""
    link.run(_RESET, _of(slot))


def drop_slots(link: Link, tenant: str, holder: str) -> int:
    """Forget every slot of a holder, whatever it was for; how many kinds there were."""
    gone = sa.delete(rate_slot).where(rate_slot.c.tenant == tenant, rate_slot.c.holder == holder)
    return link.execute(gone).rowcount


def _of(slot: Slot) -> dict[str, str]:
    return {f"of_{name}": value for name, value in slot.params.items()}


class RateLimiter:
    """Slots for work outside a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.refused_count = 0
        """Reservations that found no slot left."""

    async def reserve(self, slot: Slot, *, most: int) -> int:
        """Take a slot; durable when this returns. Raises RateLimitedError, and counts it."""
        if most == 0:
            return 0
        try:
            return await self._database.write(lambda link: reserve_slot(link, slot, most=most))
        except RateLimitedError:
            self.refused_count += 1
            raise

    async def release(self, slot: Slot) -> None:
        """Give a slot back."""
        await self._database.write(lambda link: release_slot(link, slot))

    async def taken(self, slot: Slot) -> int:
        """How many slots are taken."""
        return await self._database.read(lambda link: taken_slots(link, slot))

    async def reset(self, slot: Slot) -> None:
        """Free every slot."""
        await self._database.write(lambda link: reset_slots(link, slot))

    @asynccontextmanager
    async def holding(self, slot: Slot, *, most: int) -> AsyncIterator[None]:
        """Hold a slot for a block of work: kept when the work succeeds, released when it fails or is cancelled."""
        reserving = asyncio.ensure_future(self.reserve(slot, most=most))
        try:
            await asyncio.shield(reserving)
            yield
        except BaseException:  # boundary: whatever ended the work, cancellation included, its slot is free again
            with anyio.CancelScope(shield=True):
                await asyncio.wait([reserving])  # a caller that is cancelled here may have got a slot all the same
                if reserving.exception() is None and most:
                    await self.release(slot)
            raise
