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


def asked(url: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    try:
        with build_opener(_Unmoved).open(Request(url, data, headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refusal:
        return refusal.code, refusal.read().decode()


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
