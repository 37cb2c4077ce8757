"""Opens and closes a store with everything on it; which pieces there are is the business of `lamina.house`."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lamina.config import LoadedSettings, Settings, load_settings
from lamina.embedding.factory import create_embedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.house.parts import Parts, build_parts
from lamina.house.rooms import House
from lamina.index.blas import hold_blas_to_one_thread
from lamina.index.store import entry_counts
from lamina.kernel.clock import Clock, SystemClock
from lamina.kernel.crew import Queue
from lamina.kernel.session_key import using_session
from lamina.llm.models import ChatModels
from lamina.llm.types import ChatModel
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService
from lamina.observability.metrics import Metrics

if TYPE_CHECKING:
    from lamina.access.idempotency import Idempotency
    from lamina.access.service import KeyService
    from lamina.context.service import ContextService
    from lamina.graph.service import GraphService
    from lamina.house.tenant import Tenant
    from lamina.knowledge.audit import AuditLog
    from lamina.knowledge.reference import ReferenceService
    from lamina.knowledge.service import KnowledgeService
    from lamina.learning.service import LearningService
    from lamina.observation.service import ObservationService
    from lamina.session.service import SessionService
    from lamina.skill.service import SkillService


class App:
    """An open store with everything on it. Use it as an async context manager, or `start` and `close` it."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        environ: Mapping[str, str] | None = None,
        observing: bool = True,
    ) -> None:
        """An app on these settings. Without `observing` conversations are noted when asked, not in the background."""
        self.settings = settings
        self._observing = observing
        self.metrics = metrics or Metrics.collecting()
        self._owns_metrics = metrics is None
        self._clock: Clock = clock or SystemClock()
        self._given_embedder = embedder
        self._given_model = model
        self._environ = os.environ if environ is None else environ
        self._house: House | None = None

    async def start(self) -> Self:
        """Open the store, creating or migrating it where needed.

        Raises ConfigurationError when store and embedder do not belong together, and for an app that is open.
        """
        if self._house is not None:
            raise ConfigurationError("The app is open already.")
        self._loop = asyncio.get_running_loop()
        hold_blas_to_one_thread()
        embedder = self._given_embedder or await create_embedder(self.settings.embedding, environ=self._environ)
        parts = build_parts(self.settings, embedder, self._clock, self.metrics)
        try:
            await parts.provider.initialize()
            self._house = House(
                self.settings,
                parts,
                self._clock,
                self.metrics,
                models=self._models(),
                observing=self._observing,
            )
        except BaseException:  # boundary: whatever went wrong, nothing stays open
            await parts.provider.shutdown()
            raise
        database = parts.database
        self.metrics.observe_storage(lambda: dict(database.read_now(lambda link: entry_counts(link, kind="memory"))))
        return self

    async def close(self) -> None:
        """Finish accepted writes and close; idempotent."""
        house, self._house = self._house, None
        if house is None:
            return
        try:
            await house.close()
        finally:
            await house.parts.provider.shutdown()
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
    def is_open(self) -> bool:
        """Whether it was started and not closed since."""
        return self._house is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop it was started on, which its verbs are to be called on."""
        _ = self._open
        return self._loop

    @property
    def memory(self) -> MemoryService:
        """Layered memory: add, search, get, update, delete, list, history."""
        return self._open.memory

    @property
    def hierarchy(self) -> Hierarchy:
        """Which project belongs to which team, org and company."""
        return self._open.hierarchy

    @property
    def knowledge(self) -> "KnowledgeService":
        """Versioned knowledge: save, get, history, search, list, delete, used. Off unless `knowledge.enabled`."""
        return self._open.knowledge

    @property
    def references(self) -> "ReferenceService":
        """External references: save, get, search, list, delete. Off unless `knowledge.enabled`."""
        return self._open.references

    @property
    def learning(self) -> "LearningService":
        """Learning from tools: wrap, save, correct, fix_for, search, list, clean_up. Off unless `knowledge.enabled`."""
        return self._open.learning

    @property
    def skills(self) -> "SkillService":
        """Skills: create, approve, run, search, list, tools, import, export. Off unless `knowledge.enabled`."""
        return self._open.skills

    @property
    def graph(self) -> "GraphService":
        """The graph: add, find, neighbours, traverse, path, expand, remove. Off unless `graph.enabled`."""
        return self._open.graph

    @property
    def sessions(self) -> "SessionService":
        """Conversations: append, messages, recent, recall, compact_messages, get, list, delete."""
        return self._open.sessions

    @property
    def observation(self) -> "ObservationService":
        """Notes on conversations: trigger, observe_now, notes, timeline, status. `observational_memory.enabled`."""
        return self._open.observation

    @property
    def audit(self) -> "AuditLog":
        """What was done, by whom, to what: record and list."""
        return self._open.audit

    @property
    def context(self) -> "ContextService":
        """From a query to a prompt: retrieve, assemble, receipts, quarantine."""
        return self._open.context

    @property
    def keys(self) -> "KeyService":
        """The keys that let callers of a service in: create, list, revoke, verify."""
        return self._open.keys

    @property
    def idempotency(self) -> "Idempotency":
        """The answers that a request gets again when it is sent again under its `Idempotency-Key`."""
        return self._open.idempotency

    def for_tenant(self, tenant: str) -> "Tenant":
        """Everything as one tenant has it; raises InvalidInputError for a blank name."""
        from lamina.house.tenant import Tenant

        return Tenant(self._open, tenant)

    def session(self, key: str | None) -> AbstractContextManager[None]:
        """Bind a session for everything that runs or is started inside `with app.session("telegram:42:7"):`."""
        return using_session(key)

    @property
    def chat_model(self) -> ChatModel | None:
        """The primary agent's model: the one passed in, else that of the section `llm`; None where there is none."""
        return self._open.chat_model

    @property
    def parts(self) -> Parts:
        """The pieces underneath, for doors and tools."""
        return self._open.parts

    def queues(self) -> tuple[Queue, ...]:
        """What waits to be done in the background, by worker; workers that were not needed yet are absent."""
        return self._open.queues()

    async def sweep(self) -> int:
        """Remove what expired, now; how many memories went."""
        return await self._open.sweep()

    def _models(self) -> ChatModels:
        return ChatModels(
            self.settings.llm,
            given=self._given_model,
            environ=self._environ,
            policy=self.settings.retry,
            clock=self._clock,
            metrics=self.metrics,
        )

    @property
    def _open(self) -> House:
        if self._house is None:
            raise ConfigurationError(
                "The app is not open: use `async with lamina.open(...) as app`, or `await app.start()`."
            )
        return self._house


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> App:
    """An app on a store: a file path, `:memory:`, a postgresql:// address, or a `.toml` file with settings.

    Without a target the configuration decides (`lamina.toml`, the environment), and without one `lamina.db` in the
    current folder is used. `model` is the application's own chat model, for what needs one; it wins over the section
    `llm`, and the caller closes it. `overrides` are settings by section, such as `memory={"threshold": 0.6}`. Nothing
    happens until the app is started.
    """
    if settings is None:
        settings = resolve_settings(target, **overrides).settings
    return App(settings, embedder=embedder, model=model, clock=clock, metrics=metrics)


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
