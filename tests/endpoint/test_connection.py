"""A client that sends a head without end is left, and one that asks in time is answered."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from lamina.endpoint import connection
from lamina.endpoint.listening import answering, listening

pytestmark = pytest.mark.anyio


async def hello(scope: object, receive: object, send: object) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with listening("127.0.0.1", 0) as listener:
        async with answering(hello, listener, stop_deadline_s=1):
            yield listener.getsockname()[1]


async def sent(port: int, *pieces: bytes) -> bytes:
    """What a client gets until it is left, or nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_head_of_common_size_is_read(port: int) -> None:
    head = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: " + b"a" * 30_000 + b"\r\n\r\n"
    assert (await sent(port, head)).startswith(b"HTTP/1.1 200")


async def test_a_head_without_end_is_not_read_on(port: int) -> None:
    endless = [b"GET / HTTP/1.1\r\nhost: x\r\nx-long: ", *[b"a" * 65_536] * 64]
    assert await sent(port, *endless) == b""


async def test_who_does_not_ask_in_time_is_left(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LONGEST_HEAD_S", 0.01)
    assert await sent(port, b"") == b""
    assert await sent(port, b"GET / HTTP/1.1\r\nhost") == b""


async def test_several_requests_come_over_one_connection(port: int) -> None:
    one = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    assert (await sent(port, one, one, last)).count(b"HTTP/1.1 200") == 3
