"""A server on loopback that speaks OpenAI's protocol, and misbehaves when told to."""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what is needed to answer it."""

    handler: BaseHTTPRequestHandler
    body: dict[str, Any]
    right: Callable[[dict[str, Any]], Answer]
    released: threading.Event
    """Set when the server stops: what hangs must let go then."""

    def answer(self) -> Answer:
        """The right answer."""
        return self.right(self.body)

    def send(
        self,
        body: object,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> None:
        """Send an answer; anything but bytes is sent as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.handler.send_header(name, value)
        for name, value in (headers or {}).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(content)


Behaviour = Callable[[Exchange], None]


@dataclass(slots=True)
class LoopbackServer:
    """Answers rightly unless `script` holds behaviours; each request takes the next one from its left end."""

    script: deque[Behaviour] = field(default_factory=deque)
    always: Behaviour | None = None
    """What every request beyond the script meets; None is the right answer."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """What was sent, byte for byte."""
    port: int = 0
    most_at_once: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """The base address for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, body: dict[str, Any]) -> Answer:
        """The right answer to a request."""
        raise NotImplementedError

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request as the script says."""
        content = handler.rfile.read(int(handler.headers["Content-Length"] or 0))
        try:
            found = json.loads(content or b"{}")
        except (ValueError, RecursionError):
            found = None
        body = found if isinstance(found, dict) else {}
        with self._lock:
            self.bodies.append(content)
            self.requests.append({"path": handler.path, **body})
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            behaviour = self.script.popleft() if self.script else (self.always or right)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            behaviour(Exchange(handler=handler, body=body, right=self.answer, released=self._released))
        finally:
            with self._lock:
                self._now -= 1

    def release(self) -> None:
        """Let everything go that hangs."""
        self._released.set()


Server = TypeVar("Server", bound=LoopbackServer)


class _QuietServer(ThreadingHTTPServer):
    request_queue_size = 256  # many clients come at once
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that gave up are part of the tests."""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, listening on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.handle(self)

        do_GET = do_POST  # noqa: N815 -- the name that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Stay silent."""

    with _QuietServer(("127.0.0.1", 0), Handler) as http:
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.release()
            http.shutdown()
            thread.join()


def right(exchange: Exchange) -> None:
    """The right answer."""
    exchange.send(exchange.answer())


def altered(change: Callable[[Answer], None]) -> Behaviour:
    """The right answer with one thing wrong."""

    def behave(exchange: Exchange) -> None:
        answer = exchange.answer()
        change(answer)
        exchange.send(answer)

    return behave


def fixed(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = "application/json"
) -> Behaviour:
    """Always this answer."""
    return lambda exchange: exchange.send(body, status=status, headers=headers, kind=kind)


def hang(exchange: Exchange) -> None:
    """No answer until the server stops."""
    exchange.released.wait()


def drip(exchange: Exchange) -> None:
    """An answer that never ends but always goes on."""
    exchange.handler.send_response(200)
    exchange.handler.send_header("Content-Type", "application/json")
    exchange.handler.end_headers()
    while not exchange.released.wait(0.01):
        exchange.handler.wfile.write(b" ")
        exchange.handler.wfile.flush()


def reset(exchange: Exchange) -> None:
    """The connection breaks instead of an answer."""
    exchange.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.handler.connection.close()
