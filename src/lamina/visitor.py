"""A caller at one of the doors: a tenant's rooms, and what the caller's key allows there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.errors import ForbiddenError, SessionNotFoundError
from lamina.house.tenant import Tenant
from lamina.memory.types import MemoryLayer
from lamina.session.reading import session_not_found
from lamina.session.types import Session, SessionRemoval

VISITOR: Final = "lamina.visitor"
"""Where the scope of a request keeps who was let in."""


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

    def require_own(
        self, layer: MemoryLayer | str, identifiers: Mapping[str, str], *, operation: str | None = None
    ) -> None:
        """Raise ForbiddenError where a bound key would change memories that it only may read, such as its company's.

        `identifiers` are those of the request, as `identifiers` gave them.
        """
        wanted = MemoryLayer.parse(layer, operation=operation)
        if self.grant.bound and not set(wanted.required) <= set(identifiers):
            raise ForbiddenError(
                f"This key may not change memories of the {wanted} layer.",
                operation=operation,
                details={"layer": wanted.value, "bound_to": sorted(self.grant.identifiers.to_dict())},
            )

    def owns(self, session: Session) -> bool:
        """Whether a conversation is within reach: every one of the tenant, or the bound user's own."""
        mine = self.grant.identifiers
        if mine.session_id is not None and mine.session_id != session.key:
            return False
        return not self.grant.bound or (mine.user_id is not None and session.user_id == mine.user_id)

    async def session(self, key: str) -> Session:
        """A conversation within reach. Raises SessionNotFoundError: whoever must not see it does not learn of it."""
        return self._own(await self.rooms.sessions.get(key))

    async def delete_session(self, key: str) -> SessionRemoval:
        """Delete a conversation within reach; what others keep under its name stays where the key is for somebody.

        Raises SessionNotFoundError.
        """
        await self.session(key)
        return await self.rooms.sessions.delete(key, actor=self.grant.actor, only_of=self.grant.identifiers.user_id)

    def user(self, given: str | None = None, *, operation: str | None = None) -> str | None:
        """The user whose conversations are meant: the one given, or the one the key is for.

        Raises ForbiddenError for another user, and for a key that is for somebody but no user.
        """
        found = self.identifiers({"user_id": given}, operation=operation).get("user_id")
        if self.grant.bound and found is None:
            raise ForbiddenError(
                "This key is for no user; conversations belong to users.",
                operation=operation,
                details={"bound_to": sorted(self.grant.identifiers.to_dict())},
            )
        return found

    async def conversation(self, key: str) -> Session | None:
        """Like `session`, but None for one that the caller may begin. Raises SessionNotFoundError, ForbiddenError."""
        self.user()
        try:
            found = await self.rooms.sessions.get(key)
        except SessionNotFoundError:
            if self.grant.identifiers.session_id not in (None, key):
                raise
            return None
        return self._own(found)

    def _own(self, found: Session) -> Session:
        if self.owns(found):
            return found
        error = session_not_found(found.key)  # word for word what is said of one that is not there
        error.operation = "session_get"
        raise error


def visit(app: App, grant: Grant) -> Visitor:
    """A caller with this grant, in an open app."""
    return Visitor(rooms=app.for_tenant(grant.tenant), grant=grant)
