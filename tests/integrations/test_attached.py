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

pytestmark = pytest.mark.anyio


async def test_all_who_name_an_app_share_its_opening(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    one, other = attach(app), attach(app)
    assert one is other
    assert list(await asyncio.gather(one.opened(), other.opened())) == [app, app]
    await one.close()
    await other.close()
    assert not app.is_open


async def test_a_path_is_a_store_of_its_own(tmp_path: Path) -> None:
    attached = attach(tmp_path / "mine.db")
    app = await attached.opened()
    assert app.is_open
    assert (tmp_path / "mine.db").exists()
    await attached.close()
    assert not app.is_open


async def test_an_app_that_its_owner_opened_is_never_closed_for_him(app: App) -> None:
    attached = attach(app)
    assert await attached.opened() is app
    await attached.close()
    assert app.is_open


async def test_whoever_gives_up_waiting_does_not_stop_the_opening(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    attached = attach(app)
    hasty = asyncio.create_task(attached.opened())
    await asyncio.sleep(0)
    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    assert (await attached.opened()).is_open
    await attached.close()


async def test_an_app_that_was_closed_with_its_runner_is_opened_again_by_the_next_turn(sqlite_store_url: str) -> None:
    attached = attach(open(sqlite_store_url))
    for _ in range(2):
        assert (await attached.opened()).is_open
        await attached.close()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.adk.models.base_llm", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[adk\]'"):
        importlib.reload(adk)
