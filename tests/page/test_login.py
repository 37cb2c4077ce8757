"""Logging in with a key, and what ends it."""

import json
import shlex
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from lamina.access.types import Right
from tests.page.conftest import Picture
from tests.page.served import Served, Watched, within

Keyed = tuple[Served, str]


@pytest.fixture
def stranger(browser: Browser, keyed: Keyed) -> Iterator[Page]:
    """A browser that nobody has logged in with."""
    context = browser.new_context(base_url=keyed[0].url, viewport={"width": 1280, "height": 860})
    watched = Watched(context, keyed[0].url)
    yield watched.page
    watched.end()
    context.close()


def log_in(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Log in").click()


def test_a_key_leads_to_what_was_wanted_and_then_out(stranger: Page, keyed: Keyed, picture: Picture) -> None:
    service, key = keyed
    stranger.goto("/playground?query=hello")
    expect(stranger).to_have_url(f"{service.url}/login?next=%2Fplayground%3Fquery%3Dhello")
    log_in(stranger, "lamina_nokey")
    expect(stranger.get_by_role("alert")).to_be_visible()
    picture(stranger, "login")
    log_in(stranger, key)
    expect(stranger).to_have_url(f"{service.url}/playground?query=hello")
    expect(stranger.locator(".who")).to_contain_text("admin key")
    (cookie,) = stranger.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], key in cookie["value"]) == (True, "Lax", False)
    stranger.get_by_role("button", name="Log out").click()
    expect(stranger).to_have_url(f"{service.url}/login")
    stranger.goto("/")
    expect(stranger.get_by_role("heading", name="Log in with a key")).to_be_visible()


def test_an_empty_store_explains_itself_until_something_is_known(stranger: Page, keyed: Keyed) -> None:
    service = keyed[0]
    key = within(service.store, lambda app: app.for_tenant("newcomers").keys.create("first", right=Right.WRITE)).secret
    stranger.goto("/login?next=//evil.example")
    log_in(stranger, key)
    expect(stranger).to_have_url(f"{service.url}/")
    expect(stranger.get_by_role("heading", name="Nothing is known yet")).to_be_visible()
    curl, address, *_, body = shlex.split(stranger.locator(".code-block").first.inner_text().replace("\\\n", ""))
    assert (curl, address) == ("curl", f"{service.url}/v1/memories")
    service.post("/v1/memories", json.loads(body), key=key)
    expect(stranger.locator("[data-panel=counts]")).to_be_visible()
    expect(stranger.locator(".tenant")).to_have_text("newcomers")
    expect(stranger.locator("[data-panel=operations]")).to_have_count(0)  # every tenant's, so not theirs to see


def test_a_key_that_is_revoked_ends_what_is_open(stranger: Page, keyed: Keyed) -> None:
    service, key = keyed
    made = within(service.store, lambda app: app.keys.create("ana's", right=Right.READ, user_id="ana"))
    stranger.goto("/playground")
    log_in(stranger, made.secret)
    expect(stranger.locator(".who")).to_contain_text("read key for ana")
    expect(stranger.get_by_role("link", name="Keys")).to_have_count(0)
    expect(stranger.get_by_label("User", exact=True)).to_be_disabled()
    expect(stranger.get_by_label("User", exact=True)).to_have_value("ana")
    stranger.get_by_label("Project").fill("secret")
    stranger.get_by_role("button", name="Assemble").click()
    expect(stranger.locator(".q-notification")).to_contain_text("FORBIDDEN: This key is not for this project_id.")
    stranger.goto("/")
    expect(stranger.locator("main")).to_contain_text("Memories within reach of this key")
    stranger.goto("/playground")
    service.ask("DELETE", f"/v1/keys/{made.key.id}", key=key)
    stranger.get_by_role("button", name="Assemble").click()
    expect(stranger.get_by_role("heading", name="Log in with a key")).to_be_visible()
