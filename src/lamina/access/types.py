"""The nouns of access: rights, keys, and the grant that a key is for its bearer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lamina.errors import ForbiddenError
from lamina.memory.types import Identifiers


class Right(StrEnum):
    """What a bearer may do. Each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Right") -> bool:
        """Whether who has this right has the other too."""
        order = tuple(Right)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a caller may do, and as whom. Without keys a caller of this machine has every right of one tenant."""

    tenant: str
    right: Right = Right.ADMIN
    identifiers: Identifiers = field(default_factory=Identifiers)
    """Whom the key is for; empty for a key of the whole tenant."""
    key_id: str | None = None

    @property
    def actor(self) -> str:
        """Who it is in the audit log."""
        return "local" if self.key_id is None else f"key:{self.key_id}"

    @property
    def bound(self) -> bool:
        """Whether it is for somebody in particular."""
        return bool(self.identifiers.to_dict())

    def require(self, right: Right, *, operation: str | None = None) -> None:
        """Raise ForbiddenError without this right."""
        if not self.right.includes(right):
            raise ForbiddenError(
                f"This key may {self.right}; {right} is needed.",
                operation=operation,
                details={"right": right.value, "has": self.right.value},
            )

    def require_unbound(self, *, operation: str | None = None) -> None:
        """Raise ForbiddenError for a key that is for somebody: what concerns the whole tenant is not theirs."""
        if self.bound:
            raise ForbiddenError(
                "This key is for one of the tenant's users, projects or teams; this concerns the whole tenant.",
                operation=operation,
                details={"bound_to": sorted(self.identifiers.to_dict())},
            )

    def narrowed(self, given: Mapping[str, str | None], *, operation: str | None = None) -> dict[str, str]:
        """The identifiers of a request: those given, and those the key is bound to.

        Raises ForbiddenError where a bound key is used for another. Sessions and what an agent knows of a user are the
        user's own, so whoever is bound to a user may name them.
        """
        mine = self.identifiers.to_dict()
        named = {name: value for name, value in given.items() if value is not None}
        free = {*mine, "agent_id", "session_id"} if "user_id" in mine else set(mine)
        for name, value in named.items() if mine else ():
            if name not in free or mine.get(name, value) != value:
                raise ForbiddenError(
                    f"This key is not for this {name}.", operation=operation, details={"identifier": name}
                )
        return {**named, **mine}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it can be shown: never its secret."""

    id: str
    tenant: str
    name: str
    right: Right
    identifiers: Identifiers
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    @property
    def grant(self) -> Grant:
        """What it allows."""
        return Grant(tenant=self.tenant, right=self.right, identifiers=self.identifiers, key_id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, with its secret, which is shown this once and stored nowhere."""

    key: Key
    secret: str
