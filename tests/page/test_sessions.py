"""Sessions in a browser: the drawing, messages and notes both ways, recall, and deleting."""

from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import Picture
from tests.page.logging_in import logged_in
from tests.page.served import Served

STORY = "/sessions?key=slack:tidewater:mara"
"""A conversation of the demo, long and noted."""
HOSTILE = "<script>window.taken = 1</script> hello"


def opened(page: Page) -> int:
    """Open the conversation of the demo; how many messages it has."""
    page.goto(STORY)
    heading = page.get_by_role("heading", name="Messages ")
    total = int(heading.inner_text().rpartition(" ")[2])
    assert total > 60
    expect(heading).to_have_text(f"Messages {total - 39} to {total} of {total}")
    return total


def test_sessions_are_listed_and_one_user_can_be_searched_through_all_of_them(page: Page) -> None:
    page.goto("/sessions")
    expect(page.get_by_role("link", name="slack:tidewater:mara")).to_be_visible()
    page.get_by_label("User").fill("jonas")
    page.get_by_label("Recall").fill("readings of the cold store")
    page.get_by_label("Recall").press("Enter")
    expect(page.locator(".entry").first).to_contain_text("words 0.")
    page.locator(".entry a").first.click()
    expect(page.locator(".said.chosen")).to_be_visible()


def test_the_drawing_leads_to_messages_and_notes(page: Page, picture: Picture) -> None:
    total = opened(page)
    page.get_by_role("button", name="Note 1:").click()
    expect(page.get_by_role("heading", name=f"Messages 1 to 40 of {total}")).to_be_visible()
    expect(page.locator(".noted.open .line").first).to_be_visible()
    picture(page, "session")
    page.locator(".box.stretch").last.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Messages {total - 39} to {total} of {total}")).to_be_visible()


def test_a_line_leads_to_the_messages_it_comes_from_and_a_message_to_its_lines(page: Page) -> None:
    page.goto(STORY)
    page.get_by_role("button", name="Note 1:").click()
    line = page.locator(".noted.open .line").first
    source = line.locator(".hop").first
    number = source.inner_text()
    source.click()
    chosen = page.locator(".said.chosen")
    expect(chosen.locator(".said-number")).to_have_text(number)
    expect(chosen).to_contain_text("archived")
    page.goto(f"{STORY}&at={number.removeprefix('#')}")
    chosen.locator(".hop").first.click()
    expect(page.locator(".line.chosen").get_by_role("button", name=f"Message {number[1:]}", exact=True)).to_be_visible()


def test_every_word_is_found_again_and_long_sessions_come_in_stretches(page: Page) -> None:
    total = opened(page)
    expect(page.locator(".said")).to_have_count(40)
    page.get_by_role("button", name="Earlier").click()
    expect(page.locator(".said").last).to_have_attribute("data-sequence", str(total - 40))
    page.get_by_label("Go to").fill("3")
    page.get_by_label("Go to").press("Enter")
    expect(page.locator(".said.chosen .said-number")).to_have_text("#3")
    said = page.locator(".said.chosen .stored").inner_text()
    page.get_by_label("Recall").fill(said)
    page.get_by_label("Recall").press("Enter")
    page.get_by_role("button", name="#3 ").click()
    expect(page.locator(".said.chosen .stored")).to_have_text(said)


def test_the_economics_add_up(page: Page) -> None:
    total = opened(page)
    for name in ("Said", "Notes", "Saved in each prompt", "Not noted yet"):
        expect(page.locator(".figure-label").get_by_text(name, exact=True)).to_be_visible()
    expect(page.locator(".figure").first).to_contain_text(f"tokens in {total} messages")


def test_deleting_a_session_says_what_goes_and_what_went(page: Page, served: Served) -> None:
    body = {
        "messages": [{"role": "user", "content": HOSTILE}, {"role": "assistant", "content": "Hi"}],
        "user_id": "zoe",
    }
    served.post("/v1/sessions/web:zoe/messages", body)
    page.goto("/sessions?key=web:zoe")
    expect(page.locator(".said .stored").first).to_have_text(HOSTILE)
    assert page.evaluate("window.taken") is None
    page.get_by_role("button", name="Delete", exact=True).click()
    ask = page.get_by_role("alertdialog")
    expect(ask).to_contain_text("2 messages")
    ask.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The session is gone")).to_be_visible()
    expect(page.get_by_text("2 messages")).to_be_visible()
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("SESSION_NOT_FOUND")


def test_a_narrow_dark_screen_has_room_for_everything(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="dark")
    for path in (STORY, "/sessions", "/memories?user_id=mara&project_id=tidewater", "/knowledge"):
        page.goto(path)
        expect(page.locator(".said, .entry, tbody tr").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_somebody_sees_their_own_conversations_only(browser: Browser, keyed: tuple[Served, str]) -> None:
    service, admin = keyed
    for user in ("ben", "cleo"):
        body = {"messages": [{"role": "user", "content": "hello"}], "user_id": user}
        service.post(f"/v1/sessions/web:{user}/messages", body, key=admin)
    key = service.post("/v1/keys", {"name": "b", "right": "read", "identifiers": {"user_id": "ben"}}, key=admin)
    with logged_in(browser, service, key["secret"]) as page:
        page.goto("/sessions")
        expect(page.locator("tbody a")).to_have_text(["web:ben"])
        page.goto("/sessions?key=web:ben")
        expect(page.locator(".said")).to_have_count(1)
        expect(page.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
        page.goto("/sessions?key=web:cleo")
        expect(page.get_by_role("alert")).to_contain_text("SESSION_NOT_FOUND")
