"""Builds, starts and stops everything: the one place where the pieces are joined."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio

from lamina.config import LoadedSettings, Settings, load_settings
from lamina.context.feedback import UseFeedback
from lamina.context.opening import Rooms, open_context
from lamina.context.service import ContextService
from lamina.database.engine import Database
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.factory import create_embedder
from lamina.embedding.query import QueryEmbedder
from lamina.embedding.shared_query import SharedQueryEmbedder
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.graph.writing import remove_sources
from lamina.index.blas import hold_blas_to_one_thread
from lamina.index.calibration import Calibration
from lamina.index.engine import SearchEngine
from lamina.index.ranking import RankingModel
from lamina.index.store import entry_counts
from lamina.kernel.background import BatchWorker, Periodic
from lamina.kernel.clock import Clock, SystemClock
from lamina.kernel.session_key import current_session_key, using_session
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.stored import StoredKnowledge
from lamina.learning.opening import open_learning
from lamina.learning.service import LearningService
from lamina.learning.stored import StoredLearnings
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.retrying import RetryingProvider
from lamina.memory.service import MemoryService
from lamina.memory.sql import SqlMemoryProvider
from lamina.memory.stored import StoredMemories
from lamina.observability.metrics import Metrics

if TYPE_CHECKING:
    from lamina.graph.buffer import GraphBuffer
    from lamina.graph.service import GraphService
    from lamina.skill.service import SkillService

_STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The joined pieces of an open app, for the doors that need more than the verbs."""

    database: Database
    engine: SearchEngine
    embedder: Embedder
    provider: SqlMemoryProvider


