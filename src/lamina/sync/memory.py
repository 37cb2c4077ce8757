"""Memory without `await`."""

from typing import Unpack

from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService
from lamina.memory.types import IdentifierArguments
from lamina.sync.loop import Twin, blocking


class SyncMemory(Twin[MemoryService]):
    """`app.memory`, blocking."""

    add = blocking(MemoryService.add)
    bulk_add = blocking(MemoryService.bulk_add)
    search = blocking(MemoryService.search)
    get = blocking(MemoryService.get)
    history = blocking(MemoryService.history)
    update = blocking(MemoryService.update)
    delete = blocking(MemoryService.delete)
    bulk_delete = blocking(MemoryService.bulk_delete)
    list = blocking(MemoryService.list)
    scope_names = blocking(MemoryService.scope_names)

    def for_tenant(self, tenant: str) -> "SyncMemory":
        """The same memory for another tenant."""
        return SyncMemory(self._inner.for_tenant(tenant), self._loop)

    def scoped(self, **identifiers: Unpack[IdentifierArguments]) -> "SyncMemory":
        """The same memory with identifiers filled in."""
        return SyncMemory(self._inner.scoped(**identifiers), self._loop)


class SyncHierarchy(Twin[Hierarchy]):
    """`app.hierarchy`, blocking."""

    set = blocking(Hierarchy.set)
    remove = blocking(Hierarchy.remove)
    all = blocking(Hierarchy.all)
