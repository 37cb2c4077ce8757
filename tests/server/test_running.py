"""The life of the service: where it listens, what it refuses, how it ends."""

import asyncio
import socket
from pathlib import Path

import httpx2
import pytest

from lamina.app import App
from lamina.config import Settings
from lamina.errors import ConfigurationError
from lamina.server.running import checked, serving
from tests.server.served import ASKED, FACT, HoldingEmbedder, service_on
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio


def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'lamina.db'}"


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=str(port)):
            async with service_on(store(tmp_path), server={"port": port}):
                pass


async def test_other_machines_are_let_in_only_once_there_is_a_key(tmp_path: Path) -> None:
    server = {"host": "0.0.0.0", "port": 0, "page": False, "mcp": False}
    settings = Settings.model_validate({"database": {"url": store(tmp_path)}, "server": server})
    async with App(settings, embedder=static_embedder(), environ={}, observing=False) as app:
        with pytest.raises(ConfigurationError, match="on this machine only") as refused:
            async with serving(app):
                pass
        assert "lamina key create" in str(refused.value.details["next"])
        await app.keys.create("laptop")
        async with serving(app) as running:
            assert running.open is False


async def test_requests_under_way_are_finished_when_it_stops(tmp_path: Path) -> None:
    embedder = HoldingEmbedder()
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    async def live() -> None:
        async with service_on(store(tmp_path), embedder=embedder) as served:
            url.set_result(served.running.url)
            await stop.wait()

    life = asyncio.create_task(live())
    async with httpx2.AsyncClient(base_url=await url, timeout=60) as http:
        request = asyncio.create_task(http.post("/v1/memories", json=FACT))
        await embedder.begun.wait()
        stop.set()
        for _ in range(100):  # turns of the loop, in which it begins to stop
            await asyncio.sleep(0)
        assert not life.done()
        embedder.go.set()
        assert (await request).status_code == 201
    await life


async def test_a_service_can_be_started_again_on_the_same_store(tmp_path: Path) -> None:
    for _ in range(2):
        async with service_on(store(tmp_path)) as served:
            assert (await served.http.post("/v1/memories", json=FACT)).status_code == 201
    async with service_on(store(tmp_path)) as served:
        assert len((await served.http.post("/v1/memories/search", json=ASKED)).json()["results"]) == 1
        assert (await served.http.get("/v1/memories?user_id=ann")).json()["total_count"] == 2


def test_settings_that_cannot_work_are_refused_before_anything_opens() -> None:
    settings = Settings().server
    assert checked(settings, port=8080).port == 8080
    with pytest.raises(ConfigurationError, match="port must be from 0 to 65535"):
        checked(settings, port=70_000)
