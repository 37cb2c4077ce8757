"""The connections behind the endpoint: kept while they are of use, closed when they are not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.error import EndpointError
from lamina.proxy.upstream import CutOffError, Upstream, UpstreamAnswer

pytestmark = pytest.mark.anyio
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


@dataclass(slots=True)
class Server:
    """Answers every request with the same bytes, and counts connections."""

    answer: bytes = ANSWER
    hang_up: bool = False
    port: int = 0
    opened: int = 0
    closed: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(self.answer)
                if self.hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
        self.closed.release()


@asynccontextmanager
async def upstream_of(server: Server) -> AsyncIterator[Upstream]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    upstream = Upstream(ProxySettings(upstream=f"http://127.0.0.1:{port}/v1", idle_timeout_s=5))
    async with listening:
        yield upstream
        await upstream.aclose()


async def ask(upstream: Upstream) -> bytes:
    answer = await upstream.ask("GET", b"/models", [], b"")
    try:
        return b"".join([piece async for piece in answer.pieces()])
    finally:
        await answer.aclose()


async def test_requests_that_follow_each_other_share_a_connection() -> None:
    server = Server()
    async with upstream_of(server) as upstream:
        assert [await ask(upstream) for _ in range(5)] == [b"hi"] * 5
        assert server.opened == 1
        assert await asyncio.gather(*(ask(upstream) for _ in range(8))) == [b"hi"] * 8
        assert server.opened <= 9


async def test_a_connection_that_the_upstream_closed_is_not_used_again() -> None:
    server = Server(hang_up=True)
    async with upstream_of(server) as upstream:
        for _ in range(3):
            assert await ask(upstream) == b"hi"
            await server.closed.acquire()
        assert server.opened == 3


async def test_an_answer_that_is_not_read_to_its_end_closes_its_connection() -> None:
    server = Server(answer=b"HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\nhi")
    async with upstream_of(server) as upstream:
        answer: UpstreamAnswer = await upstream.ask("GET", b"/models", [], b"")
        pieces = answer.pieces()
        assert await anext(pieces) == b"hi"
        await answer.aclose()
        async with asyncio.timeout(30):
            await server.closed.acquire()


async def test_an_answer_that_ends_too_early_is_cut_off() -> None:
    server = Server(answer=b"HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\nhi", hang_up=True)
    async with upstream_of(server) as upstream:
        with pytest.raises(CutOffError):
            await ask(upstream)


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 999999 No\r\n\r\n", b""])
async def test_what_is_no_answer_is_a_bad_gateway(answer: bytes) -> None:
    async with upstream_of(Server(answer=answer, hang_up=True)) as upstream:
        with pytest.raises(EndpointError) as raised:
            await ask(upstream)
    assert raised.value.status == 502


@pytest.mark.parametrize("address", ["", "x", "ftp://x/v1", "http://a:b@x/v1", "http://x/v1#y", "http://x:99999/v1"])
def test_an_address_that_cannot_be_asked_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Upstream(ProxySettings(upstream=address))
    assert "a:b" not in str(raised.value)
