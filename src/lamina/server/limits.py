"""What a request may cost: how many at once, how often, how large, how long. Each refusal is counted."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.access.settings import ServerSettings
from lamina.api.errors import refused
from lamina.errors import LaminaError, OperationTimeoutError, ProviderError, RateLimitedError, RequestTooLargeError
from lamina.kernel.clock import Clock, SystemClock
from lamina.observability.metrics import Metrics
from lamina.server.rate import Rate
from lamina.visitor import VISITOR

_OPERATION: Final = "http_request"
_MEGABYTE: Final = 1_000_000
_REMEMBERED: Final = 10_000
_ALWAYS: Final = ("/healthz", "/readyz")
_CREDENTIALS: Final = (b"authorization", b"x-api-key")


class Limits:
    """Turns away what is too much, before a door sees it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        metrics: Metrics,
        unmeasured: tuple[str, ...] = (),
        untimed: tuple[str, ...] = (),
        clock: Clock | None = None,
    ) -> None:
        """`unmeasured` and `untimed` are the beginnings of paths that may send as much or take as long as they like."""
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._unmeasured = unmeasured
        self._untimed = untimed
        self._rate = Rate(settings.rate_per_s, clock=clock or SystemClock())
        self._largest = settings.max_body_mb * _MEGABYTE
        self._in_flight = 0
        self._strangers = 0
        self._bearers: OrderedDict[int, str] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or turn it away."""
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
            return
        measured = not scope["path"].startswith(self._unmeasured)
        credentials = _credentials(scope)
        stranger = credentials not in self._bearers
        error = self._too_often(scope, credentials) or self._too_many(stranger=stranger)
        error = error or (self._too_large(scope) if measured else None)
        if error is not None:
            await self._turn_away(error, scope, receive, send)
            return
        self._in_flight += 1
        self._strangers += stranger
        try:
            await self._within_time(scope, self._measured(receive) if measured else receive, send)
        finally:
            self._in_flight -= 1
            self._strangers -= stranger
            self._remember(scope, credentials)

    def _too_often(self, scope: Scope, credentials: int | None) -> LaminaError | None:
        wait = self._rate.wait(self._caller(scope, credentials))
        if not wait:
            return None
        return RateLimitedError(
            f"At most {self._settings.rate_per_s:g} requests a second (server.rate_per_s).",
            details={"retry_after": round(wait, 3)},
        )

    def _too_many(self, *, stranger: bool) -> LaminaError | None:
        """Whether there is no room. Once somebody has come with a key, half of it is kept for those who have one."""
        most = self._settings.max_in_flight
        kept = most // 2 if stranger and self._bearers else 0
        if self._in_flight < most and self._strangers < most - kept:
            return None
        return ProviderError(
            f"{self._in_flight} requests are under way already (server.max_in_flight).",
            details={"reason": "busy", "retry_after": 1},
        )

    def _too_large(self, scope: Scope) -> LaminaError | None:
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._largest:
                return self._large()
        return None

    def _large(self) -> RequestTooLargeError:
        return RequestTooLargeError(
            f"A request has at most {self._settings.max_body_mb} MB (server.max_body_mb).",
            details={"max_mb": self._settings.max_body_mb, "next": "Send less at once, or use /v1/import."},
        )

    def _measured(self, receive: Receive) -> Receive:
        """The same body, until it turns out larger than a length it may not even have announced."""
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._largest:
                error = self._large()
                self._metrics.operation_failed(_OPERATION, error.code)
                raise _TooLargeError(error)
            return message

        return receiving

    async def _within_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run for so long until the answer begins; how long that may be is up to who made it."""
        untimed = scope["path"].startswith(self._untimed)
        try:
            async with asyncio.timeout(None if untimed else self._settings.request_timeout_s or None) as limit:

                async def sending(message: Message) -> None:
                    if limit.when() is not None:
                        limit.reschedule(None)
                    await send(message)

                await self._app(scope, receive, sending)
        except _TooLargeError as refusal:
            await refused(refusal.error)(scope, receive, send)
        except TimeoutError:
            if not limit.expired():
                raise
            error = OperationTimeoutError(
                f"It took more than {self._settings.request_timeout_s:g} seconds (server.request_timeout_s)."
            )
            await self._turn_away(error, scope, receive, send)

    async def _turn_away(self, error: LaminaError, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.operation_failed(_OPERATION, error.code)
        await refused(error)(scope, receive, send)

    def _caller(self, scope: Scope, credentials: int | None) -> Hashable:
        """Whose request it is: a key's that was good before, else the address's."""
        if credentials is not None and credentials in self._bearers:
            return self._bearers[credentials]
        client = scope.get("client")
        return client[0] if client else ""

    def _remember(self, scope: Scope, credentials: int | None) -> None:
        """Give whoever was let in with a key a count of its own; guessing keys stays on the guesser's."""
        visitor = scope.get(VISITOR)
        if credentials is None or visitor is None or visitor.grant.key_id is None:
            return
        self._bearers[credentials] = f"key:{visitor.grant.key_id}"
        self._bearers.move_to_end(credentials)
        if len(self._bearers) > _REMEMBERED:
            self._bearers.popitem(last=False)


class _TooLargeError(HTTPException):
    """A body that goes on too long; of this kind because that is the one which readers of bodies let pass."""

    def __init__(self, error: RequestTooLargeError) -> None:
        super().__init__(413, error.message)
        self.error = error


def _credentials(scope: Scope) -> int | None:
    """What tells the bearer of one key from another, and cannot be read back."""
    sent = tuple(value for name, value in scope["headers"] if name in _CREDENTIALS)
    return hash(sent) if sent else None
