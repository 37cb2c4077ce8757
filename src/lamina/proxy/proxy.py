"""The endpoint as an ASGI app: which path leads where. Everything below /v1 reaches the upstream in the end."""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from lamina.access.gate import Gate
from lamina.access.secret import PREFIX
from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError, LaminaError
from lamina.observability.prometheus import CONTENT_TYPE, render_prometheus
from lamina.proxy.access import check_access, key_from, require_safe
from lamina.proxy.chat import ChatForm
from lamina.proxy.embeddings import embeddings
from lamina.proxy.error import EndpointError, error_answer
from lamina.proxy.form import Form
from lamina.proxy.headers import to_upstream, without_keys
from lamina.proxy.relay import Event, Outgoing, Receive, Relay, Send
from lamina.proxy.responses import ResponsesForm
from lamina.proxy.turn import Turns, read_body
from lamina.proxy.upstream import Upstream
from lamina.visitor import VISITOR, Visitor, visit

try:
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ImportError as missing:
    raise ConfigurationError("The endpoint needs more packages: pip install 'lamina[proxy]'") from missing

_log = logging.getLogger("lamina.proxy")
_PREFIX: Final = b"/v1"
_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
_EMBEDDINGS: Final = "/v1/embeddings"
_MODELS: Final = re.compile(r"/v1/models(/|$)")
_MEGABYTE: Final = 1_000_000
Answer = Response | Relay
Handler = Callable[[Request, bytes], Awaitable[Answer]]


