"""The frame of every page: keyboard, narrow and dark screens, and nothing for whoever comes from elsewhere."""

import re
from http.client import HTTPConnection

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.served import Served

NAMELESS = """() => [...document.querySelectorAll("a, button, input, textarea, select, [tabindex='0']")]
    .filter((one) => one.checkVisibility() && !(one.innerText || one.ariaLabel || one.labels?.length || one.title
        || one.closest("label")?.innerText))
    .map((one) => one.outerHTML.slice(0, 200))"""
FOCUSED = """() => {
    const one = document.activeElement, box = one.closest(".q-field");
    const style = getComputedStyle(one);
    return { name: one.innerText || one.ariaLabel || one.placeholder || one.tagName,
             seen: style.outlineStyle !== "none" || style.boxShadow !== "none" || box?.matches(".q-field--focused") };
}"""


def paths(page: Page) -> list[str]:
    """Every page there is, from the navigation."""
    page.goto("/")
    return [str(link.get_attribute("href")) for link in page.locator("nav a").all()]


def test_every_page_fits_a_narrow_dark_screen_and_names_its_controls(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, viewport={"width": 400, "height": 800}, color_scheme="dark")
    page = context.new_page()
    found = paths(page)
    assert {"/", "/playground"} <= set(found)
    for path in found:
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
        assert page.evaluate(NAMELESS) == [], path
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 22)"
    expect(page.locator("nav")).to_be_hidden()
    page.get_by_role("button", name="Menu").press("Enter")
    page.get_by_role("link", name="Playground").click()
    expect(page).to_have_url(f"{served.url}/playground")
    context.close()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(page: Page) -> None:
    page.goto("/")
    expect(page.locator("[data-panel=counts] .figure").first).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == {"name": "Skip to content", "seen": True}
    page.goto("/playground")
    page.locator(".skip").focus()
    names: list[str] = []
    while len(names) < 60:
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert focused["seen"], focused
        names.append(focused["name"])
        if focused["name"] == "Assemble":
            break
    assert {"Overview", "Light or dark", "Assemble"} <= {name.split("\n")[-1] for name in names}


def test_light_and_dark_are_kept(page: Page) -> None:
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto("/playground")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.evaluate("localStorage.clear()")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"X-Forwarded-For": "10.0.0.1"}, 403),
    ],
)
def test_a_page_of_another_place_gets_nothing(served: Served, headers: dict[str, str], status: int) -> None:
    for path in ("/", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        assert asked(served, "GET", path, headers)[0] == status


def test_a_socket_from_another_place_is_refused(served: Served) -> None:
    socket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    assert asked(served, "GET", path, {**socket, **key, "Origin": "http://evil.example"})[0] == 403
    assert asked(served, "GET", path, {**socket, **key, "Origin": served.url})[0] == 101


def test_a_browser_is_told_to_load_nothing_from_elsewhere(served: Served) -> None:
    status, headers = asked(served, "GET", "/", {})
    assert (status, headers["x-frame-options"]) == (200, "DENY")
    assert "default-src 'self'" in headers["content-security-policy"]


def test_a_path_that_is_no_page_is_not_found(served: Served) -> None:
    status, headers = asked(served, "GET", "/nowhere", {})
    assert (status, headers["content-type"]) == (404, "application/json")


def asked(served: Served, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer."""
    connection = HTTPConnection(served.url.removeprefix("http://"), timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}
