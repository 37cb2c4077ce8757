"""The verbs of knowledge: what agents, doors and other rooms call.

While `knowledge.enabled` is off, nothing is kept and nothing is found: searches and listings are empty, use is not
counted, and what asks for one entry or wants to change one is told how to switch it on.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from lamina.database.engine import Database
from lamina.database.slots import Slot, reset_slots, taken_slots
from lamina.embedding.cached import Vector
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.errors import ConfigurationError, KnowledgeNotFoundError, LaminaError, RateLimitedError
from lamina.index.engine import SearchEngine
from lamina.index.query import prepare_query
from lamina.index.store import indexable
from lamina.kernel.audit import AuditSink
from lamina.kernel.checks import (
    check_choice,
    check_limit,
    check_name,
    check_query,
    check_share,
    check_tags,
    check_text,
)
from lamina.kernel.clock import Clock
from lamina.kernel.saved import SavedListener, SavedText
from lamina.knowledge.reading import get_entry, get_versions, list_entries, search_entries
from lamina.knowledge.rows import knowledge_scope, searched_text
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.types import (
    Category,
    KnowledgeEntry,
    KnowledgeHit,
    KnowledgePage,
    KnowledgeVersion,
    Origin,
    SaveResult,
)
from lamina.knowledge.writing import (
    KeyTakenError,
    Saved,
    SaveRequest,
    count_use,
    delete_entry,
    save_entry,
    shift_relevance,
)
from lamina.observability.metrics import Metrics

SAVE_LIMIT: Final = "knowledge.max_saves_per_session"
_LONGEST_SOURCE = 2048
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeService:
    """What one tenant knows."""

    database: Database
    engine: SearchEngine
    settings: KnowledgeSettings
    clock: Clock
    metrics: Metrics
    audit: AuditSink
    tenant: str
    embedder: QueryEmbedder | None = None
    """Without one, questions are matched by their words alone."""
    embeddings: EmbeddingSink | None = None
    """Where saved texts wait for their vectors."""
    on_saved: SavedListener | None = None
    session: Callable[[], str | None] = lambda: None
    """The session of the current request, for calls that name none."""
    actor: str = "agent"

    def for_tenant(self, tenant: str) -> "KnowledgeService":
        """The same knowledge service for another tenant."""
        return replace(self, tenant=tenant)

    async def save(
        self,
        key: str,
        content: str,
        *,
        category: Category | str,
        tags: Sequence[str] | None = None,
        source: str | None = None,
        origin: Origin | str = Origin.AGENT,
        session_key: str | None = None,
    ) -> SaveResult:
        """Know this under the key: a first version, or a further one when content or category differ.

        The same content makes no version; tags and source that are given replace the old ones on it. A new key takes
        one of the session's slots. Raises InvalidInputError (unknown category or origin included),
        ContentTooLongError, RateLimitedError that names the limit, ConfigurationError while knowledge is off.
        """
        session = session_key or self.session()
        with self._verb("knowledge_save"):
            self._require_enabled()
            request = self._request(key, content, category, tags, source, origin, session)
            try:
                saved = await self._save(request)
            except RateLimitedError as error:
                await self._record("knowledge_save", request.key, {"refused": error.code, **error.details}, session)
                raise
        if saved.outcome in ("created", "changed"):
            self._announce(saved, session)
        if saved.outcome != "unchanged":
            details = {"outcome": saved.outcome, "version": saved.entry.version, "category": saved.entry.category.value}
            await self._record("knowledge_save", request.key, details, session)
        return SaveResult(entry=saved.entry, outcome=saved.outcome)

    async def get(self, key: str) -> KnowledgeEntry:
        """The latest version. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_get"):
            name = self._known_name(key)
            entry = await self.database.read(lambda link: get_entry(link, self.tenant, name))
            if entry is None:
                raise _not_found(key)
            return entry

    async def history(self, key: str) -> tuple[KnowledgeVersion, ...]:
        """Every version, newest first. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_history"):
            name = self._known_name(key)
            versions = await self.database.read(lambda link: get_versions(link, self.tenant, name))
            if not versions:
                raise _not_found(key)
            return versions

    async def delete(self, key: str, *, session_key: str | None = None) -> None:
        """Forget a key with all its versions and index rows. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_delete"):
            name = self._known_name(key)
            if not await self.database.write(lambda link: delete_entry(link, self.tenant, name)):
                raise _not_found(key)
        await self._record("knowledge_delete", name, {}, session_key or self.session())

    async def list(
        self, *, category: Category | str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> KnowledgePage:
        """One page of what is known, newest key first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("knowledge_list"):
            chosen = None if category is None else check_choice("category", category, Category)
            size = self._limit(limit, self.settings.list_limit)
            if not self.settings.enabled:
                return KnowledgePage(entries=(), next_cursor=None, total_count=0)
            return await self.database.read(
                lambda link: list_entries(link, self.tenant, category=chosen, limit=size, cursor=cursor)
            )

    async def search(
        self,
        query: str,
        *,
        category: Category | str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
    ) -> tuple[KnowledgeHit, ...]:
        """Latest versions that fit the query, best first; use and age decide between equals (see `ranking`).

        A category is part of the query: the limit counts only what is in it. `vector` spares embedding a query that
        is searched in several places. Raises QueryTooLongError, InvalidInputError.
        """
        settings = self.settings
        with self._verb("knowledge_search"):
            text = check_query(query, longest=settings.max_query_length)
            chosen = None if category is None else check_choice("category", category, Category)
            size = self._limit(limit, settings.search_limit)
            least = settings.threshold if threshold is None else check_share("threshold", threshold)
            if not settings.enabled:
                return ()
            prepared = prepare_query(text, await self._vector(text) if vector is None else vector)
            now = self.clock.now()
            return await self.database.read(
                lambda link: search_entries(
                    link,
                    self.engine,
                    self.tenant,
                    prepared,
                    category=chosen,
                    limit=size,
                    threshold=least,
                    now=now,
                    settings=settings,
                )
            )

    async def used(self, keys: Sequence[str]) -> int:
        """Count that entries were put before a model: use count and relevance rise; how many of them exist."""
        if not keys or not self.settings.enabled:
            return 0
        with self._verb("knowledge_used"):
            names = [check_name("key", key) for key in dict.fromkeys(keys)]
            now = self.clock.now()
            return await self.database.write(lambda link: count_use(link, self.tenant, names, now, self.settings))

    async def boost(self, key: str, delta: float) -> KnowledgeEntry:
        """Raise (or, below 0, lower) the relevance of one key, within bounds. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_boost"):
            name = self._known_name(key)
            moved = await self.database.write(
                lambda link: shift_relevance(link, self.tenant, delta, self.settings, keys=[name])
            )
            if not moved:
                raise _not_found(key)
        return await self.get(name)

    async def decay(self, delta: float) -> int:
        """Lower the relevance of every key, never below the floor; how many keys there are."""
        self._require_enabled()
        with self._verb("knowledge_decay"):
            return await self.database.write(lambda link: shift_relevance(link, self.tenant, -delta, self.settings))

    async def saves_taken(self, session_key: str) -> int:
        """How many of the session's slots for new keys are taken."""
        return await self.database.read(lambda link: taken_slots(link, self._slot(session_key)))

    async def reset_saves(self, session_key: str) -> None:
        """Free every slot of a session."""
        await self.database.write(lambda link: reset_slots(link, self._slot(session_key)))

    def _request(
        self,
        key: str,
        content: str,
        category: Category | str,
        tags: Sequence[str] | None,
        source: str | None,
        origin: Origin | str,
        session: str | None,
    ) -> SaveRequest:
        name = check_name("key", key)
        text = check_text("content", content, longest=self.settings.max_content_length)
        return SaveRequest(
            tenant=self.tenant,
            key=name,
            category=check_choice("category", category, Category),
            content=text,
            tags=None if tags is None else check_tags(tags),
            source=None if source is None else check_text("source", source, longest=_LONGEST_SOURCE),
            origin=check_choice("origin", origin, Origin),
            now=self.clock.now(),
            indexable=indexable(searched_text(name, text), None),
            # A save outside of every session, such as a person's at a terminal, has no session to limit.
            slot=None if session is None else self._slot(session),
            most=self.settings.max_saves_per_session,
        )

    async def _save(self, request: SaveRequest) -> Saved:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self.database.write(lambda link: save_entry(link, request))
            except KeyTakenError:
                continue  # whoever was first is committed now: the next attempt finds the row
        return await self.database.write(lambda link: save_entry(link, request))

    def _announce(self, saved: Saved, session: str | None) -> None:
        text = searched_text(saved.entry.key, saved.entry.content)
        if self.embeddings is not None:
            self.embeddings.submit(EmbeddingJob(scope_key=knowledge_scope(self.tenant), entry=saved.row, text=text))
        if self.on_saved is not None:
            event = SavedText(
                tenant=self.tenant,
                kind="knowledge",
                key=saved.entry.key,
                text=saved.entry.content,
                created=saved.outcome == "created",
                session_key=session,
            )
            self.on_saved(event)

    async def _vector(self, text: str) -> Vector | None:
        if self.embedder is None:
            return None
        try:
            return await self.embedder.embed(text, tenant=self.tenant)
        except LaminaError as error:  # words still find most of it
            self.metrics.operation_failed("knowledge_search", error.code)
            return None

    async def _record(self, action: str, target: str, details: dict[str, object], session: str | None) -> None:
        await self.audit.record(
            tenant=self.tenant, action=action, actor=self.actor, target=target, details=details, session_key=session
        )

    def _slot(self, session: str) -> Slot:
        return Slot(tenant=self.tenant, name=SAVE_LIMIT, holder=check_name("session_key", session, longest=1024))

    def _limit(self, given: int | None, default: int) -> int:
        return check_limit(default if given is None else given, most=self.settings.max_limit)

    def _known_name(self, key: str) -> str:
        self._require_enabled()
        return check_name("key", key)

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


def switched_off() -> ConfigurationError:
    """What asks for knowledge while it is off is told how to switch it on."""
    return ConfigurationError(
        "Knowledge is switched off; set `knowledge.enabled = true` (in lamina.toml, as "
        "LAMINA_KNOWLEDGE__ENABLED=true, or with knowledge={'enabled': True}).",
        details={"setting": "knowledge.enabled"},
    )


def _not_found(key: str) -> KnowledgeNotFoundError:
    return KnowledgeNotFoundError(details={"key": key})
