"""What stands before the page: who may not see it is sent to log in, and a browser is told what it may load."""

from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.errors import LaminaError, UnauthorizedError
from lamina.page.door import COOKIE, SCOPE, Door

_FILES: Final = ("/_page/", "/_nicegui/")
_WAYS: Final = frozenset({"/login", "/logout", "/favicon.ico"})
"""With the files, what nobody needs to be known for."""
_SOCKET: Final = "/_nicegui_ws/"

HEADERS: Final = {
    # Vue compiles templates in the browser, so scripts may be inline; where anything comes from is fixed all the same.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Wall:
    """Lets those in who may see the page. Paths that are no page are not found, whoever asks."""

    def __init__(self, stage: ASGIApp, door: Door, pages: frozenset[str]) -> None:
        self._stage = stage
        self._door = door
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket of the page."""
        connection = HTTPConnection(scope)
        path = scope["path"]
        is_open = path.startswith(_FILES) or path in _WAYS
        if not is_open and not path.startswith(_SOCKET) and path not in self._pages:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            raise HTTPException(404)
        scope[SCOPE] = self._door
        if not is_open:
            try:
                await self._door.grant(connection.cookies.get(COOKIE), headers=connection.headers)
            except LaminaError as error:
                await _refuse(error, connection, receive, send)
                return
        await self._stage(scope, receive, _with_headers(send))


async def _refuse(error: LaminaError, connection: HTTPConnection, receive: Receive, send: Send) -> None:
    """Send a person to the login, close a socket, and leave every other answer to the service."""
    scope = connection.scope
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": error.code})
    elif isinstance(error, UnauthorizedError) and not scope["path"].startswith(_SOCKET):
        wanted = f"{scope['path']}?{connection.url.query}".rstrip("?")
        await RedirectResponse(f"/login?{urlencode({'next': wanted})}", status_code=303)(scope, receive, send)
    else:
        raise error


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending
