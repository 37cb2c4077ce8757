"""Keys without `await`."""

from lamina.access.service import KeyService
from lamina.sync.loop import Twin, blocking


class SyncKeys(Twin[KeyService]):
    """`app.keys`, blocking."""

    create = blocking(KeyService.create)
    list = blocking(KeyService.list)
    get = blocking(KeyService.get)
    revoke = blocking(KeyService.revoke)
    verify = blocking(KeyService.verify)
    any = blocking(KeyService.any)

    def for_tenant(self, tenant: str) -> "SyncKeys":
        """The keys of another tenant."""
        return SyncKeys(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncKeys":
        """The same keys with another name in the audit log."""
        return SyncKeys(self._inner.acting_as(actor), self._loop)
