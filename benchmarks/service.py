"""What the service adds to a verb: the same search and the same add, called and asked for over HTTP with a key."""

import asyncio
import json
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

from benchmarks.report import Line, timed
from benchmarks.timing import Call, take_turns
from benchmarks.world import World, fill
from lamina.access.settings import ServerSettings
from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.server.running import serving

WARM_UP = 3
OWNER = {"user_id": "owner"}


async def measure_service(world: World) -> list[Line]:
    """A search and an add, one at a time, as a verb and over a kept connection."""
    turns = world.language.turns(world.sizes.small, seed=61)
    settings = Settings(
        database=DatabaseSettings(url=world.engine.new_store("service")),
        server=ServerSettings(port=0, page=False, mcp=False, rate_per_s=0),
    )
    async with App(settings) as app:
        await fill(app, [turn.memory("owner") for turn in turns])
        key = await app.keys.create("benchmark")
        world.engine.settle()
        async with serving(app) as running, _Client(running.url, key.secret) as client:
            asked = world.language.notes(world.sizes.searches + WARM_UP, seed=62)
            told = world.language.notes(world.sizes.adds + WARM_UP, seed=63)
            return [
                await _compared(world, "search", _searches(app, client, asked), world.sizes.searches),
                await _compared(world, "add", _adds(app, client, told), world.sizes.adds),
            ]


async def _compared(world: World, case: str, calls: Mapping[str, Call], count: int) -> Line:
    taken = await take_turns(calls, count=count, warm_up=WARM_UP)
    return timed(
        taken,
        "the verb",
        engine=world.engine.name,
        bench="service",
        case=f"{case} over HTTP",
        detail={"added, p50": taken["lamina"].p50 - taken["the verb"].p50},
    )


def _searches(app: App, client: "_Client", asked: list[str]) -> dict[str, Call]:
    async def verb(number: int) -> None:
        await app.memory.search(asked[number], user_id="owner")

    async def over_http(number: int) -> None:
        await client.post("/v1/memories/search", {"query": asked[number], "identifiers": OWNER})

    return {"the verb": verb, "lamina": over_http}


def _adds(app: App, client: "_Client", told: list[str]) -> dict[str, Call]:
    async def verb(number: int) -> None:
        await app.memory.add(told[number], user_id="owner")

    async def over_http(number: int) -> None:
        await client.post("/v1/memories", {"content": told[number], "identifiers": OWNER})

    return {"the verb": verb, "lamina": over_http}


class _Client:
    """Asks over a kept connection, as cheaply as Python can, so that its own work hardly shows."""

    def __init__(self, url: str, secret: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname, parts.port)
        self._head = f"host: {parts.netloc}\r\nauthorization: Bearer {secret}\r\ncontent-type: application/json\r\n"

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(*self._place)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def post(self, path: str, document: object) -> bytes:
        """Send a document and read the answer. Raises RuntimeError for one that is not a success."""
        body = json.dumps(document)
        head = f"POST {path} HTTP/1.1\r\n{self._head}content-length: {len(body)}\r\n\r\n"
        self._writer.write((head + body).encode())
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.startswith(b"content-length:"))
        if not answer.startswith(b"http/1.1 2"):
            raise RuntimeError(f"the service answered {answer[:16]!r}")
        return await self._reader.readexactly(length)
