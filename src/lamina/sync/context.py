"""Context without `await`."""

from collections.abc import Iterable

from lamina.context.quarantine import Quarantine
from lamina.context.service import ContextService
from lamina.context.tools import Tool
from lamina.kernel.tokens import TokenCounter
from lamina.sync.loop import Twin, blocking


class SyncQuarantine(Twin[Quarantine]):
    """`app.context.quarantine`, blocking."""

    list = blocking(Quarantine.list)
    release = blocking(Quarantine.release)
    purge = blocking(Quarantine.purge)


class SyncContext(Twin[ContextService]):
    """`app.context`, blocking."""

    retrieve = blocking(ContextService.retrieve)
    assemble = blocking(ContextService.assemble)
    turn = blocking(ContextService.turn)
    list_receipts = blocking(ContextService.list_receipts)
    get_receipt = blocking(ContextService.get_receipt)
    store_receipt = blocking(ContextService.store_receipt)

    @property
    def quarantine(self) -> SyncQuarantine:
        """Texts held back from prompts."""
        return SyncQuarantine(self._inner.quarantine, self._loop)

    def with_tools(self, tools: Iterable[Tool]) -> "SyncContext":
        """The same context with these tools to offer."""
        return SyncContext(self._inner.with_tools(tools), self._loop)

    def for_tenant(self, tenant: str) -> "SyncContext":
        """The same context for another tenant."""
        return SyncContext(self._inner.for_tenant(tenant), self._loop)

    def with_counter(self, count: TokenCounter) -> "SyncContext":
        """The same context with another way to count tokens."""
        return SyncContext(self._inner.with_counter(count), self._loop)

    def with_memory_token_budget(self, budget: int) -> "SyncContext":
        """The same context with another budget for Conversation Memory."""
        return SyncContext(self._inner.with_memory_token_budget(budget), self._loop)
