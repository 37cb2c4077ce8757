"""The keys of a tenant: made, listed, revoked. A secret is shown when it is made, and stored nowhere."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self, Unpack

from lamina.access.keyring import Keyring
from lamina.access.rows import find_key, insert_key, list_keys, revoke_key
from lamina.access.secret import digest_of, id_in, new_secret
from lamina.access.types import Grant, Key, NewKey, Right
from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.schema import from_micros, to_micros
from lamina.errors import InvalidInputError, KeyNotFoundError, MissingIdentifierError
from lamina.kernel.checks import check_choice, check_moment, check_name, check_new_name
from lamina.kernel.clock import Clock
from lamina.knowledge.audit import AuditLog
from lamina.memory.types import IdentifierArguments, Identifiers
from lamina.memory.validate import check_identifiers, is_storable
from lamina.observability.metrics import Metrics

_LONGEST_SHOWN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyService:
    """The keys of one tenant; `verify` and `any` look at those of the whole store."""

    database: Database
    clock: Clock
    metrics: Metrics
    audit: AuditLog
    tenant: str
    ring: Keyring
    actor: str = "local"
    """Who is said to have done it in the audit log."""

    def for_tenant(self, tenant: str) -> Self:
        """The same for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    def acting_as(self, actor: str) -> Self:
        """The same with another name in the audit log; raises InvalidInputError for a blank one."""
        return replace(self, actor=check_name("actor", actor))

    async def create(
        self,
        name: str,
        *,
        right: Right | str = Right.WRITE,
        expires_at: datetime | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> NewKey:
        """Make a key, for the whole tenant or for whom the identifiers name. Its secret is in the answer alone.

        Raises InvalidInputError for a blank name, an unknown right and a moment that has passed, and
        MissingIdentifierError for a key of an agent or a session that names no user.
        """
        with self.metrics.measure("key_create"):
            now = from_micros(to_micros(self.clock.now()))
            id, secret = new_secret()
            key = Key(
                id=id,
                tenant=self.tenant,
                name=check_new_name("name", name, operation="key_create"),
                right=check_choice("right", right, Right, operation="key_create"),
                identifiers=_checked(identifiers),
                created_at=now,
                expires_at=_future(expires_at, now),
            )

            def write(link: Link) -> None:
                insert_key(link, key, digest_of(secret))
                bound = sorted(key.identifiers.to_dict())
                self._report(link, "key_create", key.id, {"right": key.right.value, "bound_to": bound})

            await self.database.write(write)
            self.ring.forget()
            return NewKey(key=key, secret=secret)

    async def list(self, *, revoked: bool = True) -> tuple[Key, ...]:
        """The tenant's keys, newest first; without `revoked` only those that were not."""
        keys = await self.database.read(lambda link: list_keys(link, self.tenant))
        return tuple(key for key in keys if revoked or key.revoked_at is None)

    async def get(self, id: str) -> Key:
        """One of the tenant's keys, by its id. Raises KeyNotFoundError."""
        sought = _sought(id)
        found = await self.database.read(lambda link: find_key(link, self.tenant, sought))
        if found is None:
            raise _missing(sought, "key_get")
        return found

    async def revoke(self, id: str) -> Key:
        """Take a key's rights away for good; its secret, if that is what is at hand, does as well as its id.

        This process refuses it at once, others within a second. Revoking again changes nothing. Raises
        KeyNotFoundError.
        """
        sought = _sought(id)

        def write(link: Link) -> Key | None:
            if revoke_key(link, self.tenant, sought, self.clock.now()):
                self._report(link, "key_revoke", sought, {})
            return find_key(link, self.tenant, sought)

        with self.metrics.measure("key_revoke"):
            revoked = await self.database.write(write)
            self.ring.forget()
            if revoked is None:
                raise _missing(sought, "key_revoke")
            return revoked

    async def verify(self, secret: str) -> Grant:
        """What the bearer of a secret may do, in any tenant. Raises UnauthorizedError."""
        return await self.ring.verify(secret)

    async def any(self) -> bool:
        """Whether anybody has a key that was not revoked; while nobody has, there is no need for one."""
        return await self.ring.any()

    def _report(self, link: Link, action: str, id: str, details: dict[str, object]) -> None:
        self.audit.add(link, tenant=self.tenant, action=action, actor=self.actor, target=id, details=details)


def _checked(given: IdentifierArguments) -> Identifiers:
    identifiers = check_identifiers(operation="key_create", **given)
    if identifiers.user_id is None and (identifiers.agent_id or identifiers.session_id):
        raise MissingIdentifierError(
            "A key for an agent or a session needs the user_id too: these are of one user.",
            operation="key_create",
            details={"missing": ["user_id"]},
        )
    return identifiers


def _future(given: datetime | None, now: datetime) -> datetime | None:
    moment = check_moment("expires_at", given, operation="key_create")
    if moment is not None and moment <= now:
        raise InvalidInputError(
            "expires_at has passed already; name a moment to come.",
            operation="key_create",
            details={"field": "expires_at"},
        )
    return moment


def _sought(id: str) -> str:
    """The id in question, also where the whole secret was given: an error must not repeat that."""
    return id_in(id) or (id if is_storable(id) else "")


def _missing(id: str, operation: str) -> KeyNotFoundError:
    return KeyNotFoundError(operation=operation, details={"id": id[:_LONGEST_SHOWN]})
