"""Addresses that pages lead to."""

import pytest

from lamina.page.address import is_web_address, session_address


def test_a_sessions_address_holds_whatever_its_key_is_made_of() -> None:
    assert session_address('a"b/&\u202e', at=3) == "/sessions?key=a%22b%2F%26%E2%80%AE&at=3"


@pytest.mark.parametrize("text", ["http://docs.example", "HTTPS://docs.example/x?y", "http://[not an address"])
def test_a_location_on_the_web_is_a_link_even_where_it_is_misspelt(text: str) -> None:
    assert is_web_address(text)


@pytest.mark.parametrize("text", ["javascript:alert(1)", " java\tscript:alert(1)", "data:text/html,x", "//x", "a.md"])
def test_any_other_location_is_text(text: str) -> None:
    assert not is_web_address(text)
