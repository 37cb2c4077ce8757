"""MCP over streamable HTTP: an ASGI application for one path, which the service gives a place.

Every request stands on its own: it brings its key and is let in by the gate, whatever was let in before it. There are
no sessions of the transport, so there is none that another key could use, and any of several servers can answer.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from mcp import types
from mcp.server import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lamina.access.gate import Gate
from lamina.app import App
from lamina.errors import LaminaError
from lamina.mcp.connection import Connection, connect
from lamina.mcp.names import HEADERS
from lamina.mcp.refusal import protocol_error
from lamina.mcp.service import create_server
from lamina.memory.types import IdentifierArguments
from lamina.visitor import VISITOR, visit

_CONNECTION: Final = "lamina.connection"
_STATUS: Final[Mapping[str, int]] = {"UNAUTHORIZED": 401, "FORBIDDEN": 403, "INVALID_INPUT": 400}


class McpApp:
    """The ASGI application. It answers while `running` is entered."""

    def __init__(self, app: App, gate: Gate) -> None:
        self._app = app
        self._gate = gate
        self._manager = StreamableHTTPSessionManager(
            create_server(app, _connection_of),
            stateless=True,
            max_request_body_size=app.settings.server.max_body_mb * 1024 * 1024,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer while the block runs; what is under way at its end is cancelled. To be entered once."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in and answer it, or refuse it with an error of the protocol that carries the house's."""
        try:
            connection = await self._admitted(Headers(scope=scope))
        except LaminaError as error:
            await _refused(error)(scope, receive, send)
            return
        scope[VISITOR] = connection.visitor  # what stands before all doors counts each key's requests
        await self._manager.handle_request({**scope, _CONNECTION: connection}, receive, send)

    async def _admitted(self, headers: Headers) -> Connection:
        visitor = visit(self._app, await self._gate.admit_headers(headers))
        named = {name: _text(headers.get(header)) for name, header in HEADERS.items()}
        return connect(visitor, cast(IdentifierArguments, named))


def mcp_app(app: App, gate: Gate) -> McpApp:
    """MCP on an open app, for POST to /mcp, with `running` in the lifespan. There is nothing to GET or to DELETE."""
    return McpApp(app, gate)


def _connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    assert ctx.request is not None
    connection: Connection = ctx.request.scope[_CONNECTION]
    return connection


def _text(value: str | None) -> str | None:
    """A header's value; clients send names outside of Latin-1 in UTF-8."""
    try:
        return value.encode("latin-1").decode() if value else None
    except UnicodeDecodeError:
        return value


def _refused(error: LaminaError) -> Response:
    status = _STATUS.get(error.code, 503 if error.retryable else 500)
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    refusal = types.JSONRPCError(jsonrpc="2.0", id=None, error=protocol_error(error))
    body = refusal.model_dump_json(by_alias=True)
    return Response(body, status_code=status, headers=headers, media_type="application/json")
