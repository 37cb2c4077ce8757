"""Passes a request on and its answer back, byte for byte, as it comes.

A client that leaves takes its request with it: the upstream's connection is closed at once. An answer that breaks off
upstream breaks off here, so that nobody takes it for whole.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from lamina.observability.metrics import Metrics
from lamina.proxy.error import EndpointError
from lamina.proxy.headers import RawHeaders, to_client
from lamina.proxy.upstream import CutOffError, Upstream, UpstreamAnswer

_log = logging.getLogger("lamina.proxy")

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
_OPERATION = "proxy_upstream"


class Listener(Protocol):
    """Hears an answer while it passes; must return at once."""

    def began(self, status: int, headers: RawHeaders) -> None:
        """The answer begins."""
        ...

    def heard(self, piece: bytes) -> None:
        """A piece of the body was passed on."""
        ...

    def ended(self) -> None:
        """The answer is over: it came to its end, was cut off, never came, or nobody waits for it any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A request as the upstream gets it."""

    method: str
    target: bytes
    """Path and query below the upstream's address."""
    headers: RawHeaders
    body: bytes
    added: tuple[tuple[str, str], ...] = ()
    """Headers for the answer."""
    listener: Listener | None = None


class Relay:
    """An ASGI answer that comes from the upstream."""

    def __init__(self, upstream: Upstream, metrics: Metrics, prepare: Callable[[], Awaitable[Outgoing]]) -> None:
        """`prepare` makes the request; it is cancelled too when the client leaves."""
        self._upstream = upstream
        self._metrics = metrics
        self._prepare = prepare

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Ask and pass the answer on, until the client leaves."""
        work = asyncio.ensure_future(self._work(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _work(self, send: Send) -> None:
        try:
            outgoing = await self._prepare()
        except EndpointError as error:
            await send_error(send, error)
            return
        listener = outgoing.listener or _Nobody()
        try:
            await self._exchange(outgoing, listener, send)
        except EndpointError as error:
            self._failed(error.code)
            await send_error(send, error)
        except CutOffError as cut:
            # Nothing more is sent: the server closes the connection, and the client sees that the end is missing.
            self._failed(cut.code)
        finally:
            listener.ended()

    async def _exchange(self, outgoing: Outgoing, listener: Listener, send: Send) -> None:
        started, status = self._metrics.monotonic(), "error"
        try:
            answer = await self._upstream.ask(outgoing.method, outgoing.target, outgoing.headers, outgoing.body)
            status = "ok"
        finally:
            self._metrics.operation_finished(_OPERATION, status, (self._metrics.monotonic() - started) * 1000)
        try:
            listener.began(answer.status, answer.headers)
            await self._pass_on(answer, outgoing, listener, send)
        finally:
            await answer.aclose()

    async def _pass_on(self, answer: UpstreamAnswer, outgoing: Outgoing, listener: Listener, send: Send) -> None:
        headers = to_client(answer.headers, outgoing.added)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for piece in answer.pieces():
            try:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            finally:  # a client that has all it wants may be gone already
                listener.heard(piece)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _failed(self, code: str) -> None:
        self._metrics.operation_failed(_OPERATION, code)
        _log.warning("the upstream did not answer to the end: %s", code)


class _Nobody:
    """Where nobody listens."""

    def began(self, status: int, headers: RawHeaders) -> None: ...

    def heard(self, piece: bytes) -> None: ...

    def ended(self) -> None: ...


async def send_error(send: Send, problem: EndpointError) -> None:
    """Answer with an error."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(problem.body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": problem.body, "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
