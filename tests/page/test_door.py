"""The door of the page: who is logged in, and what pages of other places are told."""

from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

from lamina.kernel.clock import ManualClock
from lamina.page.door import Logins
from tests.page.served import Served


class _Unmoved(HTTPRedirectHandler):
    """Leaves redirections as they are."""

    def redirect_request(self, *_: Any) -> None:
        return None


def answered(url: str, data: bytes | None = None, **headers: str) -> tuple[int, str, str]:
    """The status of an answer, its text, and the cookie that it sets."""
    try:
        answer = build_opener(_Unmoved).open(Request(url, data, headers), timeout=30)
    except HTTPError as refusal:
        answer = refusal
    with answer:
        return answer.status, answer.read().decode(), answer.headers.get("set-cookie", "")


def asked(url: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    return answered(url, data, **headers)[:2]


def cookie_of(service: Served, key: str, **headers: str) -> str:
    """The cookie that a login sets."""
    return answered(f"{service.url}/login", f"key={key}".encode(), **headers)[2]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://["])
@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_a_page_of_another_place_can_log_nobody_in_or_out(keyed: tuple[Served, str], path: str, origin: str) -> None:
    service, key = keyed
    assert asked(service.url + path, f"key={key}".encode(), Origin=origin)[0] == 403
    assert asked(service.url + path, f"key={key}".encode(), Origin=service.url)[0] == 303


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://["])
def test_a_page_of_another_place_sees_no_page(keyed: tuple[Served, str], origin: str) -> None:
    service, key = keyed
    for path in ("/login", "/memories"):
        assert asked(service.url + path, Origin=origin, Authorization=f"Bearer {key}")[0] == 403


def test_a_foreign_name_for_this_machine_gets_no_login(served: Served) -> None:
    assert asked(f"{served.url}/login", Host="evil.example")[0] == 403


def test_the_cookie_of_a_page_behind_tls_is_sent_over_tls_alone(keyed: tuple[Served, str]) -> None:
    service, key = keyed
    host = service.url.removeprefix("http://")
    assert "Secure" in cookie_of(service, key, Origin=f"https://{host}")
    assert "Secure" not in cookie_of(service, key, Origin=service.url)


def test_whoever_logs_in_again_has_one_session(keyed: tuple[Served, str]) -> None:
    service, key = keyed
    first = cookie_of(service, key).partition(";")[0]
    assert asked(f"{service.url}/keys", Cookie=first)[0] == 200
    second = cookie_of(service, key, Cookie=first).partition(";")[0]
    assert [asked(f"{service.url}/keys", Cookie=cookie)[0] for cookie in (first, second)] == [303, 200]


def test_what_is_not_there_costs_no_page(keyed: tuple[Served, str]) -> None:
    assert asked(f"{keyed[0].url}/_nicegui/anything") == (404, "Not Found")


def test_a_key_that_logs_in_without_end_puts_out_nobody_else() -> None:
    logins = Logins(ManualClock())
    owner = logins.open("owner")
    first, *_, last = [logins.open("busy") for _ in range(2000)]
    assert (logins.key(owner), logins.key(first), logins.key(last)) == ("owner", None, "busy")


def test_logins_that_are_over_make_room() -> None:
    clock = ManualClock()
    logins = Logins(clock)
    old = [logins.open(f"key {number}") for number in range(1000)]
    clock.advance(13 * 3600)
    new = [logins.open(f"key {number}") for number in range(1000)]
    assert {logins.key(token) for token in old} == {None}
    assert None not in {logins.key(token) for token in new}
