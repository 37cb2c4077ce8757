"""Connections to one place, kept for the next request.

The newest idle one is taken first, and only that one is looked at: a pool that looks through all of its connections for
every request costs more than everything else here when many clients ask at once.
"""

import ssl
from collections import deque
from typing import Final

from lamina.errors import ConfigurationError

try:
    import httpcore2 as httpcore2  # the one guarded import; others take it from here
except ImportError as missing:
    raise ConfigurationError("The endpoint needs more packages: pip install 'lamina[proxy]'") from missing

_IDLE: Final = 64
_KEPT_S: Final = 30.0


class Connections:
    """As many connections as there are requests at the same time, and a bounded number of idle ones."""

    def __init__(self, origin: httpcore2.Origin, ssl_context: ssl.SSLContext | None) -> None:
        self._origin = origin
        self._ssl_context = ssl_context
        self._idle: deque[httpcore2.AsyncHTTPConnection] = deque()

    async def take(self) -> httpcore2.AsyncHTTPConnection:
        """A connection for one request; give it back."""
        while self._idle:
            newest = self._idle.pop()
            if newest.is_idle() and not newest.has_expired():
                return newest
            await newest.aclose()
        return httpcore2.AsyncHTTPConnection(self._origin, ssl_context=self._ssl_context, keepalive_expiry=_KEPT_S)

    async def give_back(self, connection: httpcore2.AsyncHTTPConnection) -> None:
        """Keep a connection whose answer was read to its end; any other one is closed."""
        if not connection.is_idle():
            await connection.aclose()
            return
        self._idle.append(connection)
        if len(self._idle) > _IDLE:
            await self._idle.popleft().aclose()

    async def aclose(self) -> None:
        """Close those that are idle."""
        while self._idle:
            await self._idle.pop().aclose()
