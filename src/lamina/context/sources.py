"""The rooms as layers: each asks its room's own search, and turns what it finds into items."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamina.context.settings import ContextSettings
from lamina.context.suspicion import findings
from lamina.context.types import ContextItem, ContextLayer, LayerRequest, Origin, Place, Semantic, arguments
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.learning.service import LearningService
from lamina.learning.types import Learning
from lamina.memory.access import accessible_scopes
from lamina.memory.rows import scope_key
from lamina.memory.service import MemoryService
from lamina.memory.types import MemoryEntry, MemoryLayer, SearchHit

if TYPE_CHECKING:  # neither room is loaded before it is asked
    from lamina.graph.service import GraphService
    from lamina.graph.types import RelatedText, RelatedTriple
    from lamina.skill.service import SkillService

_KINDS: dict[Place, str] = {
    ContextLayer.USER_KNOWLEDGE: "knowledge",
    ContextLayer.AGENT_LEARNINGS: "learning",
    Semantic.MEMORY: "memory",
}
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
                origin=solution_origin(hit.learning),
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


def solution_origin(learning: Learning) -> Origin:
    """Who a solution comes from: who gave the fix, unless the error it quotes, a tool's words, reads like orders."""
    if learning.pattern is not None and findings(learning.pattern, Origin.TOOL):
        return Origin.TOOL
    return Origin(learning.origin.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSource:
    """Skill Patterns: the active skills of the tenant."""

    skills: "Callable[[], SkillService]"

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The skills that fit the query, best first."""
        service = self.skills()
        if service.tenant != request.tenant:
            service = service.for_tenant(request.tenant)
        hits = await service.search(request.query, limit=request.limit, threshold=request.threshold)
        return [
            ContextItem(
                layer=ContextLayer.SKILL_PATTERNS,
                key=hit.skill.name,
                content=hit.skill.description,
                score=hit.score,
                signals=hit.signals,
                origin=Origin(hit.skill.origin.value),
                category=hit.skill.type.value,
            )
            for hit in hits
        ]


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
    """Who a memory comes from: what a person typed in is the user's, what says nothing of its source the agent's."""
    source = memory.source
    if source is None:
        return Origin.AGENT
    if source.kind == "manual":
        return Origin.USER
    if source.kind == "conversation":
        return Origin.USER if (source.author or "").casefold() == "user" else Origin.AGENT
    return _SAID_BY.get(source.kind, Origin.IMPORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSource:
    """What the graph adds to what the other layers found, and to the names in the query."""

    service: "GraphService"
    memory: MemoryService

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """Triples and texts within the request's reach, best first."""
        from lamina.graph.types import Reach

        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        reached = await self.memory.hierarchy.complete(request.tenant, request.identifiers)
        scopes = (scope_key(scope).key for scope in accessible_scopes(request.tenant, reached))
        expansion = await service.expand(
            request.query,
            hits=_hits(request.found),
            reach=Reach.of(scopes, session_key=request.session_key),
        )
        related = [*map(_triple_item, expansion.triples), *map(_text_item, expansion.texts)]
        return sorted(related, key=lambda item: -item.score)


def _hits(found: Iterable[ContextItem]) -> list[tuple[str, str]]:
    best = sorted((item for item in found if item.layer in _KINDS), key=lambda item: -item.score)
    return [(_KINDS[item.layer], item.key) for item in best]


def _triple_item(one: "RelatedTriple") -> ContextItem:
    triple = one.triple
    return _related_item(f"{triple.subject} {triple.predicate.value} {triple.object}", f"(via {one.via})", one)


def _text_item(one: "RelatedText") -> ContextItem:
    return _related_item(f"{one.source.kind}:{one.source.key}", f"(via {one.via}) {one.text}", one)


def _related_item(key: str, content: str, one: "RelatedTriple | RelatedText") -> ContextItem:
    """An item of the graph. Who said it is not known there, so it is trusted like an import."""
    return ContextItem(
        layer=Semantic.GRAPH,
        key=key,
        content=content,
        score=min(1.0, max(0.0, one.score)),
        signals={"steps": float(one.steps)},
        origin=Origin.IMPORT,
    )
