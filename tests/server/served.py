"""The service as clients meet it: on loopback, on the loop of the test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from lamina.access.types import Right
from lamina.app import App
from lamina.config import Settings
from lamina.embedding.types import Embedder, Purpose
from lamina.memory.types import IdentifierArguments
from lamina.server.running import Running, serving
from tests.instruments import points
from tests.stores import static_embedder

FACT: dict[str, Any] = {"content": "Prefers dark mode", "identifiers": {"user_id": "ann"}}
ASKED: dict[str, Any] = {"query": "Which theme?", "identifiers": {"user_id": "ann"}}


@dataclass(slots=True)
class Served:
    """An open app with its service, and a client without a key."""

    app: App
    running: Running
    http: httpx2.AsyncClient

    async def key(self, right: Right = Right.WRITE, *, tenant: str = "default", **whose: str) -> dict[str, str]:
        """The header with a new key."""
        named: IdentifierArguments = {**whose}  # type: ignore[typeddict-item]
        made = await self.app.for_tenant(tenant).keys.create("test", right=right, **named)
        return {"authorization": f"Bearer {made.secret}"}

    def errors(self, operation: str = "http_request") -> dict[str, int]:
        """How often an operation failed, by code."""
        counted = points(self.app.metrics, "memory.operations.errors", "operation", "code")
        return {str(code): int(number) for (of, code), number in counted.items() if of == operation}


@asynccontextmanager
async def service_on(
    url: str, *, embedder: Embedder | None = None, server: dict[str, Any] | None = None, **sections: Any
) -> AsyncIterator[Served]:
    """A service on a store; `server` are settings of that section, `sections` others."""
    own = {"port": 0, "page": False, "mcp": False, **(server or {})}
    settings = Settings.model_validate(
        {"database": {"url": url}, "memory": {"sweep_interval_s": 0}, "server": own, **sections}
    )
    async with (
        App(settings, embedder=embedder or static_embedder(), environ={}, observing=False) as app,
        serving(app) as running,
        httpx2.AsyncClient(base_url=running.url, timeout=60) as http,
    ):
        yield Served(app=app, running=running, http=http)


@dataclass(slots=True)
class HoldingEmbedder:
    """The shipped embedder, which waits until it is let go: requests that take as long as a test wants."""

    name: str = "holding:1"
    dimensions: int = 256
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if FACT["content"] in texts or ASKED["query"] in texts:  # and not what a new store is tried with
            self.begun.set()
            await self.go.wait()
        return await static_embedder().embed(texts, purpose=purpose)

    async def aclose(self) -> None:
        """Nothing is open."""
