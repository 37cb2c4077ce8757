"""Opening and closing: everything starts and stops once, and nothing that was lent is ended."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

import lamina
from lamina.app import App, resolve_settings
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError, ProviderError
from lamina.kernel.clock import ManualClock
from lamina.memory.settings import MemorySettings
from lamina.observability.metrics import Metrics
from tests.instruments import points
from tests.stores import CountingEmbedder, app_on, static_embedder

pytestmark = pytest.mark.anyio


def store_threads() -> list[str]:
    """The threads of open stores; apps that frameworks opened by a path live as long as the process."""
    mine = [each.name for each in threading.enumerate() if each.name.startswith("lamina")]
    return [name for name in mine if name != "lamina-integrations"]


async def test_nothing_happens_before_the_start(tmp_path: Path) -> None:
    app = app_on(str(tmp_path / "lamina.db"))
    assert list(tmp_path.iterdir()) == []
    for name in ("memory", "hierarchy", "parts"):
        with pytest.raises(ConfigurationError, match="not open"):
            getattr(app, name)
    await app.close()


async def test_closing_is_idempotent_and_leaves_no_thread(store_url: str) -> None:
    app = await app_on(store_url).start()
    await app.memory.add("x", user_id="u")
    assert store_threads()
    await app.close()
    await app.close()
    assert store_threads() == []
    with pytest.raises(ConfigurationError, match="not open"):
        _ = app.memory


async def test_an_open_app_is_not_opened_twice(sqlite_url: str) -> None:
    async with app_on(sqlite_url) as app:
        with pytest.raises(ConfigurationError, match="open already"):
            await app.start()
        assert (await app.memory.list(user_id="u")).total_count == 0
    assert store_threads() == []


async def test_start_and_close_may_run_in_different_tasks(sqlite_url: str) -> None:
    app = app_on(sqlite_url)
    async with anyio.create_task_group() as group:
        group.start_soon(app.start)
    async with anyio.create_task_group() as group:
        group.start_soon(app.close)
    assert store_threads() == []


async def test_a_room_may_be_entered_first_from_a_thread(sqlite_url: str) -> None:
    known, graph = {"enabled": True}, {"enabled": True}
    async with lamina.open(sqlite_url, embedder=static_embedder(), knowledge=known, graph=graph) as app:

        def enter() -> list[object]:
            return [app.learning, app.graph, app.context]

        assert None not in await anyio.to_thread.run_sync(enter)
        await app.knowledge.save("deploy-rule", "Never deploy on a Friday", category="rule")
        prompt = await app.context.assemble("", query="when may we deploy?")
        assert "deploy-rule" in prompt.text
    async with lamina.open(sqlite_url, embedder=static_embedder(), knowledge=known) as app:
        assert (await app.knowledge.get("deploy-rule")).use_count == 1


async def test_metrics_that_were_lent_outlive_the_app(tmp_path: Path) -> None:
    metrics = Metrics.collecting()
    for name in ("one", "two"):
        async with app_on(str(tmp_path / f"{name}.db"), metrics=metrics) as app:
            await app.memory.get("x", user_id="u")
    assert points(metrics, "memory.operations.total", "operation", "status") == {("get", "ok"): 2}
    metrics.shutdown()


class Closing(CountingEmbedder):
    """Counts how often it was closed."""

    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


async def test_a_failed_start_closes_what_was_opened(tmp_path: Path) -> None:
    embedder = Closing()
    settings = Settings(database=DatabaseSettings(url=str(tmp_path / "none" / "lamina.db")))
    with pytest.raises(ConfigurationError):
        await App(settings, embedder=embedder, environ={}).start()
    assert embedder.closed == 1
    assert store_threads() == []


async def test_another_embedder_is_refused_with_the_command_that_helps(sqlite_url: str) -> None:
    async with app_on(sqlite_url):
        pass
    with pytest.raises(ConfigurationError, match="lamina reembed") as caught:
        await app_on(sqlite_url, embedder=CountingEmbedder(name="other:1")).start()
    assert caught.value.details["configured"] == "other:1"
    assert caught.value.details["stored"] == static_embedder().name


async def test_what_expired_is_swept_by_itself(sqlite_url: str, clock: ManualClock) -> None:
    async with app_on(sqlite_url, clock=clock, memory=MemorySettings(sweep_interval_s=60)) as app:
        await app.memory.add("brief", user_id="u", expires_at=clock.now() + timedelta(seconds=30))
        await app.memory.add("lasting", user_id="u")
        with anyio.fail_after(30):
            while points(app.metrics, "memory.storage.size", "layer") != {("user",): 1}:
                clock.advance(60)
                await anyio.lowlevel.checkpoint()
        assert await app.sweep() == 0


async def test_a_target_is_a_path_an_address_or_a_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[database]\nurl = "there.db"\n')
    assert resolve_settings(file).settings.database.url.endswith("there.db")
    assert resolve_settings("here.db").settings.database.url == "here.db"
    both = resolve_settings("here.db", database={"pool_size": 3}).settings.database
    assert (both.url, both.pool_size) == ("here.db", 3)
    chosen = Settings(database=DatabaseSettings(url=str(tmp_path / "chosen.db")))
    async with lamina.open(settings=chosen, embedder=static_embedder()) as app:
        assert app.settings is chosen
    assert (tmp_path / "chosen.db").exists()


async def test_a_room_that_fails_to_close_leaves_no_worker_behind(
    sqlite_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = lamina.open(sqlite_store_url, embedder=static_embedder(), knowledge={"enabled": True})
    await app.start()

    async def broken(deadline_s: float) -> None:
        raise ProviderError("gone")

    closing = app.learning.watcher.close
    monkeypatch.setattr(app.learning.watcher, "close", broken)
    before = {task for task in asyncio.all_tasks() if task.get_name() == "lamina expiry"}
    assert before
    with pytest.raises(ProviderError):
        await app.close()
    assert all(task.done() for task in before)
    monkeypatch.undo()
    await closing(1.0)
