"""External references: documentation, interfaces, wikis, repositories, files and tools outside, by name."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.embedding.cached import Vector
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.errors import LaminaError, ReferenceNotFoundError
from lamina.index.engine import SearchEngine
from lamina.index.late import put_terms
from lamina.index.query import prepare_query
from lamina.index.store import Indexable, bury, forget, indexable, touch
from lamina.kernel.audit import AuditSink
from lamina.kernel.checks import check_choice, check_json, check_limit, check_name, check_query, check_share, check_text
from lamina.kernel.clock import Clock
from lamina.knowledge.reading import get_reference, list_references, search_references
from lamina.knowledge.rows import (
    REFERENCE_COLUMNS,
    reference_from_row,
    reference_scope,
    reference_values,
    searched_text,
)
from lamina.knowledge.service import switched_off
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.statements import find_to_change, insert_unless_taken, update_row
from lamina.knowledge.tables import external_reference
from lamina.knowledge.types import Origin, Reference, ReferenceHit, ReferencePage, ReferenceType
from lamina.knowledge.writing import KeyTakenError
from lamina.observability.metrics import Metrics

_LONGEST_LOCATION = 4096
_LARGEST_METADATA = 65_536
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
class ReferenceService:
    """What one tenant knows of the world outside. Switched off with knowledge."""

    database: Database
    engine: SearchEngine
    settings: KnowledgeSettings
    clock: Clock
    metrics: Metrics
    audit: AuditSink
    tenant: str
    embedder: QueryEmbedder | None = None
    embeddings: EmbeddingSink | None = None
    session: Callable[[], str | None] = lambda: None
    actor: str = "agent"

    def for_tenant(self, tenant: str) -> "ReferenceService":
        """The same references for another tenant."""
        return replace(self, tenant=tenant)

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
        """Keep a reference; one of the same name is replaced. Raises InvalidInputError, ConfigurationError."""
        with self._verb("reference_save"):
            self._require_enabled()
            now = self.clock.now()
            new = Reference(
                name=check_name("name", name),
                type=check_choice("type", type, ReferenceType),
                location=check_text("location", location, longest=_LONGEST_LOCATION),
                summary=check_text("summary", summary, longest=self.settings.max_content_length),
                metadata=check_json("metadata", metadata, most_bytes=_LARGEST_METADATA),
                origin=check_choice("origin", origin, Origin),
                created_at=now,
                updated_at=now,
            )
            row, stored = await self._save(new)
        if row is not None and self.embeddings is not None:
            text = searched_text(stored.name, stored.summary)
            self.embeddings.submit(EmbeddingJob(scope_key=reference_scope(self.tenant), entry=row, text=text))
        await self._record("reference_save", stored.name, {"type": stored.type.value}, session_key)
        return stored

    async def get(self, name: str) -> Reference:
        """The reference of a name. Raises ReferenceNotFoundError."""
        with self._verb("reference_get"):
            self._require_enabled()
            known = check_name("name", name)
            found = await self.database.read(lambda link: get_reference(link, self.tenant, known))
            if found is None:
                raise ReferenceNotFoundError(details={"name": name})
            return found

    async def delete(self, name: str, *, session_key: str | None = None) -> None:
        """Forget a reference with its index rows. Raises ReferenceNotFoundError."""
        with self._verb("reference_delete"):
            self._require_enabled()
            known = check_name("name", name)
            if not await self.database.write(lambda link: _delete(link, self.tenant, known)):
                raise ReferenceNotFoundError(details={"name": name})
        await self._record("reference_delete", known, {}, session_key)

    async def list(
        self, *, type: ReferenceType | str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ReferencePage:
        """One page of the references, newest name first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("reference_list"):
            chosen = None if type is None else check_choice("type", type, ReferenceType)
            size = check_limit(self.settings.list_limit if limit is None else limit, most=self.settings.max_limit)
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
            text = check_query(query, longest=settings.max_query_length)
            chosen = None if type is None else check_choice("type", type, ReferenceType)
            size = check_limit(settings.search_limit if limit is None else limit, most=settings.max_limit)
            least = settings.threshold if threshold is None else check_share("threshold", threshold)
            if not settings.enabled:
                return ()
            prepared = prepare_query(text, await self._vector(text) if vector is None else vector)
            choice = {"type": chosen, "limit": size, "threshold": least, "now": self.clock.now()}
            return await self.database.read(
                lambda link: search_references(link, self.engine, self.tenant, prepared, **choice)  # type: ignore[arg-type]
            )

    async def _save(self, new: Reference) -> tuple[int | None, Reference]:
        terms = indexable(searched_text(new.name, new.summary), None)
        for attempt in range(_ATTEMPTS):
            try:
                return await self.database.write(lambda link: _upsert(link, self.tenant, new, terms))
            except KeyTakenError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    async def _vector(self, text: str) -> Vector | None:
        if self.embedder is None:
            return None
        try:
            return await self.embedder.embed(text, tenant=self.tenant)
        except LaminaError as error:  # words still find most of it
            self.metrics.operation_failed("reference_search", error.code)
            return None

    async def _record(self, action: str, target: str, details: dict[str, object], session_key: str | None) -> None:
        session = session_key or self.session()
        await self.audit.record(
            tenant=self.tenant, action=action, actor=self.actor, target=target, details=details, session_key=session
        )

    def _require_enabled(self) -> None:
        if not self.settings.enabled:
            raise switched_off()

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise


def _upsert(link: Link, tenant: str, new: Reference, terms: Indexable) -> tuple[int | None, Reference]:
    """Store a reference; the row whose vector must follow, None when name and summary stayed as they were."""
    found = link.run(_FIND[link.name], {"tenant": tenant, "name": new.name}).fetchone()
    if found is None:
        place = touch(link, reference_scope(tenant), added=1)
        values = {**reference_values(tenant, new), "scope_id": place.scope_id, "indexed": place.version}
        inserted = link.run(_INSERT[link.name], values).fetchone()
        if inserted is None:
            raise KeyTakenError
        put_terms(link, place, tenant=tenant, rows=[(inserted[0], terms)])
        return inserted[0], new
    row, indexed = found[0], found[1]
    old = reference_from_row(found)
    stored = replace(new, created_at=old.created_at, updated_at=max(new.updated_at, old.updated_at))
    if old.summary != stored.summary:
        place = touch(link, reference_scope(tenant), added=0)
        bury(link, scope_id=place.scope_id, rows=[(row, indexed)])
        put_terms(link, place, tenant=tenant, rows=[(row, terms)])
        indexed = place.version
    link.run(_UPDATE, {**reference_values(tenant, stored), "indexed": indexed, "at_row": row, "of_tenant": tenant})
    return (row if indexed != found[1] else None), stored


def _delete(link: Link, tenant: str, name: str) -> bool:
    found = link.run(_FIND[link.name], {"tenant": tenant, "name": name}).fetchone()
    if found is None:
        return False
    place = touch(link, reference_scope(tenant), added=-1)
    forget(link, tenant=tenant, scope_id=place.scope_id, version=place.version, rows=[(found[0], found[1])])
    link.run(_DELETE, {"row": found[0], "tenant": tenant})
    return True
