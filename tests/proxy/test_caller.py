"""Which session a request belongs to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.proxy.caller import Caller, caller_of
from lamina.proxy.error import EndpointError
from lamina.session.checked import check_session_key

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]


def caller(
    body: dict[str, Any] | None = None, messages: list[Any] = HELLO, tenant: str = "t", key: str = "k", **headers: str
) -> Caller:
    sent = {"authorization": f"Bearer {key}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    return caller_of(raw, body or {}, messages, tenant=tenant)


def test_a_header_wins_over_the_user_and_the_user_over_the_words() -> None:
    assert caller({"user": "ann"}, x_lamina_session="s:1").session_key == "s:1"
    by_user = caller({"user": "ann"})
    assert by_user == caller({"user": "ann"}, [{"role": "user", "content": "Something else"}])
    assert (by_user.user_id, by_user.named) == ("ann", True)
    assert not caller().named


def test_the_header_names_the_user_where_both_do() -> None:
    assert caller({"user": "ann"}, x_lamina_user="ben").user_id == "ben"


@given(st.text(), st.text())
def test_no_two_callers_tenants_or_beginnings_share_what_is_worked_out(one: str, other: str) -> None:
    if one == other:
        return
    said = [[{"role": "user", "content": text}] for text in (one, other)]
    assert caller(messages=said[0]).session_key != caller(messages=said[1]).session_key


@pytest.mark.parametrize("body", [{}, {"user": "ann"}, {"conversation": {"id": "conv_1"}}])
def test_the_same_words_of_another_caller_are_another_session(body: dict[str, Any]) -> None:
    keys = {caller(body).session_key, caller(body, key="other").session_key, caller(body, tenant="u").session_key}
    assert len(keys) == 3
    for key in keys:
        assert check_session_key(key) == key


def test_a_conversation_without_a_beginning_has_no_session() -> None:
    assert caller(messages=[{"role": "system", "content": "x"}]).session_key is None


@pytest.mark.parametrize("user", [7, None, "", "  ", "a\x00b", "a" * 300, ["ann"], "\ud800"])
def test_a_user_that_is_no_name_is_nobody(user: Any) -> None:
    assert caller({"user": user}) == caller()


def test_a_header_that_is_no_name_is_refused() -> None:
    with pytest.raises(EndpointError):
        caller(x_lamina_session="a\x1fb")
    with pytest.raises(EndpointError):
        caller(x_lamina_user="x" * 300)


def test_no_key_can_be_read_from_a_session() -> None:
    key = caller(key="sk-secret").session_key
    assert key is not None
    assert "secret" not in key
    assert key.startswith("openai:")
