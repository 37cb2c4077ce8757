"""Which scopes a tenant has: of whom there are memories, and how many. For people who look around, not for agents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.index.tables import scope
from lamina.memory.access import accessible_scopes
from lamina.memory.rows import scope_key
from lamina.memory.types import Identifiers, MemoryLayer

_OWN = (MemoryLayer.AGENT, MemoryLayer.SESSION)
"""Layers of which a user has as many scopes as agents and conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCount:
    """A scope and how many memories it holds; one that expired counts until it is swept away."""

    layer: MemoryLayer
    identifiers: Identifiers
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeDirectory:
    """The scopes of one tenant."""

    database: Database
    tenant: str

    async def list(
        self,
        *,
        layer: MemoryLayer | str | None = None,
        text: str = "",
        reach: Identifiers | None = None,
        limit: int = 100,
    ) -> tuple[ScopeCount, ...]:
        """Scopes with memories in them, strongest layer first, then the fullest.

        `text` is part of an identifier. `reach` leaves out what whoever has these identifiers, completed by the
        hierarchy, must not see. Raises InvalidLayerError.
        """
        chosen = None if layer is None else MemoryLayer.parse(layer, operation="scopes")

        def read(link: Link) -> tuple[ScopeCount, ...]:
            with_text = _with_text(_rows(link, self._conditions(chosen, text, reach)), text, reach)
            first = (one for _, one in zip(range(limit), with_text, strict=False))
            return tuple(sorted(first, key=lambda one: (one.layer.precedence, -one.entries)))

        return await self.database.read(read)

    async def counts(self) -> dict[MemoryLayer, int]:
        """How many memories each layer has; every layer is there."""

        def read(link: Link) -> dict[MemoryLayer, int]:
            counted = sa.select(scope.c.label, sa.func.sum(scope.c.entries)).where(*self._conditions(None, "", None))
            found = {row[0]: int(row[1]) for row in link.execute(counted.group_by(scope.c.label))}
            return {layer: found.get(layer.value, 0) for layer in MemoryLayer}

        return await self.database.read(read)

    def _conditions(
        self, layer: MemoryLayer | None, text: str, reach: Identifiers | None
    ) -> Sequence[sa.ColumnElement[bool]]:
        conditions = [scope.c.tenant == self.tenant, scope.c.kind == "memory", scope.c.entries > 0]
        if layer is not None:
            conditions.append(scope.c.label == layer.value)
        if text:
            conditions.append(scope.c.key.icontains(_within_json(text), autoescape=True))
        if reach is not None:
            keys = [scope_key(one).key for one in accessible_scopes(self.tenant, reach)]
            user = '"user_id":' + dump_json(reach.user_id)
            own = sa.and_(scope.c.label.in_([one.value for one in _OWN]), scope.c.key.contains(user, autoescape=True))
            conditions.append(sa.or_(scope.c.key.in_(keys), own) if reach.user_id else scope.c.key.in_(keys))
        return conditions


def _rows(link: Link, conditions: Sequence[sa.ColumnElement[bool]]) -> Iterator[ScopeCount]:
    columns = (scope.c.label, scope.c.key, scope.c.entries)
    for label, key, entries in link.execute(sa.select(*columns).where(*conditions).order_by(scope.c.entries.desc())):
        named = cast(dict[str, Any], load_json(key.partition(":")[2]))
        yield ScopeCount(layer=MemoryLayer(label), identifiers=Identifiers(**named), entries=int(entries))


def _with_text(found: Iterator[ScopeCount], text: str, reach: Identifiers | None) -> Iterator[ScopeCount]:
    """What a comparison of stored text let through is looked at again: it also sees the names of identifiers."""
    for one in found:
        named = one.identifiers.to_dict()
        if text and not any(text.casefold() in value.casefold() for value in named.values()):
            continue
        if reach is not None and any(getattr(reach, name) not in (None, value) for name, value in named.items()):
            continue
        yield one


def _within_json(text: str) -> str:
    return dump_json(text)[1:-1]