class App:
    """An open store with everything on it. Use it as an async context manager, or `start` and `close` it."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics.collecting()
        self._owns_metrics = metrics is None
        self._clock: Clock = clock or SystemClock()
        self._given_embedder = embedder
        self._environ = os.environ if environ is None else environ
        self._parts: Parts | None = None
        self._memory: MemoryService | None = None
        self._knowledge: KnowledgeService | None = None
        self._references: ReferenceService | None = None
        self._audit: AuditLog | None = None
        self._learning: LearningService | None = None
        self._skills: SkillService | None = None
        self._ground: Mapping[str, Any] | None = None
        self._graph: GraphService | None = None
        self._reading: asyncio.Task[None] | None = None
        self._context: ContextService | None = None
        self._feedback: UseFeedback | None = None
        self._counting: asyncio.Task[None] | None = None
        self._hierarchy: Hierarchy | None = None
        self._sweeper: Periodic | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        """Open the store, creating or migrating it where needed.

        Raises ConfigurationError when store and embedder do not belong together, and for an app that is open.
        """
        if self._parts is not None:
            raise ConfigurationError("The app is open already.")
        settings = self.settings
        hold_blas_to_one_thread()
        embedder = self._given_embedder or await create_embedder(settings.embedding, environ=self._environ)
        database = Database(settings.database)
        engine = SearchEngine(settings.index, self.metrics)
        shipped = isinstance(embedder, StaticEmbedder)
        asked = SharedQueryEmbedder(embedder, at_once=shipped)
        # Looking a vector up in the store costs more than the shipped table does.
        cache = CachedEmbedder(asked, database, self.metrics, ask_store=not shipped)
        provider = SqlMemoryProvider(
            database=database,
            engine=engine,
            embedder=embedder,
            cache=cache,
            settings=settings.memory,
            clock=self._clock,
            on_removed=remove_sources,
        )
        try:
            await provider.initialize()
        except BaseException:  # boundary: whatever went wrong, nothing stays open
            await provider.shutdown()
            raise
        self._parts = Parts(database=database, engine=engine, embedder=embedder, provider=provider)
        self._hierarchy = Hierarchy(database, self._clock, tenant=settings.memory.tenant)
        reader = self._start_reading() if settings.graph.enabled else None
        self._memory = MemoryService(
            provider=RetryingProvider(provider, policy=settings.retry, clock=self._clock, metrics=self.metrics),
            hierarchy=self._hierarchy,
            settings=settings.memory,
            clock=self._clock,
            metrics=self.metrics,
            tenant=settings.memory.tenant,
            on_saved=reader,
        )
        self._open_knowledge(self._parts, QueryEmbedder(cache=cache, model_id=provider.model.id))
        self._knowledge = replace(self.knowledge, on_saved=reader, on_removed=remove_sources)
        try:
            self._open_context(self._parts, asked)
        except BaseException:  # boundary: whatever went wrong, nothing stays open
            await self.close()
            raise
        self.metrics.observe_storage(lambda: dict(database.read_now(lambda link: entry_counts(link, kind="memory"))))
        self._start_sweeping()
        return self

    def _open_knowledge(self, parts: Parts, embedder: QueryEmbedder) -> None:
        settings, tenant = self.settings.knowledge, self.settings.memory.tenant
        self._audit = AuditLog(
            parts.database, clock=self._clock, metrics=self.metrics, enabled=settings.enabled, tenant=tenant
        )
        ground: dict[str, Any] = {
            "database": parts.database,
            "engine": parts.engine,
            "settings": settings,
            "clock": self._clock,
            "metrics": self.metrics,
            "audit": self._audit,
            "tenant": tenant,
            "embedder": embedder,
            "session": current_session_key,
        }
        self._ground = ground
        self._knowledge = KnowledgeService(**ground)
        self._references = ReferenceService(**ground)
        graph = None if self._graph is None else self._graph.buffer
        self._learning = open_learning(ground, self.settings.learning, on_saved=graph, on_removed=remove_sources)

    def _open_context(self, parts: Parts, embedder: Embedder) -> None:
        context = open_context(
            Rooms(
                memory=self.memory,
                knowledge=self.knowledge,
                references=self.references,
                learning=self.learning,
                skills=lambda: self.skills,
                graph=self.graph if self.settings.graph.enabled else None,
            ),
            database=parts.database,
            embedder=embedder,
            ranking=RankingModel(calibration=parts.provider.model.calibration or Calibration()),
            settings=self.settings.context,
            clock=self._clock,
            metrics=self.metrics,
            tenant=self.settings.memory.tenant,
        )
        if self.settings.knowledge.enabled:
            known = self.knowledge
            self._feedback = UseFeedback(
                lambda tenant, keys: known.for_tenant(tenant).used(keys), clock=self._clock, metrics=self.metrics
            )
            self._counting = asyncio.create_task(_host(self._feedback.worker), name="lamina use feedback")
            context = replace(context, on_injected=self._feedback.injected)
        self._context = context

    def _start_reading(self) -> "GraphBuffer":
        buffer = self.graph.buffer
        assert buffer is not None
        self._reading = asyncio.create_task(_host(buffer), name="lamina graph")
        return buffer

    def _start_sweeping(self) -> None:
        interval = self.settings.memory.sweep_interval_s
        if interval > 0:
            self._sweeper = Periodic(self.sweep, name="expiry", interval_s=interval, clock=self._clock)
            # A task of its own, because start and close may be called from different tasks.
            self._sweeping = asyncio.create_task(_host(self._sweeper), name="lamina expiry")

    async def close(self) -> None:
        """Finish accepted writes and close; idempotent."""
        if self._sweeper is not None and self._sweeping is not None:
            await self._sweeper.stop(_STOP_S)
            await self._sweeping
            self._sweeper = self._sweeping = None
        if self._feedback is not None and self._counting is not None:
            await self._feedback.worker.stop(_STOP_S)
            await self._counting
            self._feedback = self._counting = None
        if self._learning is not None:
            await self._learning.watcher.close(_STOP_S)
            self._learning = None
        if self._graph is not None and self._graph.buffer is not None and self._reading is not None:
            await self._graph.buffer.stop(_STOP_S)
            await self._reading
            self._reading = None
        self._graph = None
        if self._parts is not None:
            await self._parts.provider.shutdown()
            self._parts = self._memory = self._hierarchy = None
            self._knowledge = self._references = self._audit = self._context = self._skills = self._ground = None
            if self._owns_metrics:
                self.metrics.shutdown()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def memory(self) -> MemoryService:
        """Layered memory: add, search, get, update, delete, list, history."""
        if self._memory is None:
            raise _not_open()
        return self._memory

    @property
    def knowledge(self) -> KnowledgeService:
        """Versioned knowledge: save, get, history, search, list, delete, used. Off unless `knowledge.enabled`."""
        if self._knowledge is None:
            raise _not_open()
        return self._knowledge

    @property
    def references(self) -> ReferenceService:
        """External references: save, get, search, list, delete. Off unless `knowledge.enabled`."""
        if self._references is None:
            raise _not_open()
        return self._references

    @property
    def learning(self) -> LearningService:
        """Learning from tools: wrap, save, correct, fix_for, search, list, clean_up. Off unless `knowledge.enabled`."""
        if self._learning is None:
            raise _not_open()
        return self._learning

    @property
    def skills(self) -> "SkillService":
        """Skills: create, approve, run, search, list, tools, import, export. Off unless `knowledge.enabled`."""
        if self._skills is None:
            if self._ground is None:
                raise _not_open()
            # Imported here: parsers of shell, templates and YAML are nothing for an app without skills.
            from lamina.skill.opening import open_skills

            switched = {"settings": self.settings.skill, "enabled": self.settings.knowledge.enabled}
            self._skills = open_skills(**{**self._ground, **switched})
        return self._skills

    @property
    def graph(self) -> "GraphService":
        """The graph: add, find, neighbours, traverse, path, expand, remove. Off unless `graph.enabled`."""
        if self._graph is None:
            # Imported here: an app without a graph needs no word lists.
            from lamina.graph.opening import open_graph

            self._graph = open_graph(
                database=self.parts.database,
                texts=(StoredMemories(), StoredKnowledge(), StoredLearnings()),
                settings=self.settings.graph,
                clock=self._clock,
                metrics=self.metrics,
                tenant=self.settings.memory.tenant,
                retry=self.settings.retry,
            )
        return self._graph

    @property
    def audit(self) -> AuditLog:
        """What was done, by whom, to what: record and list."""
        if self._audit is None:
            raise _not_open()
        return self._audit

    @property
    def context(self) -> ContextService:
        """From a query to a prompt: retrieve, assemble, receipts, quarantine."""
        if self._context is None:
            raise _not_open()
        return self._context

    def session(self, key: str | None) -> AbstractContextManager[None]:
        """Bind a session for everything that runs or is started inside `with app.session("telegram:42:7"):`."""
        return using_session(key)

    @property
    def hierarchy(self) -> Hierarchy:
        """Which project belongs to which team, org and company."""
        if self._hierarchy is None:
            raise _not_open()
        return self._hierarchy

    @property
    def parts(self) -> Parts:
        """The pieces underneath, for doors and tools."""
        if self._parts is None:
            raise _not_open()
        return self._parts

    async def sweep(self) -> int:
        """Remove what expired, now; how many memories went."""
        return await self.parts.provider.sweep(self._clock.now())


async def _host(worker: "Periodic | BatchWorker[Any] | GraphBuffer") -> None:
    async with anyio.create_task_group() as group:
        worker.start(group)


def _not_open() -> ConfigurationError:
    return ConfigurationError("The app is not open: use `async with lamina.open(...) as app`, or `await app.start()`.")


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> App:
    """An app on a store: a file path, `:memory:`, a postgresql:// address, or a `.toml` file with settings.

    Without a target the configuration decides (`lamina.toml`, the environment), and without one `lamina.db` in the
    current folder is used. `overrides` are settings by section, such as `memory={"threshold": 0.6}`. Nothing
    happens until the app is started.
    """
    if settings is None:
        settings = resolve_settings(target, **overrides).settings
    return App(settings, embedder=embedder, clock=clock, metrics=metrics)


def resolve_settings(target: str | Path | None = None, **overrides: object) -> LoadedSettings:
    """The effective settings for a target and where each came from; arguments win over environment and file."""
    text = None if target is None else str(target)
    if text is not None and text.endswith(".toml"):
        return load_settings(Path(text), overrides=overrides)
    if text is not None:
        section = overrides.get("database")
        given = dict(section) if isinstance(section, Mapping) else {}
        overrides["database"] = {**given, "url": text}
    return load_settings(overrides=overrides)
