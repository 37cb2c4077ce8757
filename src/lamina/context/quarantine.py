"""Texts held back from prompts because they read like instructions, until a person decides.

A case is a layer, a key and a text: a changed text is a new case. `release` lets it through from then on; `purge`
erases the kept copy of what is held and goes on holding it back. The text in its own room is not touched by either.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.context.tables import quarantine
from lamina.context.types import ContextItem, Origin, Place, parse_place
from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.errors import QuarantineNotFoundError
from lamina.kernel.checks import check_limit
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.kernel.redact import redact

_MOST = 1000
_COLUMNS = ("id", "layer", "key", "content", "origin", "reasons", "state", "held_at", "decided_at")
_columns = quarantine.c
HOLD = {
    name: Prepared(
        insert(quarantine)
        .values({name: sa.bindparam(name) for name in ("tenant", "digest", "session_key", *_COLUMNS)})
        .on_conflict_do_nothing(index_elements=["tenant", "digest"])
    )
    for name, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}


class State(StrEnum):
    """What became of a case."""

    HELD = "held"
    RELEASED = "released"
    PURGED = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A text that was held back."""

    id: str
    layer: Place
    key: str
    content: str
    origin: Origin
    reasons: tuple[str, ...]
    state: State
    held_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """The cases of one tenant."""

    database: Database
    clock: Clock
    tenant: str

    async def states(self, items: Iterable[ContextItem]) -> dict[bytes, State]:
        """What was decided about items, by their digest; those never held are absent."""
        digests = [digest(item) for item in items]

        def read(link: Link) -> list[Any]:
            chosen = sa.select(_columns.digest, _columns.state).where(
                _columns.tenant == self.tenant, _columns.digest.in_(digests)
            )
            return list(link.execute(chosen).all())

        return {bytes(row[0]): State(row[1]) for row in await self.database.read(read)}

    async def hold(self, items: Sequence[ContextItem]) -> None:
        """Open a case for each item; one that has a case keeps it as it is. Secrets in the kept copy are hidden."""
        now = to_micros(self.clock.now())
        rows = [
            {
                "tenant": self.tenant,
                "digest": digest(item),
                "id": new_id(),
                "layer": item.layer.value,
                "key": storable(item.key),
                "session_key": None if item.session_key is None else storable(item.session_key),
                "content": storable(redact(item.content)),
                "origin": item.origin.value,
                "reasons": dump_json(list(item.suspicious)),
                "state": State.HELD.value,
                "held_at": now,
                "decided_at": None,
            }
            for item in items
        ]

        def write(link: Link) -> None:
            for row in rows:
                link.run(HOLD[link.name], row)

        await self.database.write(write)

    async def list(self, *, state: State | None = State.HELD, limit: int = 50) -> tuple[Case, ...]:
        """The newest cases in a state, in any with None. Raises InvalidInputError for a limit out of range."""
        size = check_limit(limit, most=_MOST, operation="quarantine_list")
        wanted = [_columns.tenant == self.tenant]
        if state is not None:
            wanted.append(_columns.state == state.value)

        def read(link: Link) -> list[Any]:
            chosen = sa.select(*(_columns[name] for name in _COLUMNS)).where(*wanted)
            return list(link.execute(chosen.order_by(_columns.row.desc()).limit(size)).all())

        return tuple(map(_case, await self.database.read(read)))

    async def release(self, id: str) -> Case:
        """Let a held text through from now on. Raises QuarantineNotFoundError, also for one that was purged."""
        where = (_columns.tenant == self.tenant, _columns.id == id, _columns.state != State.PURGED.value)
        values = {"state": State.RELEASED.value, "decided_at": to_micros(self.clock.now())}

        def write(link: Link) -> Any:
            changed = link.execute(sa.update(quarantine).where(*where).values(values)).rowcount
            if not changed:
                return None
            return link.execute(sa.select(*(_columns[name] for name in _COLUMNS)).where(*where)).first()

        row = await self.database.write(write) if id.isascii() and id.isprintable() else None
        if row is None:
            raise QuarantineNotFoundError(details={"id": id})
        return _case(row)

    async def purge(self, ids: Sequence[str] | None = None) -> int:
        """Erase the kept copies of what is held, or of these cases only, and hold it back for good; how many."""
        where = [_columns.tenant == self.tenant, _columns.state == State.HELD.value]
        if ids is not None:
            where.append(_columns.id.in_([storable(id) for id in ids]))
        values = {"state": State.PURGED.value, "content": "", "decided_at": to_micros(self.clock.now())}
        return await self.database.write(
            lambda link: link.execute(sa.update(quarantine).where(*where).values(values)).rowcount
        )


def digest(item: ContextItem) -> bytes:
    """What makes an item a case."""
    parts = (item.layer.value, item.key, item.content)
    told = b"".join(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest() for part in parts)
    return hashlib.sha256(told).digest()


def _case(row: Any) -> Case:
    return Case(
        id=row[0],
        layer=parse_place(row[1]),
        key=row[2],
        content=row[3],
        origin=Origin(row[4]),
        reasons=tuple(cast(list[str], load_json(row[5]))),
        state=State(row[6]),
        held_at=from_micros(row[7]),
        decided_at=None if row[8] is None else from_micros(row[8]),
    )


def storable(text: str) -> str:
    """The text without what no engine stores."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
