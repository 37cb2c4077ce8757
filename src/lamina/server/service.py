"""The service as one ASGI application: which path leads to which door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lamina import __version__
from lamina.access.gate import Gate
from lamina.app import App
from lamina.errors import ConfigurationError
from lamina.server import health

try:
    from fastapi import FastAPI
    from fastapi.routing import APIRoute

    from lamina.api.errors import handle_errors
    from lamina.api.routes import api_router
except ImportError as missing:
    raise ConfigurationError("The service needs more packages: pip install 'lamina[server]'") from missing


def create_service(app: App) -> FastAPI:
    """The service of an open app. Its start and end are its lifespan, which `serving` runs."""
    service = FastAPI(
        title="Lamina",
        version=__version__,
        description="The memory and context layer for LLM agents.",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    service.state.lamina = app
    service.state.gate = Gate(app.keys, app.settings.server, app.settings.memory.tenant)
    handle_errors(service)
    service.include_router(health.router)
    service.include_router(api_router())
    return service


def _operation_id(route: APIRoute) -> str:
    """The name of the route's function: it stays when paths move."""
    return route.name


@asynccontextmanager
async def _lifespan(service: FastAPI) -> AsyncIterator[None]:
    yield
