"""The graph without `await`."""

from lamina.graph.service import GraphService
from lamina.sync.loop import Twin, blocking


class SyncGraph(Twin[GraphService]):
    """`app.graph`, blocking."""

    add = blocking(GraphService.add)
    end = blocking(GraphService.end)
    find = blocking(GraphService.find)
    entity = blocking(GraphService.entity)
    neighbours = blocking(GraphService.neighbours)
    traverse = blocking(GraphService.traverse)
    path = blocking(GraphService.path)
    expand = blocking(GraphService.expand)
    remove = blocking(GraphService.remove)
    remove_source = blocking(GraphService.remove_source)
    alias = blocking(GraphService.alias)
    unalias = blocking(GraphService.unalias)
    backfill = blocking(GraphService.backfill)
    settled = blocking(GraphService.settled)

    def for_tenant(self, tenant: str) -> "SyncGraph":
        """The same graph for another tenant."""
        return SyncGraph(self._inner.for_tenant(tenant), self._loop)
