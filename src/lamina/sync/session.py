"""Conversations without `await`."""

from lamina.kernel.tokens import TokenCounter
from lamina.session.service import SessionService
from lamina.sync.loop import Twin, blocking


class SyncSessions(Twin[SessionService]):
    """`app.sessions`, blocking."""

    append = blocking(SessionService.append)
    append_many = blocking(SessionService.append_many)
    messages = blocking(SessionService.messages)
    recent = blocking(SessionService.recent)
    recall = blocking(SessionService.recall)
    compact_messages = blocking(SessionService.compact_messages)
    get = blocking(SessionService.get)
    list = blocking(SessionService.list)
    delete = blocking(SessionService.delete)

    def for_tenant(self, tenant: str) -> "SyncSessions":
        """The same conversations for another tenant."""
        return SyncSessions(self._inner.for_tenant(tenant), self._loop)

    def counting_with(self, count: TokenCounter) -> "SyncSessions":
        """The same conversations with another token counter."""
        return SyncSessions(self._inner.counting_with(count), self._loop)
