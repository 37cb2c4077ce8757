"""The rooms as layers: each asks its room's own search, and turns what it finds into items."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina.context.settings import ContextSettings
from lamina.context.types import ContextItem, ContextLayer, LayerRequest, Origin, Semantic, arguments
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.learning.service import LearningService
from lamina.learning.types import Learning
from lamina.memory.access import accessible_scopes
from lamina.memory.service import MemoryService
from lamina.memory.types import MemoryEntry, MemoryLayer, SearchHit

_SAID_BY = {"tool_result": Origin.TOOL, "import": Origin.IMPORT, "knowledge_sync": Origin.IMPORT}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSource:
    """User Knowledge, from the knowledge of the tenant. It belongs to no session."""

    service: KnowledgeService

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The entries that fit the query, best first."""
        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        hits = await service.search(request.query, limit=request.limit, threshold=request.threshold)
        return [
            ContextItem(
                layer=ContextLayer.USER_KNOWLEDGE,
                key=hit.entry.key,
                content=hit.entry.content,
                score=hit.score,
                signals=hit.explain,
                origin=Origin(hit.entry.origin.value),
                category=hit.entry.category.value,
            )
            for hit in hits
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSource:
    """External Knowledge, from the references of the tenant."""

    service: ReferenceService

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The references that fit the query, best first."""
        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        hits = await service.search(request.query, limit=request.limit, threshold=request.threshold)
        return [
            ContextItem(
                layer=ContextLayer.EXTERNAL_KNOWLEDGE,
                key=hit.reference.name,
                content=hit.reference.summary,
                score=hit.score,
                signals=hit.explain,
                origin=Origin(hit.reference.origin.value),
                location=hit.reference.location,
            )
            for hit in hits
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSource:
    """Agent Learnings: solutions the tenant's agents know, with enough confidence."""

    service: LearningService

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The solutions that fit the query, best first."""
        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        hits = await service.search(request.query, limit=request.limit, threshold=request.threshold)
        return [
            ContextItem(
                layer=ContextLayer.AGENT_LEARNINGS,
                key=hit.learning.id,
                content=solution(hit.learning),
                score=hit.score,
                signals=hit.explain,
                origin=Origin(hit.learning.origin.value),
                category=hit.learning.category.value,
            )
            for hit in hits
        ]


def solution(learning: Learning) -> str:
    """What a learning tells a model: when it applies, and what to do."""
    if learning.fix is None:
        return learning.trigger
    if learning.pattern is None:
        return f"When '{learning.trigger}' occurs: {learning.fix}"
    return f"When '{learning.trigger}' fails with '{learning.pattern}': {learning.fix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Semantic context: memories of everybody the request stands for.

    Only session memories belong to a session: a request reaches those of its own, and what is known about the user,
    the project and above stays visible whatever the session.
    """

    service: MemoryService
    settings: ContextSettings

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The memories that fit the query, strongest layer first; none when nobody is named."""
        if not accessible_scopes(request.tenant, request.identifiers):
            return ()
        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        hits = await service.search(
            request.query,
            limit=request.limit,
            threshold=self.settings.memory_threshold,
            explain=True,
            **arguments(request.identifiers),
        )
        return [_memory_item(hit, request.session_key) for hit in hits]


def _memory_item(hit: SearchHit, session_key: str | None) -> ContextItem:
    memory = hit.memory
    return ContextItem(
        layer=Semantic.MEMORY,
        key=memory.id,
        content=memory.content,
        score=hit.score,
        signals=hit.explain or {},
        origin=memory_origin(memory),
        category=memory.layer.value,
        session_key=session_key if memory.layer is MemoryLayer.SESSION else None,
        at=memory.updated_at,
    )


def memory_origin(memory: MemoryEntry) -> Origin:
    """Who a memory comes from: what was typed in is the user's, a conversation's the agent's notes of it."""
    source = memory.source
    if source is None or source.kind == "manual":
        return Origin.USER
    if source.kind == "conversation":
        return Origin.USER if (source.author or "").casefold() == "user" else Origin.AGENT
    return _SAID_BY.get(source.kind, Origin.IMPORT)