class Proxy:
    """The endpoint of an open app; close it before the app. It is an ASGI app itself."""

    def __init__(
        self,
        app: App,
        settings: ProxySettings | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Answer for `app`, with its own `proxy` settings unless others are given.

        As a part of the service it has the service's `gate` before it, serves whichever tenant a key is for, and may be
        without an upstream: then it says so to whoever asks. Raises ConfigurationError for an upstream or a key that
        cannot work, and, where it stands alone, for an endpoint that other machines reach without a key.
        """
        self.app = app
        self.settings = settings or app.settings.proxy
        self._gate = gate
        if gate is None:
            require_safe(self.settings)
        variables = os.environ if environ is None else environ
        self._upstream_key = key_from(self.settings.upstream_key_env, variables)
        self._access_key = key_from(self.settings.access_key_env, variables)
        self._upstream = Upstream(self.settings) if gate is None or self.settings.upstream else None
        self._turns: dict[str, Turns] = {}
        self._starlette = Starlette(
            routes=[
                Route("/healthz", self._health, methods=["GET"]),
                Route("/metrics", self._guarded(self._metrics), methods=["GET"]),
                Route("/v1/chat/completions", self._guarded(self._turn(ChatForm())), methods=["POST"]),
                Route("/v1/responses", self._guarded(self._turn(ResponsesForm())), methods=["POST"]),
                Route(_EMBEDDINGS, self._guarded(self._embeddings), methods=["POST"]),
                Route("/v1/{path:path}", self._guarded(self._passed), methods=_METHODS),
            ],
            exception_handlers={404: _unknown_path, Exception: self._unexpected},
        )

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._starlette(scope, receive, send)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def settle(self) -> None:
        """Wait until what was said so far is stored."""
        for turns in self._turns.values():
            await turns.recorder.settle()

    async def close(self) -> None:
        """Store what was said, within the deadline, and close the connections to the upstream; idempotent."""
        deadline = self.settings.stop_deadline_s
        await asyncio.gather(*(turns.recorder.settle(deadline) for turns in self._turns.values()))
        if self._upstream is not None:
            await self._upstream.aclose()

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Answer]]:
        """A route behind the door: access, the size of the body, and errors in the protocol's own form."""

        async def handle(request: Request) -> Answer:
            try:
                await self._admit(request)
                return await handler(request, await self._body(request))
            except EndpointError as problem:
                return _refused(problem)
            except LaminaError as error:
                return _refused(error_answer(error))
            except ClientDisconnect:
                return Response(status_code=499)

        return handle

    async def _admit(self, request: Request) -> None:
        """Let a request in, and remember who it is from. Raises EndpointError, UnauthorizedError, ForbiddenError."""
        if self._gate is None:
            check_access(request.headers.raw, key=self._access_key)
            grant = Grant(tenant=self.app.settings.memory.tenant)
        else:
            grant = await self._gate.admit_headers(request.headers)
        request.scope[VISITOR] = visit(self.app, grant)

    async def _body(self, request: Request) -> bytes:
        most = self.settings.max_body_mb * _MEGABYTE
        pieces, size = [], 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise EndpointError(
                    413, "request_too_large", f"A request has at most {self.settings.max_body_mb} MB (max_body_mb)."
                )
            pieces.append(piece)
        return b"".join(pieces)

    def _turn(self, form: Form) -> Handler:
        """A path that carries conversations."""

        async def turn(request: Request, body: bytes) -> Relay:
            visitor = _visitor(request, Right.WRITE)

            async def prepare() -> Outgoing:
                prepared = await self._turns_of(visitor).prepare(form, visitor, request.headers.raw, body)
                outgoing = self._outgoing(request, prepared.body)
                return replace(outgoing, added=prepared.added, listener=prepared.listener)

            return Relay(self._asked(), self.app.metrics, prepare)

        return turn

    def _turns_of(self, visitor: Visitor) -> Turns:
        rooms = visitor.rooms
        if rooms.name not in self._turns:
            self._turns[rooms.name] = Turns(self.app, rooms, self.settings)
        return self._turns[rooms.name]

    def _asked(self) -> Upstream:
        """Whom we ask. Raises EndpointError without an upstream."""
        if self._upstream is None:
            raise EndpointError(
                503,
                "no_upstream",
                "There is no model behind this endpoint: set proxy.upstream to the address of one, in lamina.toml or "
                "as LAMINA_PROXY__UPSTREAM.",
            )
        return self._upstream

    async def _embeddings(self, request: Request, body: bytes) -> Answer:
        _visitor(request, Right.READ)
        if self.settings.embeddings == "upstream":
            return await self._passed(request, body)
        with self.app.metrics.measure("proxy_embeddings"):
            return JSONResponse(await embeddings(self.app.parts.embedder, read_body(body) or {}))

    async def _passed(self, request: Request, body: bytes) -> Relay:
        """Pass a request on as it is."""
        self._refuse_shared(_visitor(request, Right.WRITE), request)

        async def prepare() -> Outgoing:
            return self._outgoing(request, body)

        return Relay(self._asked(), self.app.metrics, prepare)

    def _refuse_shared(self, visitor: Visitor, request: Request) -> None:
        """Whoever has a key of ours and asks with our account must not reach what others have stored under it."""
        harmless = request.url.path == _EMBEDDINGS or (request.method == "GET" and _MODELS.match(request.url.path))
        if visitor.grant.key_id is not None and self._upstream_key is not None and not harmless:
            raise EndpointError(
                403, "shared_account", "This would reach what others keep at the upstream: its account is shared."
            )

    def _outgoing(self, request: Request, body: bytes) -> Outgoing:
        came = request.headers.raw
        return Outgoing(
            method=request.method,
            target=_target(request),
            headers=to_upstream(
                came if self._gate is None else without_keys(came, prefix=PREFIX),
                length=len(body),
                key=self._upstream_key,
                keep_key=self._access_key is None,
            ),
            body=body,
        )

    async def _unexpected(self, request: Request, error: Exception) -> Response:
        """The last handler: a fault of ours is one request's, and says nothing about what was sent."""
        self.app.metrics.operation_failed("proxy_request", type(error).__name__)
        _log.error("a request failed: %s", type(error).__name__, exc_info=error)
        return _refused(EndpointError(500, "internal_error", "The endpoint failed; its log says why."))

    async def _health(self, request: Request) -> Response:
        health = await self.app.parts.provider.health_check()
        return JSONResponse({"status": health.status}, status_code=200 if health.status == "healthy" else 503)

    async def _metrics(self, request: Request, body: bytes) -> Response:
        return Response(render_prometheus(self.app.metrics), media_type=CONTENT_TYPE)


def _visitor(request: Request, right: Right) -> Visitor:
    """Who was let in. Raises ForbiddenError without this right."""
    visitor: Visitor = request.scope[VISITOR]
    visitor.require(right, operation="proxy_request")
    return visitor


async def _unknown_path(request: Request, error: Exception) -> Response:
    return _refused(EndpointError(404, "unknown_path", "Paths begin with /v1: give clients that base URL."))


def _refused(problem: EndpointError) -> Response:
    return Response(problem.body, status_code=problem.status, media_type="application/json")


def _target(request: Request) -> bytes:
    """Path and query below /v1, as they came; a path that climbs is refused."""
    path: bytes = request.scope["raw_path"].partition(b"?")[0]
    below = path[path.index(_PREFIX) + len(_PREFIX) :]
    if any(step in (".", "..") for step in request.path_params.get("path", "").split("/")):
        raise EndpointError(400, "invalid_path", "The path must not climb.")
    query: bytes = request.scope["query_string"]
    return below + (b"?" + query if query else b"")
