"""The service as one ASGI application: which path leads to which door, and what stands before all of them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from lamina import __version__
from lamina.access.gate import Gate
from lamina.app import App
from lamina.errors import ConfigurationError

try:
    from fastapi import FastAPI
    from starlette.middleware.cors import CORSMiddleware
    from starlette.routing import Route

    from lamina.api.errors import handle_errors
    from lamina.api.idempotent import Idempotent
    from lamina.api.routes import api_routes
    from lamina.mcp.names import HEADERS
    from lamina.proxy.proxy import Proxy
    from lamina.server import health
    from lamina.server.documentation import DESCRIPTION, documentation
    from lamina.server.limits import Limits
    from lamina.server.requests import Requests
except ModuleNotFoundError as missing:
    if str(missing.name).partition(".")[0] == "lamina":
        raise
    raise ConfigurationError("The service needs more packages: pip install 'lamina[server]'") from missing

if TYPE_CHECKING:
    from lamina.mcp.http import McpApp

_OPENAI: Final = ("/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/embeddings")
_IMPORT: Final = "/v1/import"
_MCP: Final = "/mcp"


def gate_of(app: App) -> Gate:
    """What lets callers in, for every door of an open app."""
    return Gate(app.keys, app.settings.server, app.settings.memory.tenant)


def create_service(app: App, gate: Gate | None = None) -> FastAPI:
    """The service of an open app. Its start and end are its lifespan, which `serving` runs.

    Raises ConfigurationError for settings of the endpoint that cannot work, and for packages that are missing.
    """
    settings = app.settings.server
    gate = gate or gate_of(app)
    proxy = Proxy(app, gate=gate)
    mcp = _mcp(app, gate) if settings.mcp else None

    @asynccontextmanager
    async def lifespan(service: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(proxy)
            if mcp is not None:
                await stack.enter_async_context(mcp.running())
            yield

    service = FastAPI(
        title="Lamina",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    service.state.lamina = app
    service.state.gate = gate
    handle_errors(service)
    service.router.routes += [*health.router.routes, *api_routes(), *documentation(service), *_endpoint(proxy)]
    if mcp is not None:
        service.router.routes.append(Route(_MCP, mcp, methods=["POST"], include_in_schema=False))
    if settings.page:
        from lamina.page.mount import mount_page

        mount_page(service, app, gate)  # last: it takes every path that is left
    _stand_before(service, app)
    return service


def _endpoint(proxy: Proxy) -> list[Route]:
    """The paths that clients of OpenAI's protocol use, and what lies below them."""
    paths = [path for beginning in _OPENAI for path in (beginning, f"{beginning}/{{rest:path}}")]
    return [Route(path, proxy, include_in_schema=False) for path in paths]


def _mcp(app: App, gate: Gate) -> "McpApp":
    from lamina.mcp.http import mcp_app

    return mcp_app(app, gate)


def _stand_before(service: FastAPI, app: App) -> None:
    """What a request meets before any door; the one that is added last is met first."""
    settings = app.settings.server
    service.add_middleware(Idempotent)
    service.add_middleware(
        Limits,
        settings=settings,
        metrics=app.metrics,
        unmeasured=(*_OPENAI, _IMPORT),  # the endpoint has limits of its own, and an import is a stream
        untimed=(*_OPENAI, _IMPORT, _MCP),
    )
    if settings.cors_origins:
        service.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                *("authorization", "content-type", "idempotency-key", "x-api-key", "x-request-id"),
                *("mcp-protocol-version", *HEADERS.values()),
            ],
            expose_headers=["idempotency-replayed", "retry-after", "x-request-id"],
        )
    service.add_middleware(Requests, metrics=app.metrics)
