"""A connection that asks in time: uvicorn's own, with a bound on what comes before a request's body.

uvicorn bounds neither how large the head of a request is nor how long a client takes to send it; without a server in
front of ours, whoever sends heads without end would take all memory or all connections.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD: Final = 65_536
"""Bytes of a request's line and headers at most."""
LONGEST_HEAD_S: Final = 30.0
"""Seconds a client may take for them."""


class BoundedConnection(HttpToolsProtocol):
    """Closes on a client whose head has no end."""

    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def on_message_begin(self) -> None:
        """Expect the rest of a head."""
        super().on_message_begin()
        if self._deadline is None:
            self._expect()

    def data_received(self, data: bytes) -> None:
        """Read, unless a head is too long."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._head_bytes > LARGEST_HEAD:
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._expected()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._expected()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._head_bytes = 0
        self._deadline = self.loop.call_later(LONGEST_HEAD_S, self.transport.close)

    def _expected(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
