"""A service with the story of the demo, one without anything but keys, and a browser.

The browser is a module's own: Playwright keeps an event loop running in this thread, in which other tests could not run
theirs. With PICTURES_OF_LAMINA=FOLDER in the environment the pictures of the guides are taken (`make pictures`).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from lamina.access.types import Right
from tests.page.served import FLAGS, Served, Watched, chromium, serving, within

Picture = Callable[[Page, str], None]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service on a store that tells a story of two weeks; no keys."""
    with serving(tmp_path_factory.mktemp("served") / "story.db", "--demo") as service:
        yield service


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """The service on an empty store, and a key for everything in it."""
    store = tmp_path_factory.mktemp("keyed") / "keyed.db"
    made = within(store, lambda app: app.keys.create("everything", right=Right.ADMIN))
    with serving(store) as service:
        yield service, made.secret


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=20_000)  # for a machine with a lot to do; what is there is seen at once
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser, served: Served) -> Iterator[BrowserContext]:
    """A person's browser before the story, light and wide; what was loaded once is kept."""
    context = browser.new_context(
        base_url=served.url, viewport={"width": 1280, "height": 860}, color_scheme="light", reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def watched(context: BrowserContext, served: Served) -> Iterator[Watched]:
    """The page that the tests of a module share: a new one is a new process."""
    watched = Watched(context, served.url)
    yield watched
    watched.page.close()


@pytest.fixture
def page(watched: Watched) -> Iterator[Page]:
    """A page before the story. At the end nothing may have left the origin, and no script may have failed."""
    yield watched.page
    watched.check()


@pytest.fixture
def picture() -> Picture:
    """Takes a picture for the guides, where somebody asked for them."""
    folder = os.environ.get("PICTURES_OF_LAMINA")

    def take(page: Page, name: str) -> None:
        if folder is not None:
            page.screenshot(path=Path(folder) / f"{name}.png")

    return take
