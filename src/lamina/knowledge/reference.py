"""External references: documentation, interfaces, wikis, repositories, files and tools outside, by name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.embedding.cached import Vector
from lamina.errors import ReferenceNotFoundError
from lamina.index.late import put_terms
from lamina.index.store import Indexable, bury, forget, touch
from lamina.kernel.checks import check_choice, check_json, check_name, check_share, check_text
from lamina.kernel.redact import redact_value
from lamina.knowledge.named import NamedTextService
from lamina.knowledge.reading import get_reference, list_references, reference_hits, reference_search
from lamina.knowledge.rows import (
    REFERENCE_COLUMNS,
    reference_from_row,
    reference_scope,
    reference_values,
    searched_text,
)
from lamina.knowledge.statements import find_to_change, insert_unless_taken, update_row
from lamina.knowledge.tables import external_reference
from lamina.knowledge.types import Origin, Reference, ReferenceHit, ReferencePage, ReferenceType
from lamina.knowledge.writing import KeyTakenError

LONGEST_LOCATION = 4096
LARGEST_METADATA = 65_536
_ATTEMPTS = 8

_INSERT = insert_unless_taken(external_reference, external_reference.c.tenant, external_reference.c.name)
_UPDATE = update_row(external_reference)
_FIND = find_to_change(external_reference, REFERENCE_COLUMNS, external_reference.c.name)
_DELETE = Prepared(
    sa.delete(external_reference).where(
        external_reference.c.row == sa.bindparam("row"), external_reference.c.tenant == sa.bindparam("tenant")
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceService(NamedTextService):
    """What one tenant knows of the world outside. Switched off with knowledge."""

    async def save(
        self,
        name: str,
        *,
        type: ReferenceType | str,
        location: str,
        summary: str,
        metadata: Mapping[str, object] | None = None,
        origin: Origin | str = Origin.AGENT,
        session_key: str | None = None,
    ) -> Reference:
        """Keep a reference; one of the same name is replaced. Secrets in it are hidden before it is stored.

        Raises InvalidInputError, ContentTooLongError, ConfigurationError while knowledge is off.
        """
        with self._verb("reference_save"):
            self._require_enabled()
            session = self._session(session_key)
            new = await self._checked(name, type, location, summary, metadata, origin)
            text = searched_text(new.name, new.summary)
            terms, model_id = await self._indexable(text, "reference_save")
            row, stored = await self._save(new, terms, model_id, session)
        if row is not None:
            self._queue(reference_scope(self.tenant), row, text)
        return stored

    async def get(self, name: str) -> Reference:
        """The reference of a name. Raises ReferenceNotFoundError."""
        with self._verb("reference_get"):
            known = self._known_name(name)
            found = await self.database.read(lambda link: get_reference(link, self.tenant, known))
            if found is None:
                raise ReferenceNotFoundError(details={"name": known})
            return found

    async def delete(self, name: str, *, session_key: str | None = None) -> None:
        """Forget a reference with its index rows. Raises ReferenceNotFoundError."""
        with self._verb("reference_delete"):
            known = self._known_name(name)
            session = self._session(session_key)
            if not await self.database.write(lambda link: self._deleted(link, known, session)):
                raise ReferenceNotFoundError(details={"name": known})

    async def list(
        self, *, type: ReferenceType | str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ReferencePage:
        """One page of the references, newest name first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("reference_list"):
            chosen = None if type is None else check_choice("type", type, ReferenceType)
            size = self._limit(limit, self.settings.list_limit)
            if not self.settings.enabled:
                return ReferencePage(references=(), next_cursor=None, total_count=0)
            return await self.database.read(
                lambda link: list_references(link, self.tenant, type=chosen, limit=size, cursor=cursor)
            )

    async def search(
        self,
        query: str,
        *,
        type: ReferenceType | str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
    ) -> tuple[ReferenceHit, ...]:
        """References whose name and summary fit the query, best first. Raises QueryTooLongError, InvalidInputError."""
        settings = self.settings
        with self._verb("reference_search"):
            text = self._checked_query(query)
            chosen = None if type is None else check_choice("type", type, ReferenceType)
            size = self._limit(limit, settings.search_limit)
            least = settings.threshold if threshold is None else check_share("threshold", threshold)
            if not settings.enabled:
                return ()
            search = reference_search(self.tenant, type=chosen, limit=size, threshold=least)
            return reference_hits(await self._found(search, await self._query(text, vector, "reference_search")))

    async def _checked(
        self,
        name: str,
        type: ReferenceType | str,
        location: str,
        summary: str,
        metadata: Mapping[str, object] | None,
        origin: Origin | str,
    ) -> Reference:
        now = self.clock.now()
        plain = check_json("metadata", metadata, max_size=LARGEST_METADATA)
        hidden = redact_value(plain, emails=False) if self.settings.hide_secrets else plain
        return Reference(
            name=self._new_name("name", name),
            type=check_choice("type", type, ReferenceType),
            location=self._hide(check_text("location", location, longest=LONGEST_LOCATION)),
            summary=await self._hide_long(
                check_text("summary", summary, longest=self.settings.max_content_length),
            ),
            metadata=cast(dict[str, object], hidden),
            origin=check_choice("origin", origin, Origin),
            created_at=now,
            updated_at=now,
        )

    async def _save(
        self, new: Reference, terms: Indexable, model_id: int | None, session: str | None
    ) -> tuple[int | None, Reference]:
        def work(link: Link) -> tuple[int | None, Reference]:
            stored = _upsert(link, self.tenant, new, terms, model_id)
            self._report(link, "reference_save", new.name, {"type": new.type.value}, session)
            return stored

        for _ in range(_ATTEMPTS - 1):
            try:
                return await self.database.write(work)
            except KeyTakenError:
                continue  # whoever was first is committed now: the next attempt finds the row
        return await self.database.write(work)

    def _deleted(self, link: Link, name: str, session: str | None) -> bool:
        if not delete_reference(link, self.tenant, name):
            return False
        self._report(link, "reference_delete", name, {}, session)
        return True

    def _known_name(self, name: str) -> str:
        self._require_enabled()
        return check_name("name", name)


