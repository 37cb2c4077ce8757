"""Answering HTTP: a socket that listens, and a server on it for as long as a block runs. Needs uvicorn."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from lamina.errors import ConfigurationError

try:
    import uvicorn
except ImportError as missing:
    raise ConfigurationError("Serving needs more packages: pip install 'lamina[server]'") from missing

_BACKLOG: Final = 2048
_KEPT_S: Final = 30
"""Seconds a connection without a request is kept."""


class _Server(uvicorn.Server):
    """A server that is told to stop by whoever runs it, and leaves signals alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.stopping.wait()


@contextlib.asynccontextmanager
async def answering(
    application: Any, listener: socket.socket, *, stop_deadline_s: float, websockets: bool = False
) -> AsyncIterator[None]:
    """Have an ASGI application answer on a socket while the block runs.

    At its end requests under way are finished, within the deadline. The application's own start and end are left to
    the caller.
    """
    config = uvicorn.Config(
        application,
        http=_connection(),
        timeout_keep_alive=_KEPT_S,
        log_config=None,
        log_level="critical",  # what it has to say of an answer that was cut off, we have said
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="websockets-sansio" if websockets else "none",
        timeout_graceful_shutdown=max(1, round(stop_deadline_s)),
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="lamina server")
    try:
        yield
    finally:
        server.stopping.set()
        await task


def _connection() -> Any:
    """What reads requests: uvicorn's quick one, bounded; without httptools the other, which bounds heads itself."""
    try:
        from lamina.endpoint.connection import BoundedConnection
    except ImportError:
        return "h11"
    return BoundedConnection


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on: whoever connects before the server looks is only kept waiting.

    Raises ConfigurationError for an address that is taken, or that is none of this machine's.
    """
    # The protocol is named because only then asyncio sends small pieces at once, without waiting for company.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}.",
            details={"next": "Choose another port with --port, or stop what uses it."},
        ) from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """The address that clients reach a socket at."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
