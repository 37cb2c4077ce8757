"""Memories in a browser: whose, which layer wins, why something was found, and changing it without losing a word."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import Picture
from tests.page.logging_in import logged_in
from tests.page.served import Served

HOSTILE = "<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"
RITA = {"user_id": "rita"}
KIOSK = {"project_id": "kiosk"}
STOCK = {"user_id": "stock"}


@pytest.fixture(scope="module", autouse=True)
def rita(served: Served) -> None:
    """Memories that only these tests touch: a user's, a project's, and one that both say."""
    for content, tags in (
        ("Takes her tea without milk", ["tea"]),
        ("Rides to work on a blue bicycle", ["travel"]),
        (HOSTILE, ["<b>bold</b>"]),
        ("Wants every report as a table", ["reports"]),
    ):
        served.post("/v1/memories", {"content": content, "tags": tags, "identifiers": RITA})
    for content in ("Wants every report as a table.", "The kiosk opens at seven"):
        served.post("/v1/memories", {"content": content, "layer": "project", "identifiers": KIOSK})
    crates = [{"content": f"Crate {number} is in the cellar", "identifiers": STOCK} for number in range(30)]
    served.post("/v1/memories/bulk", {"memories": crates})


def test_somebody_is_chosen_and_the_layers_stand_in_the_order_they_win(page: Page, picture: Picture) -> None:
    page.goto("/memories")
    page.get_by_label("Search").fill("rit")
    page.get_by_label("Search").press("Enter")
    page.get_by_role("button", name="rita 4").click()
    expect(page.get_by_role("button", name="Put away user rita")).to_be_visible()
    expect(page.get_by_role("button", name="2 user rita 4")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("needs project")).to_be_visible()
    page.get_by_role("button", name="Choose somebody or a place as well").click()
    page.get_by_role("button", name="kiosk 2").click()
    expect(page.get_by_role("button", name="4 project kiosk 2")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("user_id=rita&project_id=kiosk"))
    page.goto("/memories?user_id=mara&project_id=tidewater")
    expect(page.locator(".section-head h2").first).to_have_text("User layer")
    assert page.locator(".section-head h2").all_inner_texts() == [
        f"{layer} layer" for layer in ("User", "Project", "Team", "Org", "Company")
    ]
    picture(page, "memories")


def test_a_search_says_why_something_was_found_and_what_was_left_out(page: Page) -> None:
    page.goto("/memories?user_id=rita&project_id=kiosk")
    page.get_by_label("Search").fill("reports as a table")
    page.get_by_label("Search").press("Enter")
    found = page.locator(".entry").first
    expect(found).to_contain_text("Wants every report as a table")
    expect(found).to_contain_text("words 0.")
    expect(found).to_contain_text("meaning 0.")
    expect(found.locator(".twin")).to_contain_text("Left out, the user layer says the same: project")
    found.locator(".twin button").click()
    expect(page.get_by_role("dialog")).to_contain_text("Searches leave this out: the user layer is stronger")
    expect(page).to_have_url(re.compile(r"q=reports\+as\+a\+table"))


def test_text_from_the_store_is_text_whatever_it_holds(page: Page) -> None:
    page.goto("/memories?user_id=rita")
    page.get_by_role("button", name=HOSTILE).click()
    expect(page.locator(".sheet .main-text")).to_have_text(HOSTILE)
    expect(page.locator(".sheet")).to_contain_text("#<b>bold</b>")
    assert page.evaluate("window.taken") is None
    assert page.locator("main img[src=x], main b").count() == 0


def test_a_change_that_somebody_else_overtook_keeps_what_was_typed(page: Page, served: Served) -> None:
    added = served.post("/v1/memories", {"content": "Lives in Berlin", "identifiers": RITA})
    page.goto("/memories?user_id=rita&layer=user")
    page.get_by_role("button", name="Lives in Berlin").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    changed = {"content": "Lives in Porto", "identifiers": RITA}
    served.ask("PATCH", f"/v1/memories/{added['memory']['id']}", changed)
    page.get_by_label("Text").fill("Lives in Lisbon")
    page.get_by_label("Metadata").fill("no json")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="CONFLICT")).to_contain_text("it is at version 2")
    expect(page.get_by_label("Text")).to_have_value("Lives in Lisbon")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_text("INVALID_INPUT: The metadata is not JSON")).to_be_visible()
    page.get_by_label("Metadata").fill('{"checked": true}')
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".sheet .main-text")).to_have_text("Lives in Lisbon")
    expect(page.locator(".version")).to_have_count(3)
    expect(page.locator(".version").first.locator("ins")).to_have_text("Lisbon")


def test_something_is_remembered_from_the_page(page: Page) -> None:
    page.goto("/memories?user_id=novak&layer=user")
    expect(page.get_by_text("No memory here.")).to_be_visible()
    page.get_by_text("Remember something in the user layer").click()
    page.get_by_label("What is to be remembered").fill("Collects stamps")
    page.get_by_label("Tags", exact=True).press_sequentially("hobby")
    page.get_by_role("button", name="Remember it").click()
    expect(page.locator(".entry")).to_contain_text("Collects stamps")
    expect(page.locator(".entry")).to_contain_text("#hobby")


def test_deleting_says_what_goes_and_can_be_left(page: Page, served: Served) -> None:
    served.post("/v1/memories", {"content": "Owes the baker two euros", "identifiers": RITA})
    page.goto("/memories?user_id=rita&layer=user")
    page.get_by_role("button", name="Owes the baker").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    ask = page.get_by_role("alertdialog")
    expect(ask).to_contain_text("its vector, its place in the index, and what the graph read from it")
    page.keyboard.press("Escape")
    expect(ask).to_have_count(0)
    page.get_by_role("button", name="Delete", exact=True).click()
    ask.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    expect(page.get_by_role("button", name="Owes the baker")).to_have_count(0)


def test_a_long_layer_comes_page_by_page_and_a_tag_narrows_it(page: Page) -> None:
    page.goto("/memories?user_id=stock&layer=user")
    expect(page.locator(".entry")).to_have_count(25)
    page.get_by_role("button", name="Older ones").click()
    expect(page.locator(".entry")).to_have_count(30)
    page.goto("/memories?user_id=rita&layer=user")
    page.get_by_role("button", name="#tea").click()
    expect(page.locator(".entry")).to_have_count(1)
    page.get_by_label("Any of these tags").press_sequentially("travel")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".entry")).to_have_count(2)
    expect(page).to_have_url(re.compile("tags=tea%0Atravel$"))


def test_a_key_for_reading_changes_nothing_and_a_bound_one_sees_its_own(
    browser: Browser, keyed: tuple[Served, str]
) -> None:
    service, admin = keyed
    for user in ("ben", "cleo"):
        body = {"content": f"{user} likes rain", "identifiers": {"user_id": user}}
        service.post("/v1/memories", body, key=admin)
    key = service.post("/v1/keys", {"name": "look", "right": "read", "identifiers": {"user_id": "ben"}}, key=admin)
    with logged_in(browser, service, key["secret"]) as page:
        page.goto("/memories")
        page.get_by_role("button", name="ben likes rain").click()
        expect(page.locator(".sheet .main-text")).to_have_text("ben likes rain")
        expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
        expect(page.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
        page.goto("/memories?user_id=cleo")
        expect(page.get_by_role("alert")).to_contain_text("FORBIDDEN")
        expect(page.get_by_text("cleo likes rain")).to_have_count(0)
