"""A browser that has logged in."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

from tests.page.served import Served, Watched


@contextmanager
def logged_in(browser: Browser, service: Served, key: str, **options: object) -> Iterator[Page]:
    """A page of somebody with a key, held to the promises of every page."""
    context = browser.new_context(base_url=service.url, reduced_motion="reduce", **options)  # type: ignore[arg-type]
    context.set_default_timeout(15_000)
    watched = Watched(context, service.url)
    try:
        watched.page.goto("/login")
        watched.page.get_by_label("Key").fill(key)
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_url("**/")
        yield watched.page
        watched.end()
    finally:
        context.close()
