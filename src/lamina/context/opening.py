"""Joins the rooms to a context service: which layer is fed by what."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamina.context.quarantine import Quarantine
from lamina.context.receipts import ReceiptStore
from lamina.context.retriever import ContextRetriever
from lamina.context.runtime import RuntimeContextAdapter
from lamina.context.service import ContextService
from lamina.context.settings import ContextSettings
from lamina.context.sources import (
    GraphSource,
    KnowledgeSource,
    LearningSource,
    MemorySource,
    ReferenceSource,
    SkillSource,
    StoredMemorySource,
)
from lamina.context.stored import LayerStore, StoredSource
from lamina.context.types import ContextLayer, LayerSource, Place, Semantic, TextJudge
from lamina.database.engine import Database
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.learning.service import LearningService
from lamina.memory.service import MemoryService
from lamina.memory.sql import SqlMemoryProvider
from lamina.observability.metrics import Metrics
from lamina.observation.settings import ObservationSettings

if TYPE_CHECKING:
    from lamina.graph.service import GraphService
    from lamina.session.service import SessionService
    from lamina.skill.service import SkillService


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """The rooms that feed the layers."""

    memory: MemoryService
    knowledge: KnowledgeService
    references: ReferenceService
    learning: LearningService
    skills: "Callable[[], SkillService]"
    """Called when skills are first searched for, because opening them takes a while."""
    sessions: "Callable[[], SessionService]"
    """Called where messages are asked for."""
    observed: ObservationSettings
    """What a prompt shows of a conversation, where conversations are observed."""
    graph: "GraphService | None" = None

    def sources(self, settings: ContextSettings) -> dict[Place, LayerSource | StoredSource]:
        """The layers that have something to give; a room that is switched off is not even asked."""
        own = isinstance(getattr(self.memory.provider, "inner", self.memory.provider), SqlMemoryProvider)
        memory = (StoredMemorySource if own else MemorySource)(service=self.memory, settings=settings)
        sources: dict[Place, LayerSource | StoredSource] = {Semantic.MEMORY: memory}
        if self.knowledge.settings.enabled:
            sources[ContextLayer.USER_KNOWLEDGE] = KnowledgeSource(service=self.knowledge)
            sources[ContextLayer.EXTERNAL_KNOWLEDGE] = ReferenceSource(service=self.references)
            sources[ContextLayer.AGENT_LEARNINGS] = LearningSource(service=self.learning)
            sources[ContextLayer.SKILL_PATTERNS] = SkillSource(skills=self.skills)
        if self.graph is not None:
            sources[Semantic.GRAPH] = GraphSource(service=self.graph, memory=self.memory)
        if self.observed.enabled and self.observed.recalled_messages:
            from lamina.context.messages import MessageSource

            sources[Semantic.MESSAGE] = MessageSource(service=self.sessions(), settings=settings)
        return sources

    def notes(self, database: Database) -> LayerSource | None:
        """Where Conversation Memory comes from; nothing is loaded and nothing asked where it is switched off."""
        if not self.observed.enabled:
            return None
        from lamina.context.notes import NoteSource

        return NoteSource(database=database)

    @property
    def limits(self) -> dict[Place, int]:
        """The limits of what a conversation gives; they are not those of the other layers."""
        if not self.observed.enabled:
            return {}
        return {
            ContextLayer.REFLECTIONS: self.observed.reflections_shown,
            ContextLayer.OBSERVATIONS: self.observed.observations_shown,
            Semantic.MESSAGE: self.observed.recalled_messages,
        }


def open_context(
    rooms: Rooms,
    *,
    store: LayerStore,
    embedder: Embedder,
    settings: ContextSettings,
    clock: Clock,
    metrics: Metrics,
    tenant: str,
) -> ContextService:
    """A context service over the rooms."""
    runtime = RuntimeContextAdapter(knowledge_enabled=rooms.knowledge.settings.enabled, memory_enabled=True)
    return ContextService(
        retriever=ContextRetriever(
            sources=rooms.sources(settings),
            settings=settings,
            tenant=tenant,
            metrics=metrics,
            runtime=runtime,
            notes=rooms.notes(store.database),
            limits=rooms.limits,
            store=store,
        ),
        settings=settings,
        quarantine=Quarantine(database=store.database, clock=clock, tenant=tenant),
        receipts=ReceiptStore(store.database, keep=settings.keep_receipts),
        clock=clock,
        metrics=metrics,
        runtime=runtime,
        embedder=embedder,
        ranking=store.engine.ranking,
        judge=_classifier() if settings.classifier else None,
        sessions=rooms.sessions,
        memory_token_budget=rooms.observed.memory_token_budget,
        message_token_budget=rooms.observed.max_message_token_budget,
    )


def _classifier() -> TextJudge:
    """The classifier; raises ConfigurationError that names the extra where it is not installed."""
    from lamina.context.classifier import InstructionClassifier

    return InstructionClassifier()
