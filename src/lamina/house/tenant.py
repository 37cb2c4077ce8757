"""An open store as one tenant has it: the same verbs, bound to the tenant's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from lamina.house.rooms import House
from lamina.kernel.checks import check_name

if TYPE_CHECKING:
    from lamina.access.service import KeyService
    from lamina.context.service import ContextService
    from lamina.graph.service import GraphService
    from lamina.house.figures import FiguresOfTenant
    from lamina.house.transfer import TenantTransfer
    from lamina.knowledge.audit import AuditLog
    from lamina.knowledge.reference import ReferenceService
    from lamina.knowledge.service import KnowledgeService
    from lamina.knowledge.types import AuditPage
    from lamina.learning.service import LearningService
    from lamina.memory.hierarchy import Hierarchy, Kind
    from lamina.memory.scopes import ScopeDirectory
    from lamina.memory.service import MemoryService
    from lamina.memory.types import IdentifierArguments
    from lamina.observation.service import ObservationService
    from lamina.session.service import SessionService
    from lamina.skill.service import SkillService


class Tenant:
    """One tenant's rooms. Cheap: a room is looked up when it is entered."""

    def __init__(self, house: House, name: str) -> None:
        """Raises InvalidInputError for a blank name."""
        self._house = house
        self.name = check_name("tenant", name)

    @cached_property
    def memory(self) -> "MemoryService":
        """Layered memory."""
        return self._house.memory.for_tenant(self.name)

    @cached_property
    def scopes(self) -> "ScopeDirectory":
        """Of whom there are memories, and how many."""
        from lamina.memory.scopes import ScopeDirectory

        return ScopeDirectory(database=self._house.parts.database, tenant=self.name)

    @cached_property
    def figures(self) -> "FiguresOfTenant":
        """How much is known, and how it grew."""
        from lamina.house.figures import FiguresOfTenant

        return FiguresOfTenant(database=self._house.parts.database, clock=self._house.memory.clock, tenant=self.name)

    @cached_property
    def transfer(self) -> "TenantTransfer":
        """Everything the tenant knows out of the store and into it, as JSON Lines."""
        return self._house.transfer(self.name)

    @cached_property
    def hierarchy(self) -> "TenantHierarchy":
        """Which project belongs to which team, org and company."""
        return TenantHierarchy(self._house.hierarchy, self.name)

    @cached_property
    def knowledge(self) -> "KnowledgeService":
        """Versioned knowledge."""
        return self._house.knowledge.for_tenant(self.name)

    @cached_property
    def references(self) -> "ReferenceService":
        """External references."""
        return self._house.references.for_tenant(self.name)

    @cached_property
    def learning(self) -> "LearningService":
        """Learning from tools."""
        return self._house.learning.for_tenant(self.name)

    @cached_property
    def skills(self) -> "SkillService":
        """Skills."""
        return self._house.skills.for_tenant(self.name)

    @cached_property
    def graph(self) -> "GraphService":
        """The graph."""
        return self._house.graph.for_tenant(self.name)

    @cached_property
    def sessions(self) -> "SessionService":
        """Conversations."""
        return self._house.sessions.for_tenant(self.name)

    @cached_property
    def observation(self) -> "ObservationService":
        """Notes on conversations."""
        return self._house.observation.for_tenant(self.name)

    @cached_property
    def audit(self) -> "TenantAudit":
        """What was done, by whom, to what."""
        return TenantAudit(self._house.audit, self.name)

    @cached_property
    def context(self) -> "ContextService":
        """From a query to a prompt."""
        return self._house.context.for_tenant(self.name)

    @cached_property
    def keys(self) -> "KeyService":
        """The tenant's keys."""
        return self._house.keys.for_tenant(self.name)


@dataclass(frozen=True, slots=True)
class TenantHierarchy:
    """The hierarchy of one tenant."""

    _hierarchy: "Hierarchy"
    _tenant: str

    async def set(self, **identifiers: Unpack["IdentifierArguments"]) -> None:
        """Store who belongs to whom; see `Hierarchy.set`."""
        await self._hierarchy.set(tenant=self._tenant, **identifiers)

    async def remove(self, *, kind: "Kind", id: str) -> bool:
        """Remove one link; whether there was one."""
        return await self._hierarchy.remove(kind=kind, id=id, tenant=self._tenant)

    async def all(self) -> list[Mapping[str, str]]:
        """Every link, by level and id."""
        return await self._hierarchy.all(tenant=self._tenant)


@dataclass(frozen=True, slots=True)
class TenantAudit:
    """The audit log of one tenant."""

    _audit: "AuditLog"
    _tenant: str

    async def list(self, **wanted: Any) -> "AuditPage":
        """One page of rows, newest first; see `AuditLog.list`."""
        return await self._audit.list(**{**wanted, "tenant": self._tenant})

    async def record(self, *, action: str, actor: str, target: str | None = None, **more: Any) -> None:
        """Add a row; never raises."""
        await self._audit.record(tenant=self._tenant, action=action, actor=actor, target=target, **more)
