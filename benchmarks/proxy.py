"""What Lamina adds to a request of an OpenAI client whose model answers at once: the same with and without it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from benchmarks.report import Line, Target
from benchmarks.timing import Timings
from benchmarks.world import World, fill
from lamina.app import App
from lamina.config import Settings
from lamina.context.settings import ContextSettings
from lamina.database.settings import DatabaseSettings
from lamina.proxy.serving import serving

AT_ONCE = (1, 16, 64)
SYSTEM = "You are a helpful assistant. Answer briefly and say so when you do not know."
_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
_DELTAS = (("Yes.", None), ("", "stop"))
_CHOICES = [[{"index": 0, "delta": {"content": text}, "finish_reason": end}] for text, end in _DELTAS]
_EVENTS = [json.dumps({**_CHUNK, "choices": choices}) for choices in _CHOICES]
_BODY = "".join(f"data: {event}\n\n" for event in [*_EVENTS, "[DONE]"]).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Milliseconds to the first byte of an answer, and to its end."""

    first: float
    whole: float


Turn = Callable[[int], Awaitable[_Taken]]


@asynccontextmanager
async def prompt_upstream() -> AsyncIterator[str]:
    """An endpoint that answers at once, whatever it is asked; its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.lower().split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
                await reader.readexactly(length)
                writer.write(_ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def measure_proxy(world: World) -> list[Line]:
    """Turns of new sessions, one, 16 and 64 at a time: direct, passed on, with Lamina, and assembling alone."""
    turns = world.language.turns(world.sizes.small, seed=51)
    asked = world.language.notes(max(world.sizes.searches, AT_ONCE[-1]), seed=52)
    # No deadlines: 64 turns at once take as long as they take.
    settings = Settings(
        database=DatabaseSettings(url=world.engine.new_store("proxy")),
        context=ContextSettings(deadline_s=0, turn_deadline_s=0),
    )
    async with (
        App(settings) as app,
        prompt_upstream() as upstream,
        serving(app, upstream=upstream, port=0) as endpoint,
    ):
        await fill(app, [turn.memory("owner") for turn in turns])
        world.engine.settle()

        async def assemble(number: int) -> _Taken:
            started = time.perf_counter()
            await app.context.assemble(SYSTEM, query=asked[number % len(asked)], user_id="owner", session_key="cli:1:1")
            return _since(started, time.perf_counter())

        clients = {
            "direct": _Client(f"{upstream}/chat/completions", asked),
            "passed on": _Client(f"{endpoint.url}/completions", asked),
            "lamina": _Client(f"{endpoint.url}/chat/completions", asked),
        }
        calls: dict[str, Turn] = {**{name: one.turn for name, one in clients.items()}, "assemble": assemble}
        chosen = [at_once for at_once in AT_ONCE if at_once <= 2 * world.sizes.searches]
        settle = endpoint.proxy.settle
        lines = [_line(world, at_once, await _side_by_side(calls, at_once, world, settle)) for at_once in chosen]
        for client in clients.values():
            client.close()
        return lines


class _Client:
    """Asks over kept connections, as cheaply as Python can, so that its own work hardly shows."""

    def __init__(self, url: str, asked: list[str]) -> None:
        parts = urlsplit(url)
        self._place, self._path, self._asked = (parts.hostname, parts.port), parts.path, asked
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def turn(self, number: int) -> _Taken:
        """One request for one answer, on a connection that is there before the clock starts."""
        said = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": self._asked[number % len(self._asked)]},
        ]
        body = json.dumps({"model": "m", "stream": True, "user": "owner", "messages": said})
        head = f"POST {self._path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-lamina-session: bench:{number}\r\n"
        connection = self._idle.pop() if self._idle else await asyncio.open_connection(*self._place)
        reader, writer = connection
        started = time.perf_counter()
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(1)
        first = time.perf_counter()
        await reader.readexactly(len(_BODY) - 1)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the endpoint answered {answer[:16]!r}")
        self._idle.append(connection)
        return _since(started, first)

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()


def _since(started: float, first: float) -> _Taken:
    return _Taken(first=(first - started) * 1000, whole=(time.perf_counter() - started) * 1000)


async def _side_by_side(
    calls: dict[str, Turn], at_once: int, world: World, settle: Callable[[], Awaitable[None]]
) -> dict[str, list[_Taken]]:
    """Every turn, in rounds that alternate, so that a busy moment hits all of them; storing is over before the next."""
    samples: dict[str, list[_Taken]] = {name: [] for name in calls}
    rounds = max(1, world.sizes.searches // at_once)
    number = at_once * 1_000_000
    for round_number in range(rounds + 1):  # the first one only warms up
        for name, call in calls.items():
            taken = await asyncio.gather(*(call(number + one) for one in range(at_once)))
            number += at_once
            await settle()
            if round_number:
                samples[name] += taken
    return samples


def _line(world: World, at_once: int, taken: dict[str, list[_Taken]]) -> Line:
    whole = {name: Timings(samples=tuple(one.whole for one in all_taken)) for name, all_taken in taken.items()}
    first = {name: Timings(samples=tuple(one.first for one in all_taken)) for name, all_taken in taken.items()}
    return Line(
        engine=world.engine.name,
        bench="proxy",
        case=f"what the endpoint adds to a request, {at_once} at once",
        unit="ms",
        value=whole["lamina"].p50 - whole["direct"].p50,
        value_p95=whole["lamina"].p95 - whole["direct"].p95,
        floor_name="retrieve and assemble",
        floor=whole["assemble"].p50,
        floor_p95=whole["assemble"].p95,
        target=Target(bound=5, sense="<="),
        detail={
            "with it, p50": whole["lamina"].p50,
            "without it, p50": whole["direct"].p50,
            "only passed on, p50": whole["passed on"].p50,
            "added to the first token, p50": first["lamina"].p50 - first["direct"].p50,
        },
    )
