"""Who is not let in costs nothing: their requests are not even read."""

from collections.abc import AsyncIterator

import pytest

from tests.api.calls import Api, Caller

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/memories"), ("PUT", "/knowledge/x"), ("PATCH", "/memories/x"), ("POST", "/keys")]
)
@pytest.mark.usefixtures("admin")
async def test_what_somebody_without_a_key_sends_is_not_read(api: Api, method: str, path: str) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    for secret in ("", "lamina_0000000000000000_" + "0" * 64):
        nobody = await api.caller(secret)
        answered = await nobody.call(method, path, status=401, content=body())
        assert (answered.error, read) == ("UNAUTHORIZED", [])


async def test_a_request_that_cannot_be_read_is_refused_to_whoever_was_let_in(admin: Caller) -> None:
    for body in (b"{", b"[" * 100_000 + b"]" * 100_000, b'{"content": "\xff"}', b""):
        answered = await admin.call("POST", "/memories", status=400, content=body)
        assert answered.error == "INVALID_INPUT"
