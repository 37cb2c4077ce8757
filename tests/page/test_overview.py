"""The overview in a browser: what it counts, that it lives, and what it says of an empty store."""

import re

from playwright.sync_api import Page, expect

from tests.page.conftest import Picture
from tests.page.served import Served


def figure(page: Page, panel: str, label: str) -> str:
    """The number with this label in a panel."""
    box = page.locator(f"[data-panel={panel}] .figure", has_text=label)
    return box.locator(".figure-value").inner_text()


def test_the_overview_counts_what_is_known_and_says_how_it_is(page: Page, picture: Picture) -> None:
    page.goto("/")
    assert int(figure(page, "counts", "Memories")) > 20
    assert int(figure(page, "counts", "Sessions")) == 5
    assert int(figure(page, "tokens", "Tokens saved").replace(",", "")) > 1000
    expect(page.locator("[data-panel=layers]")).to_contain_text("Company")
    grown = page.locator("[data-panel=growth] .columns").first
    expect(grown).to_have_attribute("aria-label", re.compile("Memories added on each day: .* [0-9]"))
    expect(page.locator("[data-panel=health]")).to_contain_text("SQLite")
    expect(page.locator("[data-panel=health] .bad")).to_have_count(0)
    picture(page, "overview")


def test_the_overview_lives(page: Page, served: Served) -> None:
    page.goto("/")
    memories = int(figure(page, "counts", "Memories"))
    served.post("/v1/memories", {"content": "Likes plums", "layer": "user", "identifiers": {"user_id": "noor"}})
    served.post("/v1/memories/search", {"query": "plums", "identifiers": {"user_id": "noor"}})
    expect(page.locator("[data-panel=counts] .figure-value").first).to_have_text(str(memories + 1))
    searches = page.locator("[data-panel=searches] .figure", has_text="In all").locator(".figure-value")
    expect(searches).not_to_have_text("0")
    expect(page.locator("[data-panel=operations]")).to_contain_text("search")


def test_errors_are_counted_by_code(page: Page, served: Served) -> None:
    page.goto("/playground")
    page.get_by_label("What the user says").fill("Is it cold?")
    page.get_by_label("Items a layer").fill("0")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".q-notification")).to_contain_text("INVALID_INPUT")
    expect(page.get_by_label("What the user says")).to_have_value("Is it cold?")
    page.goto("/")
    expect(page.locator("[data-panel=errors]")).to_contain_text("INVALID_INPUT")