def _upsert(
    link: Link, tenant: str, new: Reference, terms: Indexable, model_id: int | None
) -> tuple[int | None, Reference]:
    """Store a reference; the row whose vector must follow, None when name and summary stayed as they were."""
    found = link.run(_FIND[link.name], {"tenant": tenant, "name": new.name}).fetchone()
    if found is None:
        place = touch(link, reference_scope(tenant), added=1)
        values = {**reference_values(tenant, new), "scope_id": place.scope_id, "indexed": place.version}
        inserted = link.run(_INSERT[link.name], values).fetchone()
        if inserted is None:
            raise KeyTakenError
        put_terms(link, place, tenant=tenant, rows=[(inserted[0], terms)], model_id=model_id)
        return inserted[0], new
    row, indexed = found[0], found[1]
    old = reference_from_row(found)
    stored = replace(new, created_at=old.created_at, updated_at=max(new.updated_at, old.updated_at))
    if old.summary != stored.summary:
        place = touch(link, reference_scope(tenant), added=0)
        bury(link, tenant=tenant, scope_id=place.scope_id, rows=[(row, indexed)])
        put_terms(link, place, tenant=tenant, rows=[(row, terms)], model_id=model_id)
        indexed = place.version
    link.run(_UPDATE, {**reference_values(tenant, stored), "indexed": indexed, "at_row": row, "of_tenant": tenant})
    return (row if indexed != found[1] else None), stored


def delete_reference(link: Link, tenant: str, name: str) -> bool:
    """Remove a reference with its index rows; whether it was there."""
    found = link.run(_FIND[link.name], {"tenant": tenant, "name": name}).fetchone()
    if found is None:
        return False
    place = touch(link, reference_scope(tenant), added=-1)
    forget(link, tenant=tenant, scope_id=place.scope_id, version=place.version, rows=[(found[0], found[1])])
    link.run(_DELETE, {"row": found[0], "tenant": tenant})
    return True
