"""MCP as clients meet it: a real server on loopback or a real process, and the SDK's own client."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

from lamina.access.gate import Gate
from lamina.access.types import Right
from lamina.app import App
from lamina.config import Settings
from lamina.endpoint.listening import address_of, answering, listening
from lamina.mcp.http import mcp_app
from lamina.memory.types import IdentifierArguments
from tests.cli.terminal import SCRIPT, process_environment
from tests.stores import static_embedder

ON: dict[str, Any] = {
    "knowledge": {"enabled": True},
    "observational_memory": {"enabled": True, "message_token_threshold": 20, "retained_tail_tokens": 0},
    "server": {"max_body_mb": 1},
    "memory": {"sweep_interval_s": 0},
}
"""Every room on, and requests of a megabyte at most."""


@dataclass(slots=True)
class Served:
    """An open app with MCP on loopback."""

    app: App
    url: str
    answering: asyncio.Task[None]
    stopping: asyncio.Event

    async def stop(self) -> None:
        """Stop answering, in order."""
        self.stopping.set()
        await self.answering

    async def key(self, right: Right = Right.WRITE, *, tenant: str = "default", **ids: str) -> str:
        """The secret of a new key."""
        identifiers = IdentifierArguments(**ids)  # type: ignore[typeddict-item]
        return (await self.app.for_tenant(tenant).keys.create("test", right=right, **identifiers)).secret

    def http(self, key: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """An HTTP client with a key and headers, written with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.AsyncClient(headers={**sent, **({} if key is None else {"Authorization": f"Bearer {key}"})})

    @asynccontextmanager
    async def client(self, key: str | None = None, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
        """The SDK's client, connected."""
        async with (
            self.http(key, **headers) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@asynccontextmanager
async def served(store_url: str, **sections: Any) -> AsyncIterator[Served]:
    """MCP on a store; `sections` are settings beyond those of `ON`."""
    settings = Settings.model_validate({**ON, **sections, "database": {"url": store_url}})
    async with App(settings, embedder=static_embedder(), observing=False) as app:
        door = mcp_app(app, Gate(app.keys, settings.server, settings.memory.tenant))
        stopping = asyncio.Event()

        async def answer() -> None:
            service = Starlette(routes=[Route("/mcp", door, methods=["POST"])])
            async with door.running(), answering(service, listener, stop_deadline_s=1):
                await stopping.wait()

        with listening("127.0.0.1", 0) as listener:
            task = asyncio.create_task(answer())
            url = f"{address_of(listener, '127.0.0.1')}/mcp"
            house = Served(app=app, url=url, answering=task, stopping=stopping)
            yield house
            await house.stop()


def process(folder: Path, *words: str, environ: dict[str, str] | None = None) -> StdioServerParameters:
    """`lamina mcp` as a client starts it."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", SCRIPT, "mcp", *words],
        env=process_environment(environ),
        cwd=folder,
    )


async def called(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool answers; it must not fail."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.structured_content
    document: dict[str, Any] = answer.structured_content
    return document


async def refused(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The error object that a tool answers with."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    error: dict[str, Any] = answer.structured_content["error"]
    return error
