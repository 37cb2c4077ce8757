"""Keys in a browser: made, shown once, bound, revoked; and what a smaller key gets to see."""

from pathlib import Path
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Browser, expect

from lamina.access.types import Right
from tests.page.conftest import Picture
from tests.page.logging_in import logged_in
from tests.page.served import Served, Watched, serving, within

Keyed = tuple[Served, str]
MEMORY = {"content": "Likes tea", "layer": "user", "identifiers": {"user_id": "ana"}}


def test_a_key_is_made_shown_once_used_and_revoked(browser: Browser, keyed: Keyed, picture: Picture) -> None:
    service, key = keyed
    with logged_in(browser, service, key) as page:
        page.goto("/keys")
        page.get_by_label("Name").fill("for the shop")
        page.get_by_label("Only user").fill("ana")
        page.get_by_role("button", name="Make it").click()
        secret = page.locator(".secret").inner_text()
        assert secret.startswith("lamina_")
        picture(page, "keys")
        row = page.get_by_role("row", name="for the shop")
        expect(row).to_contain_text("user ana")
        assert service.post("/v1/memories", MEMORY, key=secret)
        page.reload()
        expect(page.get_by_role("row", name="for the shop")).to_be_visible()
        expect(page.locator(".secret")).to_have_count(0)
        page.get_by_role("row", name="for the shop").get_by_role("button", name="Revoke").click()
        page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("row", name="for the shop")).to_contain_text("revoked")
        with pytest.raises(HTTPError, match="401"):
            service.post("/v1/memories", MEMORY, key=secret)
        page.get_by_label("Name").fill("too late")
        page.get_by_label("Ends on").fill("tomorrow")
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_text("INVALID_INPUT: A day is written as 2027-01-31.")).to_be_visible()
        expect(page.get_by_label("Name")).to_have_value("too late")


def test_a_key_for_somebody_sees_neither_keys_nor_audit_nor_quarantine(browser: Browser, keyed: Keyed) -> None:
    service, _ = keyed
    made = within(service.store, lambda app: app.keys.create("ana's", right=Right.ADMIN, user_id="ana"))
    with logged_in(browser, service, made.secret) as page:
        navigation = page.get_by_role("navigation", name="Pages")
        expect(navigation.get_by_role("link", name="Memories")).to_be_visible()
        for name in ("Keys", "Audit", "Quarantine"):
            expect(navigation.get_by_role("link", name=name)).to_have_count(0)
            page.goto(f"/{name.lower()}")
            expect(page.get_by_role("alert")).to_contain_text("FORBIDDEN")


def test_the_first_key_is_shown_although_the_page_needs_one_from_then_on(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "first.db") as service:
        context = browser.new_context(base_url=service.url)
        watched = Watched(context, service.url)
        page = watched.page
        page.goto("/keys")
        page.get_by_label("Name").fill("mine")
        page.get_by_role("button", name="Make it").click()
        secret = page.locator(".secret").inner_text()
        page.get_by_role("link", name="Log in").click()
        page.get_by_label("Key").fill(secret)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".who")).to_contain_text("admin key")
        watched.end()
        context.close()
