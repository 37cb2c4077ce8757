"""Whom a connection speaks for. Identifiers come from here and never from the model that calls a tool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from lamina.access.types import Right
from lamina.memory.types import IdentifierArguments, MemoryLayer
from lamina.memory.validate import check_identifiers
from lamina.session.reading import session_not_found
from lamina.session.types import Session
from lamina.visitor import Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A caller and the identifiers its connection was opened with."""

    visitor: Visitor
    identifiers: IdentifierArguments

    async def session(self, key: str) -> Session:
        """A conversation within reach: of the connection's user where it names one. Raises SessionNotFoundError."""
        found = await self.visitor.session(key)
        if not self._owns(found):
            raise session_not_found(key)
        return found

    async def current_session(self) -> str | None:
        """The conversation the connection names, whether or not anything was said in it yet; None where it names none.

        Raises SessionNotFoundError for somebody else's.
        """
        key = self.identifiers.get("session_id")
        found = None if key is None else await self.visitor.conversation(key)
        if found is not None and not self._owns(found):
            raise session_not_found(found.key)
        return key

    def require_own(self, layer: MemoryLayer | str, *, operation: str) -> None:
        """Raise ForbiddenError where a bound key would change memories that it only may read, such as its company's."""
        self.visitor.require_own(layer, cast(Mapping[str, str], self.identifiers), operation=operation)

    def may(self, right: Right, *, shared: bool) -> bool:
        """Whether the key has a right; `shared` for what concerns the whole tenant."""
        grant = self.visitor.grant
        return grant.right.includes(right) and not (shared and grant.bound)

    def _owns(self, session: Session) -> bool:
        return self.identifiers.get("user_id") in (None, session.user_id)


def connect(visitor: Visitor, given: IdentifierArguments) -> Connection:
    """A connection for a caller who gave these identifiers. Raises InvalidInputError, ForbiddenError."""
    named = visitor.identifiers(check_identifiers(**given).to_dict())
    return Connection(visitor=visitor, identifiers=cast(IdentifierArguments, named))
