"""The rooms as layers: each says what its room looks for, and turns what is found into items."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from lamina.context.settings import ContextSettings
from lamina.context.stored import ItemSearch, StoredSource
from lamina.context.suspicion import findings
from lamina.context.types import ContextItem, ContextLayer, LayerRequest, Origin, Place, Semantic, arguments
from lamina.index.query import Query
from lamina.index.search import RankedRow, Search
from lamina.knowledge import rows as knowledge_rows
from lamina.knowledge.reading import entry_search, reference_search
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.learning import rows as learning_rows
from lamina.learning.reading import learning_search
from lamina.learning.selection import Selection
from lamina.learning.service import LearningService
from lamina.memory.access import accessible_scopes
from lamina.memory.filter import Filter
from lamina.memory.rows import scope_key
from lamina.memory.search import LayerSearch
from lamina.memory.service import MemoryService
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, SearchHit
from lamina.memory.validate import check_identifiers

if TYPE_CHECKING:  # neither room is loaded before it is asked
    from lamina.graph.service import GraphService
    from lamina.graph.types import RelatedText, RelatedTriple
    from lamina.skill.service import SkillService
    from lamina.skill.types import SkillStatus

_EVERYTHING = Filter()
_ORIGINS: dict[str, Origin] = {origin.value: origin for origin in Origin}
_KINDS: dict[Place, str] = {
    ContextLayer.USER_KNOWLEDGE: "knowledge",
    ContextLayer.AGENT_LEARNINGS: "learning",
    Semantic.MEMORY: "memory",
}
_SAID_BY = {"tool_result": Origin.TOOL, "import": Origin.IMPORT, "knowledge_sync": Origin.IMPORT}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSource(StoredSource):
    """User Knowledge, from the knowledge of the tenant. It belongs to no session."""

    service: KnowledgeService

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """Finds the entries that fit the query, best first."""
        settings = self.service.settings
        return entry_search(
            request.tenant,
            category=None,
            limit=min(request.limit, settings.max_limit),
            threshold=request.threshold,
            now=self.service.clock.now(),
            settings=settings,
        ).then(_knowledge_items)


def _knowledge_items(found: Iterable[RankedRow]) -> list[ContextItem]:
    return [
        ContextItem(
            layer=ContextLayer.USER_KNOWLEDGE,
            key=row[knowledge_rows.KEY],
            content=row[knowledge_rows.CONTENT],
            score=score,
            signals=why,
            origin=_ORIGINS[row[knowledge_rows.ORIGIN]],
            category=row[knowledge_rows.CATEGORY],
        )
        for row, score, why in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSource(StoredSource):
    """External Knowledge, from the references of the tenant."""

    service: ReferenceService

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """Finds the references that fit the query, best first."""
        limit = min(request.limit, self.service.settings.max_limit)
        found = reference_search(request.tenant, type=None, limit=limit, threshold=request.threshold)
        return found.then(_reference_items)


def _reference_items(found: Iterable[RankedRow]) -> list[ContextItem]:
    return [
        ContextItem(
            layer=ContextLayer.EXTERNAL_KNOWLEDGE,
            key=row[knowledge_rows.REFERENCE_NAME],
            content=row[knowledge_rows.SUMMARY],
            score=score,
            signals=why,
            origin=_ORIGINS[row[knowledge_rows.REFERENCE_ORIGIN]],
            location=row[knowledge_rows.LOCATION],
        )
        for row, score, why in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSource(StoredSource):
    """Agent Learnings: solutions the tenant's agents know, with enough confidence."""

    service: LearningService

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """Finds the solutions that fit the query, best first."""
        rules = self.service.rules
        return learning_search(
            self.service.engine,
            request.tenant,
            query,
            selection=Selection(has_fix=True, min_confidence=rules.confidence_threshold),
            limit=min(request.limit, rules.max_limit),
            threshold=request.threshold,
            now=self.service.clock.now(),
        ).then(_learning_items)


