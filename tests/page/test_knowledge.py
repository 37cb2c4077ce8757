"""Knowledge and references in a browser: found, changed with every version kept, deleted."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import Picture
from tests.page.logging_in import logged_in
from tests.page.served import Served

RULE = "/v1/knowledge/lantern-rule"


@pytest.fixture(scope="module", autouse=True)
def lanterns(served: Served) -> None:
    """Knowledge and references that only these tests touch."""
    for content in ("Lanterns are lit at dusk", "Lanterns are lit at dusk and in fog"):
        served.ask("PUT", RULE, {"content": content, "category": "rule", "tags": ["lantern"]})
    served.ask("PUT", "/v1/knowledge/lantern-word", {"content": "A lantern is a lamp", "category": "definition"})
    for name, location in (("lantern-wiki", "https://wiki.example/lantern"), ("lantern-trap", "javascript:alert(1)")):
        body = {"type": "wiki", "location": location, "summary": "<b>How lanterns are lit</b>"}
        served.ask("PUT", f"/v1/references/{name}", body)


def test_knowledge_is_found_within_a_category_with_the_signals_of_its_score(page: Page, picture: Picture) -> None:
    page.goto("/knowledge?q=when+do+gateways+get+their+firmware")
    expect(page.locator(".entry").first).to_be_visible()
    picture(page, "knowledge")
    page.get_by_label("Search").fill("when are lanterns lit")
    page.get_by_label("Search").press("Enter")
    expect(page.locator(".entry").filter(has_text="lantern-rule")).to_contain_text("words 0.")
    page.goto("/knowledge?q=lantern&kind=definition")
    expect(page.locator(".entry strong")).to_have_text(["lantern-word"])


def test_a_change_makes_a_version_and_a_faster_one_is_not_overwritten(page: Page, served: Served) -> None:
    page.goto("/knowledge?q=lantern&kind=rule")
    page.get_by_role("button", name="lantern-rule").click()
    expect(page.locator(".version")).to_have_count(2)
    expect(page.locator(".version").first.locator("ins")).to_have_text(" and in fog")
    page.get_by_role("button", name="Edit", exact=True).click()
    served.ask("PUT", RULE, {"content": "Lanterns are lit at six", "category": "rule"})
    page.get_by_label("Text").fill("Lanterns are lit at seven")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="CONFLICT")).to_contain_text("it is at version 3")
    expect(page.get_by_label("Text")).to_have_value("Lanterns are lit at seven")
    page.get_by_role("button", name="Take theirs").click()
    expect(page.locator(".sheet .main-text")).to_have_text("Lanterns are lit at six")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text").fill("Lanterns are lit at eight")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".version")).to_have_count(4)
    expect(page.locator(".version").first).to_contain_text("by the user")


def test_deleting_knowledge_takes_every_version_with_it(page: Page, served: Served) -> None:
    served.ask("PUT", "/v1/knowledge/lantern-gone", {"content": "Oil is in the shed", "category": "fact"})
    page.goto("/knowledge?kind=fact&q=oil+shed")
    page.get_by_role("button", name="lantern-gone").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    ask = page.get_by_role("alertdialog")
    expect(ask).to_contain_text("its only version")
    ask.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    expect(page.get_by_role("button", name="lantern-gone")).to_have_count(0)


def test_a_reference_is_a_link_only_where_that_leads_to_a_page(page: Page) -> None:
    page.goto("/knowledge?shelf=references&q=how+lanterns+are+lit")
    page.get_by_role("button", name="lantern-trap").click()
    expect(page.locator(".sheet .facts")).to_contain_text("javascript:alert(1)")
    expect(page.locator(".sheet a")).to_have_count(0)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="lantern-wiki").click()
    expect(page.locator(".sheet a")).to_have_attribute("href", "https://wiki.example/lantern")
    expect(page.locator(".sheet .main-text")).to_have_text("<b>How lanterns are lit</b>")


def test_where_knowledge_is_off_the_page_says_how_to_switch_it_on(browser: Browser, keyed: tuple[Served, str]) -> None:
    with logged_in(browser, *keyed) as page:
        page.goto("/knowledge")
        expect(page.get_by_text("LAMINA_KNOWLEDGE__ENABLED=true lamina serve")).to_be_visible()
