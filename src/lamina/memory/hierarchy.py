"""Who belongs to whom: project → team → org → company, stored per tenant."""

from collections.abc import Mapping
from typing import Literal, Unpack

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.errors import InvalidInputError
from lamina.kernel.clock import Clock
from lamina.memory.access import walk_up
from lamina.memory.tables import hierarchy
from lamina.memory.types import IdentifierArguments, Identifiers
from lamina.memory.validate import check_identifier, check_identifiers

Kind = Literal["project", "team", "org"]
_LEVELS: tuple[tuple[Kind, str, str], ...] = (
    ("project", "project_id", "team_id"),
    ("team", "team_id", "org_id"),
    ("org", "org_id", "company_id"),
)
_PARENT = Prepared(
    sa.select(hierarchy.c.parent_id).where(
        hierarchy.c.tenant == sa.bindparam("tenant"),
        hierarchy.c.kind == sa.bindparam("kind"),
        hierarchy.c.id == sa.bindparam("id"),
    )
)
_REMEMBERED = 10_000


class Hierarchy:
    """Reads and changes the hierarchy.

    A walk is remembered for `fresh_s` seconds; changes of this process count at once, other processes' after that.
    """

    def __init__(self, database: Database, clock: Clock, *, tenant: str = "default", fresh_s: float = 1.0) -> None:
        """`tenant` is meant where a call names none."""
        self._database = database
        self._clock = clock
        self._tenant = tenant
        self._fresh_s = fresh_s
        self._walks: dict[tuple[str, Identifiers], tuple[float, Identifiers]] = {}
        self._changes = 0

    async def set(self, /, *, tenant: str | None = None, **identifiers: Unpack[IdentifierArguments]) -> None:
        """Store who belongs to whom: `set(project_id="web", team_id="ui", org_id="labs")` links each to the next.

        Raises InvalidInputError when no two neighbouring levels are given.
        """
        tenant = self._checked(tenant)
        given = check_identifiers(**identifiers)
        links = [
            {"tenant": tenant, "kind": kind, "id": getattr(given, child), "parent_id": getattr(given, parent)}
            for kind, child, parent in _LEVELS
            if getattr(given, child) and getattr(given, parent)
        ]
        if not links:
            raise InvalidInputError(
                "Give two neighbouring levels, such as project_id and team_id.", operation="hierarchy.set"
            )
        await self._database.write(lambda link: _save(link, links))
        self._forget_walks()

    async def remove(self, *, kind: Kind, id: str, tenant: str | None = None) -> bool:
        """Forget whom a project, team or org belongs to; whether there was something to forget."""
        tenant = self._checked(tenant)
        check_identifier("id", id)

        def forget(link: Link) -> bool:
            gone = link.execute(
                sa.delete(hierarchy).where(hierarchy.c.tenant == tenant, hierarchy.c.kind == kind, hierarchy.c.id == id)
            )
            return gone.rowcount > 0

        removed = await self._database.write(forget)
        self._forget_walks()
        return removed

    async def all(self, *, tenant: str | None = None) -> list[Mapping[str, str]]:
        """Every stored link of a tenant, by level and id."""
        tenant = self._checked(tenant)

        def read(link: Link) -> list[Mapping[str, str]]:
            rows = link.execute(
                sa.select(hierarchy.c.kind, hierarchy.c.id, hierarchy.c.parent_id)
                .where(hierarchy.c.tenant == tenant)
                .order_by(hierarchy.c.kind, hierarchy.c.id)
            )
            return [{"kind": row[0], "id": row[1], "parent_id": row[2]} for row in rows]

        return await self._database.read(read)

    async def complete(self, tenant: str, identifiers: Identifiers) -> Identifiers:
        """The identifiers with the levels above filled in; `default` stands in where nothing is stored."""
        if identifiers.project_id is None and identifiers.team_id is None and identifiers.org_id is None:
            return identifiers
        now = self._clock.monotonic()
        known = self._walks.get((tenant, identifiers))
        if known is not None and now - known[0] < self._fresh_s:
            return known[1]

        def walk(link: Link) -> Identifiers:
            def parent(kind: str, id: str) -> str | None:
                row = link.run(_PARENT, {"tenant": tenant, "kind": kind, "id": id}).fetchone()
                return None if row is None else str(row[0])

            return walk_up(identifiers, parent)

        changes = self._changes
        walked = await self._database.read(walk)
        if changes != self._changes:  # it may have walked past links that are stored by now
            return walked
        if len(self._walks) >= _REMEMBERED:
            self._walks.clear()
        self._walks[tenant, identifiers] = (now, walked)
        return walked

    def _checked(self, tenant: str | None) -> str:
        return self._tenant if tenant is None else check_identifier("tenant", tenant)

    def _forget_walks(self) -> None:
        self._changes += 1
        self._walks.clear()


def _save(link: Link, links: list[dict[str, str]]) -> None:
    insert = postgresql.insert if link.name == "postgresql" else sqlite.insert
    statement = insert(hierarchy)
    link.execute(
        statement.on_conflict_do_update(
            index_elements=[hierarchy.c.tenant, hierarchy.c.kind, hierarchy.c.id],
            set_={"parent_id": statement.excluded.parent_id},
        ),
        links,
    )
