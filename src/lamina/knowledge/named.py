"""What the services of knowledge and of references share: the store under them, who calls, how a text is prepared."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.embedding.cached import Vector
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.embedding.types import Purpose
from lamina.errors import ConfigurationError, InvalidInputError, LaminaError
from lamina.index.engine import SearchEngine
from lamina.index.query import Query, prepare_query
from lamina.index.search import Search
from lamina.index.store import Indexable, ScopeKey, indexable
from lamina.kernel.checks import check_limit, check_name, check_new_name, check_query
from lamina.kernel.clock import Clock
from lamina.kernel.redact import redact
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.settings import KnowledgeSettings
from lamina.observability.metrics import Metrics

T = TypeVar("T")

_log = logging.getLogger("lamina.knowledge")

_INLINE_CHARACTERS = 5_000
_LONGEST_SESSION_KEY = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTextService:
    """The named texts of one tenant. While `knowledge.enabled` is off, nothing is kept and nothing is found."""

    database: Database
    engine: SearchEngine
    settings: KnowledgeSettings
    clock: Clock
    metrics: Metrics
    audit: AuditLog
    tenant: str
    embedder: QueryEmbedder | None = None
    """Without one, questions and texts are matched by their words alone."""
    embeddings: EmbeddingSink | None = None
    """Where saved texts wait for their vectors; without it vectors are computed during the save."""
    session: Callable[[], str | None] = lambda: None
    """The session of the current request, for calls that name none."""
    actor: str = "agent"
    """Who is said to have done it in the audit log."""

    def for_tenant(self, tenant: str) -> Self:
        """The same for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    def acting_as(self, actor: str) -> Self:
        """The same with another name in the audit log; raises InvalidInputError for a blank one."""
        return replace(self, actor=check_name("actor", actor))

    def _session(self, given: str | None) -> str | None:
        session = given or self.session()
        return None if session is None else check_name("session_key", session, longest=_LONGEST_SESSION_KEY)

    def _new_name(self, field: str, value: object) -> str:
        """A name to keep something under. One that holds a secret is refused: it could not be found again hidden."""
        name = check_new_name(field, value)
        if self._hide(name) != name:
            raise InvalidInputError(
                f"{field} looks as if it held a password or a token; choose a name without it.",
                details={"field": field},
            )
        return name

    def _hide(self, text: str) -> str:
        return redact(text, emails=False) if self.settings.hide_secrets else text

    async def _hide_long(self, text: str) -> str:
        return self._hide(text) if len(text) <= _INLINE_CHARACTERS else await asyncio.to_thread(self._hide, text)

    async def _indexable(self, text: str, operation: str) -> tuple[Indexable, int | None]:
        """What ranking needs of a text, and the model of its vector where that was computed here."""
        model_id, vector = None, None
        if self.embedder is not None and self.embeddings is None:
            model_id = self.embedder.model_id
            try:
                vector = await self._embed(text, "document", self.embedder)
            except LaminaError as error:  # its words are enough to find it, and a back-fill finds what has no vector
                self.metrics.operation_failed(operation, error.code)
                _log.warning("%s: stored without a vector (%s)", operation, error.code)
                model_id = None
        if len(text) > _INLINE_CHARACTERS:  # analysing so much would hold up the event loop
            return await asyncio.to_thread(indexable, text, vector), model_id
        return indexable(text, vector), model_id

    def _queue(self, scope_key: ScopeKey, entry: int, text: str) -> None:
        if self.embeddings is not None:
            self.embeddings.submit(EmbeddingJob(scope_key=scope_key, entry=entry, text=text))

    async def _query(self, query: str, vector: Vector | None, operation: str) -> Query:
        """A checked question, analysed; without a vector where the embedder fails, since words find most of it."""
        if vector is None and self.embedder is not None:
            try:
                vector = await self._embed(query, "query", self.embedder)
            except LaminaError as error:
                self.metrics.operation_failed(operation, error.code)
        return prepare_query(query, vector)

    async def _found(self, search: Search[T], query: Query) -> T:
        now = self.clock.now().timestamp()
        return await self.database.read(lambda link: self.engine.search(link, search, query, now=now))

    async def _embed(self, text: str, purpose: Purpose, embedder: QueryEmbedder) -> Vector | None:
        return await embedder.embed(text, tenant=self.tenant, purpose=purpose)

    def _checked_query(self, query: object) -> str:
        return check_query(query, longest=self.settings.max_query_length)

    def _limit(self, given: int | None, default: int) -> int:
        return check_limit(default if given is None else given, most=self.settings.max_limit)

    def _report(self, link: Link, action: str, target: str, details: Mapping[str, object], session: str | None) -> None:
        """Leave an audit row in the transaction of what was done."""
        self.audit.add(
            link,
            tenant=self.tenant,
            action=action,
            actor=self.actor,
            target=target,
            details=details,
            session_key=session,
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


def switched_off() -> ConfigurationError:
    """What asks for knowledge while it is off is told how to switch it on."""
    return ConfigurationError(
        "Knowledge is switched off: set `knowledge.enabled = true` in lamina.toml, LAMINA_KNOWLEDGE__ENABLED=true in "
        "the environment, or open with knowledge={'enabled': True}.",
        details={"setting": "knowledge.enabled", "next": "Switch it on, then run the command again."},
    )
