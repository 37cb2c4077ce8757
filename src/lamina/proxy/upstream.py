"""The endpoint behind ours: one pool of connections, answers byte for byte, as they come.

Not for reading answers. No cookie is kept, no redirect followed and no request repeated: what the upstream says is the
client's to decide about. Neither errors nor logs show a key, or what was sent.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from lamina.endpoint.address import host_of
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.connections import Connections, httpcore2
from lamina.proxy.error import EndpointError
from lamina.proxy.headers import RawHeaders

_FAILURES: Final = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol, OSError)


GiveBack = Callable[[], Awaitable[None]]


class CutOffError(Exception):
    """The upstream's answer ended before its end."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class UpstreamAnswer:
    """An answer whose body is still to come; close it."""

    def __init__(self, response: httpcore2.Response, give_back: GiveBack, deadline: float | None) -> None:
        self._response = response
        self._give_back = give_back
        self._deadline = deadline
        self.status = response.status
        self.headers: RawHeaders = response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes, not decoded. Raises CutOffError when it breaks off or takes too long."""
        stream = self._response.aiter_stream()
        try:
            while True:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(stream, None)
                if piece is None:
                    return
                yield piece
        except (TimeoutError, httpcore2.TimeoutException):
            raise CutOffError("upstream_timeout") from None
        except _FAILURES:
            raise CutOffError("upstream_cut") from None

    async def aclose(self) -> None:
        """Let the connection go; what is still to come is not read, and the upstream learns of it."""
        try:
            await self._response.aclose()
        finally:
            await self._give_back()


class Upstream:
    """Asks the endpoint that the settings name."""

    def __init__(self, settings: ProxySettings) -> None:
        """Raises ConfigurationError when `proxy.upstream` is no address."""
        if not settings.upstream:
            raise ConfigurationError(
                "There is no upstream: name the endpoint that answers, such as https://api.openai.com/v1.",
                details={"name": "proxy.upstream", "next": "Name it with --upstream URL, or set proxy.upstream."},
            )
        self.host = host_of(settings.upstream)
        parts = urlsplit(settings.upstream)
        if parts.username is not None or parts.query or parts.fragment:
            raise ConfigurationError("The upstream's address must be without credentials, query and fragment.")
        self._origin = (parts.scheme.encode(), (parts.hostname or "").encode("idna"), parts.port)
        self._path = parts.path.rstrip("/").encode()
        self._authority = parts.netloc.encode("idna" if not parts.netloc.isascii() else "ascii")
        self._settings = settings
        idle = settings.idle_timeout_s
        self._timeouts = {"connect": settings.connect_timeout_s, "read": idle, "write": idle, "pool": idle}
        self._connections = Connections(
            httpcore2.URL(settings.upstream).origin,
            httpcore2.default_ssl_context() if parts.scheme == "https" else None,
        )

    async def ask(self, method: str, target: bytes, headers: RawHeaders, body: bytes) -> UpstreamAnswer:
        """Send a request to a path below the upstream's address; the answer as soon as its headers are there.

        Raises EndpointError when nobody answers.
        """
        scheme, host, port = self._origin
        url = httpcore2.URL(scheme=scheme, host=host, port=port, target=self._path + target)
        request = httpcore2.Request(
            method,
            url,
            headers=[(b"host", self._authority), *headers],
            content=body,
            extensions={"timeout": self._timeouts},
        )
        total = self._settings.total_timeout_s
        deadline = asyncio.get_running_loop().time() + total if total else None
        connection = await self._connections.take()
        give_back = partial(self._connections.give_back, connection)
        try:
            with self._translated():
                async with asyncio.timeout_at(deadline):
                    response = await connection.handle_async_request(request)
        except BaseException:  # boundary: whatever went wrong, the connection does not stay open
            await give_back()
            raise
        return UpstreamAnswer(response, give_back, deadline)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        where = f"The upstream at {self.host}"
        try:
            yield
        # No `from`: the package's exceptions hold the request.
        except httpcore2.ConnectTimeout:
            raise EndpointError(504, "upstream_timeout", f"{where} cannot be reached in time.") from None
        except (TimeoutError, httpcore2.TimeoutException):
            raise EndpointError(504, "upstream_timeout", f"{where} did not answer in time.") from None
        except httpcore2.ConnectError:
            raise EndpointError(502, "upstream_unreachable", f"{where} cannot be reached.") from None
        except _FAILURES:
            raise EndpointError(502, "upstream_failed", f"{where} broke off without an answer.") from None
