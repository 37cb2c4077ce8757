"""The gate of the service: every door asks it who is there, and it answers with a grant or refuses.

While the store has a key, callers need one. While it has none, callers of this machine are let in with every right of
the configured tenant, and the service listens on nothing but loopback.
"""

from collections.abc import Mapping
from typing import Final

from lamina.access.keyring import Keyring
from lamina.access.loopback import foreign_part, is_this_machine
from lamina.access.secret import PREFIX
from lamina.access.service import KeyService
from lamina.access.settings import ServerSettings
from lamina.access.types import Grant
from lamina.errors import ConfigurationError, ForbiddenError, UnauthorizedError

_SCHEME: Final = "bearer "
_OPERATION: Final = "admit"
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class Gate:
    """Lets callers in. One for a service; every door has the same."""

    def __init__(self, keys: KeyService, settings: ServerSettings, tenant: str) -> None:
        """`tenant` is whose guests callers without keys are."""
        self._ring: Keyring = keys.ring
        self._metrics = keys.metrics
        self._settings = settings
        self._local = Grant(tenant=tenant)

    async def require_safe(self) -> None:
        """Raise ConfigurationError for a service that other machines reach while nobody needs a key for it."""
        if not is_this_machine(self._settings.host) and not await self._ring.any():
            raise ConfigurationError(
                f"Without keys the service listens on this machine only, not on {self._settings.host}.",
                details={"name": "server.host", "next": "Make a key with `lamina key create` first."},
            )

    async def is_open(self) -> bool:
        """Whether callers of this machine need no key."""
        return is_this_machine(self._settings.host) and not await self._ring.any()

    async def admit(
        self,
        *,
        authorization: str | None = None,
        api_key: str | None = None,
        host: str | None = None,
        origin: str | None = None,
        forwarded: bool = False,
    ) -> Grant:
        """What a caller with these headers may do; `forwarded` is whether a proxy sent the request on.

        Raises UnauthorizedError without a good key where one is needed, and ForbiddenError for a caller who has none
        and is not of this machine.
        """
        secret = presented(authorization=authorization, api_key=api_key)
        try:
            # A key that is sent is looked at in any case: a revoked one is refused even where none is needed.
            if secret is not None and (secret.startswith(PREFIX) or not await self.is_open()):
                return await self._ring.verify(secret)
            if not await self.is_open():
                raise UnauthorizedError(
                    "This service needs a key: send it as `Authorization: Bearer` or `X-API-Key`.",
                    operation=_OPERATION,
                )
            self._require_local(host, origin, forwarded)
        except (UnauthorizedError, ForbiddenError) as error:
            self._metrics.operation_failed(_OPERATION, error.code)
            raise
        return self._local

    async def admit_headers(self, headers: Mapping[str, str]) -> Grant:
        """`admit` with the headers of a request, under small names as Starlette has them."""
        return await self.admit(
            authorization=headers.get("authorization"),
            api_key=headers.get("x-api-key"),
            host=headers.get("host"),
            origin=headers.get("origin"),
            forwarded=any(name in headers for name in _FORWARDED),
        )

    def _require_local(self, host: str | None, origin: str | None, forwarded: bool) -> None:
        foreign = foreign_part(host=host, origin=None if origin in self._settings.cors_origins else origin)
        if foreign is None and not forwarded:
            return
        reason = {
            "host": "Without keys the service is called by this machine's own name only.",
            "origin": "Without keys the service answers no page of another place.",
            None: "Without keys the service answers nothing that a proxy sent on.",
        }[foreign]
        raise ForbiddenError(
            reason,
            operation=_OPERATION,
            details={"reason": foreign or "forwarded", "next": "Make a key with `lamina key create` and send it."},
        )


def presented(*, authorization: str | None, api_key: str | None) -> str | None:
    """The key that a caller sends, None for none.

    One in `X-API-Key` wins over a bearer that is no key of ours: that may be meant for a model behind us.
    """
    bearer = None
    if authorization is not None and authorization[: len(_SCHEME)].lower() == _SCHEME:
        bearer = authorization[len(_SCHEME) :].strip() or None
    if bearer is not None and (api_key is None or bearer.startswith(PREFIX)):
        return bearer
    return api_key
