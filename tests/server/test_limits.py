"""What a request may cost: how many at once, how often, how large, how long. Each refusal is counted."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from lamina.access.settings import ServerSettings
from lamina.access.types import Grant
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from lamina.server.limits import Limits
from lamina.server.rate import Rate
from lamina.visitor import VISITOR
from tests.server.served import ASKED, FACT, HoldingEmbedder, Served, service_on

pytestmark = pytest.mark.anyio


def test_a_caller_has_one_second_s_worth_at_once_and_then_a_steady_rate() -> None:
    clock = ManualClock()
    rate = Rate(10, clock=clock)
    assert [rate.wait("ann") for _ in range(10)] == [0.0] * 10
    assert rate.wait("ann") == pytest.approx(0.1)
    assert rate.wait("ann") == pytest.approx(0.1)  # asking too early costs nothing
    assert rate.wait("bob") == 0.0
    clock.advance(0.1)
    assert rate.wait("ann") == 0.0
    assert rate.wait("ann") == pytest.approx(0.1)
    clock.advance(60)
    assert [rate.wait("ann") for _ in range(11)].count(0.0) == 10


def test_a_rate_below_one_a_second_and_none_at_all() -> None:
    clock = ManualClock()
    slow = Rate(0.5, clock=clock)
    assert slow.wait("ann") == 0.0
    assert slow.wait("ann") == pytest.approx(2.0)
    assert {Rate(0, clock=clock).wait("ann") for _ in range(1000)} == {0.0}


def test_a_rate_remembers_only_so_many_callers() -> None:
    rate = Rate(1, clock=ManualClock())
    assert rate.wait(0) == 0.0
    for caller in range(1, 10_001):
        rate.wait(caller)
    assert rate.wait(0) == 0.0
    assert rate.wait(10_000) > 0


class Door:
    """Lets in whoever has the key `good`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (b"authorization", b"good") in scope["headers"]:
            scope[VISITOR] = Visiting()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Visiting:
    grant = Grant(tenant="default", key_id="k1")


async def ask(limits: Limits, *, address: str = "10.0.0.1", key: bytes | None = None) -> int:
    headers = [] if key is None else [(b"authorization", key)]
    scope: Scope = {"type": "http", "path": "/v1/x", "method": "GET", "headers": headers, "client": (address, 1)}
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    await limits(scope, receive, send)
    status: int = sent[0]["status"]
    return status


async def test_each_address_and_each_good_key_has_a_rate_of_its_own() -> None:
    settings = ServerSettings(rate_per_s=3)
    limits = Limits(Door(), settings=settings, metrics=Metrics(), clock=ManualClock())
    assert [await ask(limits, key=b"good") for _ in range(4)] == [200] * 4  # the first on the address's account
    assert await ask(limits, key=b"good") == 429
    assert [await ask(limits) for _ in range(3)] == [200, 200, 429]
    assert await ask(limits, address="10.0.0.2") == 200


class HoldingDoor(Door):
    """Keeps strangers waiting until it is told to go on."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["headers"]:
            self.inside += 1
            await self.go.wait()
        await super().__call__(scope, receive, send)


async def test_strangers_who_take_all_the_time_there_is_leave_room_for_those_with_a_key() -> None:
    door = HoldingDoor()
    limits = Limits(door, settings=ServerSettings(max_in_flight=4), metrics=Metrics(), clock=ManualClock())
    assert await ask(limits, key=b"good") == 200
    held = [asyncio.create_task(ask(limits)) for _ in range(3)]
    while door.inside < 2:
        await asyncio.sleep(0)
    assert await ask(limits) == 503
    assert await ask(limits, key=b"good") == 200
    door.go.set()
    assert sorted(await asyncio.gather(*held)) == [200, 200, 503]
    assert await ask(limits) == 200


async def test_while_nobody_has_a_key_everybody_shares_all_the_room() -> None:
    door = HoldingDoor()
    limits = Limits(door, settings=ServerSettings(max_in_flight=4), metrics=Metrics(), clock=ManualClock())
    held = [asyncio.create_task(ask(limits)) for _ in range(5)]
    while door.inside < 4:
        await asyncio.sleep(0)
    door.go.set()
    assert sorted(await asyncio.gather(*held)) == [200, 200, 200, 200, 503]


async def test_guessing_keys_is_counted_on_the_guesser() -> None:
    limits = Limits(Door(), settings=ServerSettings(rate_per_s=3), metrics=Metrics(), clock=ManualClock())
    assert [await ask(limits, key=b"guess %d" % number) for number in range(5)] == [200, 200, 200, 429, 429]


async def test_who_comes_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    async with service_on(f"sqlite:///{tmp_path / 'lamina.db'}", server={"rate_per_s": 0.01}) as served:
        assert (await served.http.post("/v1/memories/search", json=ASKED)).status_code == 200
        answer = await served.http.post("/v1/memories/search", json=ASKED)
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "RATE_LIMITED")
        assert 90 < int(answer.headers["retry-after"]) <= 100
        assert served.errors() == {"RATE_LIMITED": 1}
        assert (await served.http.get("/healthz")).status_code == 200


@pytest.fixture(scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """A service that takes a megabyte at most."""
    url = f"sqlite:///{tmp_path_factory.mktemp('limits') / 'lamina.db'}"
    async with service_on(url, server={"max_body_mb": 1}) as served:
        yield served


async def in_pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 100_000


@pytest.mark.parametrize("headers", [{}, {"idempotency-key": "k1"}])
@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(
    small: Served, announced: bool, headers: dict[str, str]
) -> None:
    before = small.errors().get("REQUEST_TOO_LARGE", 0)
    content: Any = b" " * 1_100_000 if announced else in_pieces(11)
    answer = await small.http.post(
        "/v1/memories", content=content, headers={"content-type": "application/json", **headers}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "REQUEST_TOO_LARGE")
    assert small.errors()["REQUEST_TOO_LARGE"] == before + 1
    assert (await small.http.post("/v1/memories", json=FACT)).status_code == 201


async def test_an_import_may_be_of_any_size(small: Served) -> None:
    answer = await small.http.post("/v1/import", content=in_pieces(12))
    assert (answer.status_code, answer.json()["stored"]) == (200, 0)  # white space is no memory, however much of it


async def test_what_takes_too_long_is_given_up_and_counted(tmp_path: Path) -> None:
    embedder = HoldingEmbedder()
    url = f"sqlite:///{tmp_path / 'lamina.db'}"
    async with service_on(url, embedder=embedder, server={"request_timeout_s": 0.05}) as served:
        answer = await served.http.post("/v1/memories/search", json=ASKED)
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "TIMEOUT")
        assert answer.json()["error"]["retryable"] is True
        assert served.errors() == {"TIMEOUT": 1}
        embedder.go.set()


async def test_more_at_once_than_allowed_are_turned_away(tmp_path: Path) -> None:
    embedder = HoldingEmbedder()
    url = f"sqlite:///{tmp_path / 'lamina.db'}"
    async with service_on(url, embedder=embedder, server={"max_in_flight": 1}) as served:
        first = asyncio.create_task(served.http.post("/v1/memories/search", json=ASKED))
        await embedder.begun.wait()
        second = await served.http.post("/v1/memories/search", json=ASKED)
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")
        assert served.errors() == {"PROVIDER_ERROR": 1}
        assert (await served.http.get("/readyz")).status_code == 200
        embedder.go.set()
        assert (await first).status_code == 200
        assert (await served.http.post("/v1/memories/search", json=ASKED)).status_code == 200