def _learning_items(found: Iterable[RankedRow]) -> list[ContextItem]:
    return [
        ContextItem(
            layer=ContextLayer.AGENT_LEARNINGS,
            key=row[learning_rows.ID],
            content=solution(row[learning_rows.TRIGGER], row[learning_rows.PATTERN], row[learning_rows.FIX]),
            score=score,
            signals=why,
            origin=solution_origin(row[learning_rows.PATTERN], row[learning_rows.ORIGIN]),
            category=row[learning_rows.CATEGORY],
        )
        for row, score, why in found
    ]


def solution(trigger: str, pattern: str | None, fix: str | None) -> str:
    """What a learning tells a model: when it applies, and what to do."""
    if fix is None:
        return trigger
    if pattern is None:
        return f"When '{trigger}' occurs: {fix}"
    return f"When '{trigger}' fails with '{pattern}': {fix}"


def solution_origin(pattern: str | None, origin: str) -> Origin:
    """Who a solution comes from: who gave the fix, unless the error it quotes, a tool's words, reads like orders."""
    if pattern is not None and findings(pattern, Origin.TOOL):
        return Origin.TOOL
    return _ORIGINS[origin]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSource(StoredSource):
    """Skill Patterns: the active skills of the tenant."""

    skills: "Callable[[], SkillService]"

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """Finds the skills that fit the query, best first."""
        service, (search, active, columns) = self.skills(), _skill_room()
        return search(
            service.engine,
            request.tenant,
            query,
            status=active,
            limit=min(request.limit, service.settings.max_limit),
            threshold=request.threshold,
            now=service.clock.now(),
        ).then(partial(_skill_items, columns))


@cache
def _skill_room() -> "tuple[Callable[..., Search[list[RankedRow]]], SkillStatus, tuple[int, ...]]":
    """The search of skills, the status of those that may run, and where name, text, type and origin are in a row."""
    from lamina.skill.rows import DESCRIPTION, NAME, ORIGIN, TYPE
    from lamina.skill.store import skill_search
    from lamina.skill.types import SkillStatus

    return skill_search, SkillStatus.ACTIVE, (NAME, DESCRIPTION, TYPE, ORIGIN)


def _skill_items(columns: tuple[int, ...], found: Iterable[RankedRow]) -> list[ContextItem]:
    name, description, kind, origin = columns
    return [
        ContextItem(
            layer=ContextLayer.SKILL_PATTERNS,
            key=row[name],
            content=row[description],
            score=score,
            signals=why,
            origin=_ORIGINS[row[origin]],
            category=row[kind],
        )
        for row, score, why in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Semantic context: memories of everybody the request stands for, whoever provides them.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemorySource(StoredSource):
    """The same for memories of the house's own store."""

    service: MemoryService
    settings: ContextSettings

    def applies(self, request: LayerRequest) -> bool:
        """Whether somebody is named."""
        return bool(accessible_scopes(request.tenant, request.identifiers))

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """Finds the memories that fit the query, strongest layer first."""
        service = self.service
        reached = await service.hierarchy.complete(request.tenant, _checked(request.identifiers))
        chosen = LayerSearch(
            query=request.query,
            limit=min(request.limit, service.settings.max_search_limit),
            threshold=self.settings.memory_threshold,
            filter=_EVERYTHING,
            explain=True,
            similarity=service.settings.dedup_similarity,
        )
        scopes = accessible_scopes(request.tenant, reached)
        found = chosen.in_store(scopes, now=service.clock.now(), metrics=service.metrics)
        return found.then(lambda hits: [_memory_item(hit, request.session_key) for hit in hits])


@lru_cache(maxsize=1024)
def _checked(identifiers: Identifiers) -> Identifiers:
    """The identifiers, which are the same from turn to turn. Raises InvalidInputError."""
    return check_identifiers(**arguments(identifiers))


def _memory_item(hit: SearchHit, session_key: str | None) -> ContextItem:
    memory = hit.memory
    return ContextItem(
        layer=Semantic.MEMORY,
        key=memory.id,
        content=memory.content,
        score=hit.score,
        signals={} if hit.explain is None else hit.explain,
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
