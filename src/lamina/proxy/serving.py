"""Runs the endpoint with uvicorn: until it is told to stop, or for as long as a block runs."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lamina.app import App
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.access import require_safe
from lamina.proxy.proxy import Proxy
from lamina.proxy.upstream import Upstream

try:
    import uvicorn
except ImportError as missing:
    raise ConfigurationError("The endpoint needs more packages: pip install 'lamina[proxy]'") from missing

_BACKLOG: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An endpoint that listens."""

    proxy: Proxy
    host: str
    port: int

    @property
    def url(self) -> str:
        """The base address for clients."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/v1"


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
async def serving(
    app: App, *, settings: ProxySettings | None = None, environ: Mapping[str, str] | None = None, **changes: Any
) -> AsyncIterator[Running]:
    """The endpoint of an open app, on the app's own loop, while the block runs.

    `changes` are settings of the section `proxy`, such as `upstream="http://localhost:11434/v1"` or `port=0`. Raises
    ConfigurationError for settings that cannot work and a port that is taken.
    """
    chosen = checked(settings or app.settings.proxy, **changes)
    async with Proxy(app, chosen, environ=environ) as proxy:
        with _listening(chosen) as listener:
            server = _Server(_config(proxy, chosen))
            task = asyncio.create_task(server.serve(sockets=[listener]), name="lamina endpoint")
            try:
                yield Running(proxy=proxy, host=chosen.host, port=listener.getsockname()[1])
            finally:
                server.stopping.set()
                await task


def checked(settings: ProxySettings, **changes: Any) -> ProxySettings:
    """The settings with some of them changed. Raises ConfigurationError for what cannot work, before anything opens."""
    try:
        chosen = replace(settings, **changes)
    except ValueError as error:
        raise ConfigurationError(f"proxy: {error}", details={"name": "proxy"}) from None
    require_safe(chosen)
    Upstream(chosen)
    return chosen


def _config(proxy: Proxy, settings: ProxySettings) -> uvicorn.Config:
    return uvicorn.Config(
        proxy,
        log_config=None,
        log_level="critical",  # what it has to say of an answer that was cut off, we have said
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=max(1, round(settings.stop_deadline_s)),
    )


def _listening(settings: ProxySettings) -> socket.socket:
    """A socket that takes connections from now on: whoever connects before the server looks is only kept waiting."""
    # The protocol is named because only then asyncio sends small pieces at once, without waiting for company.
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"Cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}.",
            details={"next": "Choose another port with --port, or stop what uses it."},
        ) from None
    listener.setblocking(False)
    return listener
