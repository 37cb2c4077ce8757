"""Runs the endpoint with uvicorn: until it is told to stop, or for as long as a block runs."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lamina.app import App
from lamina.endpoint.listening import address_of, answering, listening
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.access import require_safe
from lamina.proxy.proxy import Proxy
from lamina.proxy.upstream import Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An endpoint that listens."""

    proxy: Proxy
    url: str
    """The base address for clients."""


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
        with listening(chosen.host, chosen.port) as listener:
            async with answering(proxy, listener, stop_deadline_s=chosen.stop_deadline_s):
                yield Running(proxy=proxy, url=f"{address_of(listener, chosen.host)}/v1")


def checked(settings: ProxySettings, **changes: Any) -> ProxySettings:
    """The settings with some of them changed. Raises ConfigurationError for what cannot work, before anything opens."""
    try:
        chosen = replace(settings, **changes)
    except ValueError as error:
        raise ConfigurationError(f"proxy: {error}", details={"name": "proxy"}) from None
    require_safe(chosen)
    Upstream(chosen)
    return chosen
