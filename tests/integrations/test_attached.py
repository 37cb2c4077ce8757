"""The app that an integration works with: opened by its owner, or by the first turn that needs it."""

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

from lamina.app import App, open
from lamina.errors import ConfigurationError
from lamina.integrations import adk
from lamina.integrations.attached import attach
from lamina.kernel.session_key import current_session_key, using_session

pytestmark = pytest.mark.anyio


async def itself(app: App) -> App:
    """The app; checks where it is asked."""
    assert app.loop is asyncio.get_running_loop()
    return app


async def test_all_who_name_an_app_share_its_opening(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    one, other = attach(app), attach(app)
    assert one is other
    assert list(await asyncio.gather(one.run(itself), other.run(itself))) == [app, app]
    await one.close()
    await other.close()
    assert not app.is_open


async def test_a_path_is_a_store_of_its_own(tmp_path: Path) -> None:
    attached = attach(tmp_path / "mine.db")
    app = await attached.run(itself)
    assert app.is_open
    assert (tmp_path / "mine.db").exists()
    await attached.close()
    assert not app.is_open


async def test_an_app_that_its_owner_opened_is_never_closed_for_him(app: App) -> None:
    attached = attach(app)
    assert await attached.run(itself) is app
    await attached.close()
    assert app.is_open


async def test_whoever_gives_up_waiting_does_not_stop_the_opening(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    attached = attach(app)
    hasty = asyncio.create_task(attached.run(itself))
    await asyncio.sleep(0)
    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    assert (await attached.run(itself)).is_open
    await attached.close()


async def test_an_app_that_was_closed_with_its_runner_is_opened_again_by_the_next_turn(sqlite_store_url: str) -> None:
    attached = attach(open(sqlite_store_url))
    for _ in range(2):
        assert (await attached.run(itself)).is_open
        await attached.close()


async def test_an_app_that_nobody_opened_is_opened_where_it_is_needed(sqlite_store_url: str) -> None:
    attached = attach(open(sqlite_store_url))
    app = await attached.run(itself)
    assert app.loop is asyncio.get_running_loop()
    await app.close()


async def test_an_app_that_another_thread_needs_first_outlives_the_loops_of_that_thread(sqlite_store_url: str) -> None:
    attached = attach(open(sqlite_store_url))

    def twice() -> bool:
        return asyncio.run(attached.run(itself)) is asyncio.run(attached.run(itself))

    assert await asyncio.to_thread(twice)
    assert (await attached.run(itself)).loop is not asyncio.get_running_loop()
    await attached.close()
    assert not attached.app.is_open


async def test_an_open_app_is_asked_on_its_own_loop_and_in_the_callers_context(app: App) -> None:
    attached = attach(app)

    async def session(app: App) -> str | None:
        await itself(app)
        return current_session_key()

    def elsewhere(key: str) -> str | None:
        with using_session(key):
            return asyncio.run(attached.run(session))

    keys = await asyncio.gather(*(asyncio.to_thread(elsewhere, f"k{number}") for number in range(4)))
    assert list(keys) == ["k0", "k1", "k2", "k3"]


def test_an_app_whose_loop_has_ended_is_refused_with_the_reason(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url, memory={"sweep_interval_s": 0.0})
    asyncio.run(app.start())
    with pytest.raises(ConfigurationError, match="loop that the app was opened on has ended"):
        asyncio.run(attach(app).run(itself))
    asyncio.run(app.parts.database.close())


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.adk.models.base_llm", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[adk\]'"):
        importlib.reload(adk)
