"""The rooms of an open store, joined. Those that an app may never enter are opened at the first step inside."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from lamina.config import Settings
from lamina.embedding.static import StaticEmbedder
from lamina.graph.writing import remove_sources
from lamina.house.parts import Parts
from lamina.house.texts import late_texts
from lamina.kernel.background import Periodic
from lamina.kernel.clock import Clock
from lamina.kernel.crew import Crew, Queue
from lamina.kernel.session_key import current_session_key
from lamina.llm.models import ChatModels
from lamina.llm.types import ChatModel
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.retrying import RetryingProvider
from lamina.memory.service import MemoryService
from lamina.observability.metrics import Metrics

if TYPE_CHECKING:
    from lamina.access.idempotency import Idempotency
    from lamina.access.service import KeyService
    from lamina.context.receipt import Receipt
    from lamina.context.service import ContextService
    from lamina.embedding.buffer import EmbeddingBuffer
    from lamina.graph.service import GraphService
    from lamina.house.transfer import TenantTransfer, TransferReport
    from lamina.knowledge.audit import AuditLog
    from lamina.knowledge.reference import ReferenceService
    from lamina.knowledge.service import KnowledgeService
    from lamina.learning.service import LearningService
    from lamina.observation.service import ObservationService
    from lamina.session.service import SessionService
    from lamina.skill.service import SkillService

_STOP_S = 5.0


class House:
    """Every room over the same parts; create it on the event loop, with the store open."""

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        clock: Clock,
        metrics: Metrics,
        *,
        models: ChatModels,
        observing: bool = True,
    ) -> None:
        """`observing` starts the worker that notes conversations, where that is switched on."""
        self.parts = parts
        self._observing = observing
        self.models = models
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._tenant = settings.memory.tenant
        self._crew = Crew(stop_s=_STOP_S)
        self._loop = asyncio.get_running_loop()
        self.hierarchy = Hierarchy(parts.database, clock, tenant=self._tenant)
        # Both look for what an earlier run left undone, so they begin with the app.
        self._embeddings = self._late_vectors()
        self.memory = MemoryService(
            provider=RetryingProvider(parts.provider, policy=settings.retry, clock=clock, metrics=metrics),
            hierarchy=self.hierarchy,
            settings=settings.memory,
            clock=clock,
            metrics=metrics,
            tenant=self._tenant,
            on_saved=self._listener,
        )
        if settings.memory.sweep_interval_s > 0:
            sweeper = Periodic(self.sweep, name="expiry", interval_s=settings.memory.sweep_interval_s, clock=clock)
            self._crew.start(sweeper, name="expiry")
        if settings.observational_memory.enabled and observing:
            _ = self.observation  # opened with the app: it finds what an earlier run left undone

    async def close(self) -> None:
        """Finish what was accepted; the parts are the caller's to close."""
        learning = self.__dict__.get("learning")
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.models.aclose)
            stack.push_async_callback(self._crew.stop)
            if learning is not None:
                await learning.watcher.close(_STOP_S)

    @property
    def chat_model(self) -> ChatModel | None:
        """The primary agent's model: the application's own, else that of `llm`, else none."""
        return self.models.primary

    def queues(self) -> tuple[Queue, ...]:
        """What waits to be done in the background, by worker."""
        return self._crew.queues()

    async def sweep(self) -> int:
        """Remove what expired, now; how many memories went."""
        await self.idempotency.sweep()
        return await self.parts.provider.sweep(self._clock.now())

    @cached_property
    def audit(self) -> "AuditLog":
        """What was done, by whom, to what."""
        return self._audit(enabled=self._settings.knowledge.enabled)

    @cached_property
    def knowledge(self) -> "KnowledgeService":
        """Versioned knowledge."""
        from lamina.knowledge.service import KnowledgeService

        return KnowledgeService(**self._named, on_saved=self._listener, on_removed=remove_sources)

    @cached_property
    def references(self) -> "ReferenceService":
        """External references."""
        from lamina.knowledge.reference import ReferenceService

        return ReferenceService(**self._named)

    @cached_property
    def learning(self) -> "LearningService":
        """Learning from tools."""
        from lamina.learning.opening import open_learning

        rules = self._settings.learning
        return open_learning(self._named, rules, loop=self._loop, on_saved=self._listener, on_removed=remove_sources)

    @cached_property
    def skills(self) -> "SkillService":
        """Skills."""
        from lamina.skill.opening import open_skills

        switched = {"settings": self._settings.skill, "enabled": self._settings.knowledge.enabled}
        return open_skills(**{**self._named, **switched})

    @cached_property
    def graph(self) -> "GraphService":
        """The graph; while it is on, what is saved is read into it in the background."""
        from lamina.graph.opening import open_graph
        from lamina.graph.types import session_scope
        from lamina.knowledge.stored import StoredKnowledge
        from lamina.learning.stored import StoredLearnings
        from lamina.memory.stored import StoredMemories
        from lamina.session.stored import StoredMessages

        said = StoredMessages(scope_of=session_scope)
        known = (
            StoredKnowledge(),
            StoredLearnings(confidence_threshold=self._settings.learning.confidence_threshold),
        )
        graph = open_graph(
            database=self.parts.database,
            texts=(StoredMemories(), said, *known),
            settings=self._settings.graph,
            clock=self._clock,
            metrics=self._metrics,
            tenant=self._tenant,
            retry=self._settings.retry,
            model=self.chat_model if self._settings.graph.needs_model else None,
            hidden=[
                *(() if self._settings.knowledge.enabled else (texts.kind for texts in known)),
                *(() if self._settings.session.graph else (said.kind,)),
            ],
        )
        if graph.buffer is not None:
            self._crew.start(graph.buffer, name="graph")
        return graph

    @cached_property
    def sessions(self) -> "SessionService":
        """Conversations."""
        from lamina.embedding.query import QueryEmbedder
        from lamina.house.forgetting import forget_session
        from lamina.observation.sources import note_sources
        from lamina.session.service import SessionService

        return SessionService(
            database=self.parts.database,
            engine=self.parts.engine,
            settings=self._settings.session,
            clock=self._clock,
            metrics=self._metrics,
            tenant=self._tenant,
            embedder=QueryEmbedder(cache=self.parts.cache, model_id=self.parts.provider.model.id),
            embeddings=self._embeddings,
            on_appended=self.observation.appended if self._settings.observational_memory.enabled else None,
            on_saved=self._listener if self._settings.session.graph else None,
            note_sources=note_sources,
            on_removed=(partial(forget_session, audit=self.audit),),
            on_deleted=self._forget_prompt,
        )

    @cached_property
    def observation(self) -> "ObservationService":
        """Observational memory; while it is on, a worker writes notes in the background."""
        from lamina.observation.opening import open_observation, writers_of

        settings = self._settings.observational_memory
        observation = open_observation(
            database=self.parts.database,
            settings=settings,
            clock=self._clock,
            metrics=self._metrics,
            tenant=self._tenant,
            writers=lambda: writers_of(self.models.named(provider=settings.provider, model=settings.model)),
        )
        if observation.worker is not None and self._observing:
            self._crew.start(observation.worker, name="observation", stop_s=settings.stop_deadline_s)
        return observation

    @cached_property
    def keys(self) -> "KeyService":
        """The keys that let callers in."""
        from lamina.access.keyring import Keyring
        from lamina.access.service import KeyService

        ring = Keyring(self.parts.database, clock=self._clock, metrics=self._metrics)
        self._crew.start(ring.uses, name="key use")
        return KeyService(
            database=self.parts.database,
            clock=self._clock,
            metrics=self._metrics,
            audit=self._audit(enabled=True),  # who let whom in is kept whatever else is switched off
            tenant=self._tenant,
            ring=ring,
        )

    @cached_property
    def idempotency(self) -> "Idempotency":
        """The answers that a repeated request gets again."""
        from lamina.access.idempotency import Idempotency

        return Idempotency(self.parts.database, clock=self._clock, metrics=self._metrics)

    @cached_property
    def context(self) -> "ContextService":
        """From a query to a prompt."""
        from lamina.context.feedback import UseFeedback
        from lamina.context.opening import Rooms, open_context
        from lamina.context.stored import LayerStore
        from lamina.embedding.query import QueryEmbedder

        context = open_context(
            Rooms(
                memory=self.memory,
                knowledge=self.knowledge,
                references=self.references,
                learning=self.learning,
                skills=lambda: self.skills,
                sessions=lambda: self.sessions,
                observed=self._settings.observational_memory,
                graph=self.graph if self._settings.graph.enabled else None,
            ),
            store=LayerStore(
                database=self.parts.database,
                engine=self.parts.engine,
                embedder=QueryEmbedder(cache=self.parts.cache, model_id=self.parts.provider.model.id),
                clock=self._clock,
                metrics=self._metrics,
            ),
            embedder=self.parts.questions,
            settings=self._settings.context,
            clock=self._clock,
            metrics=self._metrics,
            tenant=self._tenant,
        )
        if self._settings.observational_memory.enabled:
            context = replace(context, on_turn=self._turn_economics())
        if not self._settings.knowledge.enabled:
            return context
        known = self.knowledge
        feedback = UseFeedback(
            lambda tenant, keys: known.for_tenant(tenant).used(keys), clock=self._clock, metrics=self._metrics
        )
        self._crew.start(feedback.worker, name="use feedback")
        return replace(context, on_injected=feedback.injected)

    def transfer(self, tenant: str) -> "TenantTransfer":
        """Everything a tenant knows, out of the store and into it."""
        from lamina.embedding.query import QueryEmbedder
        from lamina.house.carriers import all_carriers
        from lamina.house.transfer import TenantTransfer
        from lamina.memory.transfer import Transfer

        parts = self.parts
        return TenantTransfer(
            database=parts.database,
            memories=Transfer(
                database=parts.database,
                provider=parts.provider,
                settings=self._settings.memory,
                clock=self._clock,
                tenant=tenant,
            ),
            embedder=QueryEmbedder(cache=parts.cache, model_id=parts.provider.model.id),
            carriers=partial(all_carriers, self._settings),
            on_imported=self._imported,
        )

    async def _imported(self, tenant: str, actor: str, report: "TransferReport") -> None:
        if self._listener is not None:
            self._listener.owe()
        details = {"stored": report.stored, "replaced": report.replaced, "kinds": report.kinds}
        await self.audit.record(tenant=tenant, action="tenant_import", actor=actor, details=details)

    def _audit(self, *, enabled: bool) -> "AuditLog":
        from lamina.knowledge.audit import AuditLog

        return AuditLog(
            self.parts.database, clock=self._clock, metrics=self._metrics, enabled=enabled, tenant=self._tenant
        )

    def _turn_economics(self) -> "Callable[[str, Receipt], None]":
        """Counts what notes cost in prompts, for each session, in the background."""
        from lamina.context.economics import TurnEconomics
        from lamina.observation.sent import add_turns

        database = self.parts.database
        economics = TurnEconomics(
            lambda turns: database.write(lambda link: add_turns(link, turns)), clock=self._clock, metrics=self._metrics
        )
        self._crew.start(economics.worker, name="turn economics")
        return economics.sent

    def _forget_prompt(self, tenant: str, session_key: str) -> None:
        if "context" in self.__dict__:
            self.context.turns.forget(tenant, session_key)

    @property
    def _listener(self) -> Any:
        return self.graph.buffer if self._settings.graph.enabled else None

    @cached_property
    def _named(self) -> dict[str, Any]:
        """What every room of named texts stands on."""
        from lamina.embedding.query import QueryEmbedder

        return {
            "database": self.parts.database,
            "engine": self.parts.engine,
            "settings": self._settings.knowledge,
            "clock": self._clock,
            "metrics": self._metrics,
            "audit": self.audit,
            "tenant": self._tenant,
            "embedder": QueryEmbedder(cache=self.parts.cache, model_id=self.parts.provider.model.id),
            "embeddings": self._embeddings,
            "session": current_session_key,
        }

    def _late_vectors(self) -> "EmbeddingBuffer | None":
        """Where saved texts wait for an embedder that is asked over a network or takes its time."""
        if isinstance(self.parts.embedder, StaticEmbedder):
            return None
        from lamina.embedding.buffer import EmbeddingBuffer

        buffer = EmbeddingBuffer(
            database=self.parts.database,
            cache=self.parts.cache,
            model_id=self.parts.provider.model.id,
            texts=late_texts(known=self._settings.knowledge.enabled),
            clock=self._clock,
            metrics=self._metrics,
            settings=self._settings.embedding.buffer,
            retry=self._settings.retry,
        )
        self._crew.start(buffer, name="embedding")
        return buffer
