"""A caller at one of the doors: a tenant's rooms, and what the caller's key allows there."""

from collections.abc import Mapping
from dataclasses import dataclass

from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.errors import SessionNotFoundError
from lamina.house.tenant import Tenant
from lamina.session.types import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who calls. Every door makes one for each request and does nothing past it."""

    rooms: Tenant
    grant: Grant

    def require(self, right: Right, *, operation: str | None = None) -> None:
        """Raise ForbiddenError without this right."""
        self.grant.require(right, operation=operation)

    def require_unbound(self, right: Right, *, operation: str | None = None) -> None:
        """Raise ForbiddenError without this right, and for a key that is not for the whole tenant."""
        self.grant.require(right, operation=operation)
        self.grant.require_unbound(operation=operation)

    def identifiers(self, given: Mapping[str, str | None], *, operation: str | None = None) -> dict[str, str]:
        """The identifiers of a request, within what the key allows. Raises ForbiddenError."""
        return self.grant.narrowed(given, operation=operation)

    def owns(self, session: Session) -> bool:
        """Whether a conversation is within reach: every one of the tenant, or the bound user's own."""
        mine = self.grant.identifiers
        if mine.session_id is not None and mine.session_id != session.key:
            return False
        return not self.grant.bound or (mine.user_id is not None and session.user_id == mine.user_id)

    async def session(self, key: str) -> Session:
        """A conversation within reach. Raises SessionNotFoundError: whoever must not see it does not learn of it."""
        found = await self.rooms.sessions.get(key)
        if not self.owns(found):
            raise SessionNotFoundError(details={"session_key": key})
        return found


def visit(app: App, grant: Grant) -> Visitor:
    """A caller with this grant, in an open app."""
    return Visitor(rooms=app.for_tenant(grant.tenant), grant=grant)
