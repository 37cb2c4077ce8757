"""Runs the service with uvicorn for as long as a block runs."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from fastapi import FastAPI

from lamina.access.settings import ServerSettings
from lamina.app import App
from lamina.endpoint.listening import address_of, answering, listening
from lamina.errors import ConfigurationError
from lamina.server.service import create_service, gate_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that listens."""

    service: FastAPI
    url: str
    open: bool
    """Whether no key is needed, because there is none."""


@contextlib.asynccontextmanager
async def serving(app: App) -> AsyncIterator[Running]:
    """The service of an open app, on the app's own loop, while the block runs; the section `server` says where.

    Raises ConfigurationError for a port that is taken, and for an address that other machines reach while there is
    no key.
    """
    settings = app.settings.server
    gate = gate_of(app)
    await gate.require_safe()
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(listening(settings.host, settings.port))
        service = create_service(app, gate)
        await stack.enter_async_context(service.router.lifespan_context(service))
        await stack.enter_async_context(
            answering(service, listener, stop_deadline_s=settings.stop_deadline_s, websockets=settings.page)
        )
        yield Running(service=service, url=address_of(listener, settings.host), open=await gate.is_open())


def checked(settings: ServerSettings, **changes: Any) -> ServerSettings:
    """The settings with some of them changed. Raises ConfigurationError for what cannot work, before anything opens."""
    try:
        return replace(settings, **changes)
    except ValueError as error:
        raise ConfigurationError(f"server: {error}", details={"name": "server"}) from None
