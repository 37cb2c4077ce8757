"""The overview in a browser."""

from playwright.sync_api import Page, expect

from tests.page.conftest import Picture
from tests.page.served import Served


def test_the_overview_counts_what_is_known(page: Page, picture: Picture) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    picture(page, "overview")
