"""The endpoint as clients meet it: on loopback, in a thread of its own, before a scripted upstream."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import openai

from lamina.app import App, open
from lamina.kernel.retry import RetryPolicy, retry
from lamina.proxy.serving import Running, serving
from lamina.session.types import Message
from tests.instruments import points
from tests.llm.scripted import KEY, ChatServer, running

T = TypeVar("T")


@dataclass(slots=True)
class House:
    """An open app with its endpoint, and the upstream behind it."""

    app: App
    endpoint: Running
    upstream: ChatServer
    loop: asyncio.AbstractEventLoop
    clients: list[openai.OpenAI] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.endpoint.url

    def run(self, work: Callable[[App], Awaitable[T]]) -> T:
        """Do something with the app, on its loop, and wait for it."""

        async def within() -> T:
            return await work(self.app)

        return asyncio.run_coroutine_threadsafe(within(), self.loop).result(60)

    def settled(self) -> None:
        """Wait until what was said is stored."""
        self.run(lambda _: self.endpoint.proxy.settle())

    def messages(self, key: str, count: int = 0) -> tuple[Message, ...]:
        """What is stored of a session; `count` waits for so many, where a client left and who knows when it is seen."""
        for _ in range(5000):
            self.settled()
            stored = self.run(lambda app: _stored(app, key))
            if len(stored) >= count:
                return stored
        raise AssertionError(f"{len(stored)} messages of {count} are stored")

    def client(self, *, key: str = KEY, **options: Any) -> openai.OpenAI:
        """The real client, sync; nothing is tried again."""
        client = openai.OpenAI(base_url=self.url, api_key=key, **{"max_retries": 0, "timeout": 30, **options})
        self.clients.append(client)
        return client

    def close_clients(self) -> None:
        """Close every client that was handed out."""
        while self.clients:
            self.clients.pop().close()

    def post(self, path: str, **options: Any) -> httpx2.Response:
        """A bare request, for what no client of the protocol would send."""
        headers = {"authorization": f"Bearer {KEY}", **options.pop("headers", {})}
        return httpx2.post(f"{self.url}{path}", headers=headers, timeout=60, **options)

    def errors(self, operation: str) -> dict[str, int]:
        """How often an operation failed, by code."""
        counted = points(self.app.metrics, "memory.operations.errors", "operation", "code")
        return {str(code): int(count) for (of, code), count in counted.items() if of == operation}


async def _stored(app: App, key: str) -> tuple[Message, ...]:
    """Read again where a connection turns out to be dead, as callers of the store do."""
    policy = RetryPolicy(initial_s=0.0, retries=20)
    return await retry(
        lambda: app.sessions.messages(key, archived=None, limit=1000), policy=policy, clock=app.sessions.clock
    )


@contextmanager
def house(url: str, *, proxy: dict[str, Any] | None = None, **sections: Any) -> Iterator[House]:
    """A house on a store; `proxy` are settings of that section, `sections` others."""
    with running(ChatServer()) as upstream:
        started = threading.Event()
        found: list[House] = []
        failed: list[BaseException] = []
        stop = asyncio.Event()
        loop = asyncio.new_event_loop()

        async def live() -> None:
            async with AsyncExitStack() as stack:
                app = await stack.enter_async_context(open(url, memory={"sweep_interval_s": 0.0}, **sections))
                options = {"upstream": upstream.url, "port": 0, **(proxy or {})}
                endpoint = await stack.enter_async_context(serving(app, **options))
                found.append(House(app=app, endpoint=endpoint, upstream=upstream, loop=loop))
                started.set()
                await stop.wait()

        def run() -> None:
            try:
                loop.run_until_complete(live())
            except BaseException as error:  # noqa: BLE001 -- boundary: handed to the test below
                failed.append(error)
            finally:
                loop.close()
                started.set()

        thread = threading.Thread(target=run, name="house")
        thread.start()
        started.wait(60)
        try:
            if failed:
                raise failed[0]
            yield found[0]
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
            thread.join()
        if failed:
            raise failed[0]
