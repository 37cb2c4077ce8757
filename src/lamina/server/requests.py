"""What every request gets: an id, a line in the log, a place in the metrics, headers that keep browsers careful.

It is also the last handler: a fault of ours is one request's, is logged, and tells the caller nothing of the inside.
"""

import itertools
import logging
import re
import secrets
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.access.secret import without_secrets
from lamina.api.errors import refused
from lamina.errors import LaminaError
from lamina.observability.logging import current_request
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.server")
_OPERATION: Final = "http_request"
_SANE: Final = re.compile(rb"[\x21-\x7e]{1,128}")
_NAME: Final = b"x-request-id"
_CAREFUL: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_UNSTORED: Final = ("cache-control", "no-store")


class Requests:
    """Stands around everything else."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._name = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id = _given_id(scope) or f"{self._name}-{next(self._numbers):x}"
        started, status = self._metrics.monotonic(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), id, scope["path"])
            await send(message)

        token = current_request.set(id)
        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # boundary: the server's last handler
            self._metrics.operation_failed(_OPERATION, type(error).__name__)
            _log.error("%s %s failed: %s", scope["method"], _path(scope), type(error).__name__, exc_info=error)
            if status:
                raise  # the answer had begun: the server cuts it off, so that nobody takes it for whole
            await refused(LaminaError("The service failed; its log says why."))(scope, receive, sending)
        finally:
            elapsed = (self._metrics.monotonic() - started) * 1000
            self._metrics.operation_finished(_OPERATION, "ok" if 0 < status < 500 else "error", elapsed)
            if _log.isEnabledFor(logging.INFO):
                _log.info("%s %s %d in %.1f ms", scope["method"], _path(scope), status, elapsed)
            current_request.reset(token)


def _path(scope: Scope) -> str:
    """The path as it may be logged: a key can be revoked by its secret, which is then in there."""
    return without_secrets(scope["path"])


def _given_id(scope: Scope) -> str | None:
    """The id that the caller gave the request, where it can be one."""
    for name, value in scope["headers"]:
        if name == _NAME and _SANE.fullmatch(value):
            return str(value, "ascii")
    return None


def _add_headers(headers: MutableHeaders, id: str, path: str) -> None:
    headers["x-request-id"] = id
    for name, value in _CAREFUL.items():
        headers.setdefault(name, value)
    if path.startswith("/v1/"):
        headers.setdefault(*_UNSTORED)
