"""Which messages need not be sent, because notes stand for them."""

from typing import Any

import pytest

from lamina.proxy.history import History, Known
from lamina.proxy.incoming import said_in
from lamina.proxy.leaving_out import places_to_leave_out

CALL: Any = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
RESULT: Any = {"role": "tool", "tool_call_id": "c", "content": "done"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def left_out(messages: list[dict[str, Any]], noted: int) -> list[int]:
    """The places left out of a history that is stored as it is, with numbers from 1 on."""
    said = said_in(messages)
    history = History()
    placed = history.place([one.digest for one in said])
    history.follow(
        placed, [Known(digest=one.digest, chain=one.chain, sequence=at) for at, one in enumerate(placed.new, 1)]
    )
    return sorted(places_to_leave_out(said, history, noted))


TALK = [{"role": "system", "content": "s"}, user("a"), assistant("b"), user("c"), assistant("d"), user("e")]


@pytest.mark.parametrize(("noted", "expected"), [(0, []), (1, []), (2, [1, 2]), (3, [1, 2]), (4, [1, 2, 3, 4])])
def test_what_is_noted_is_left_out_and_what_is_sent_begins_with_the_user(noted: int, expected: list[int]) -> None:
    assert left_out(TALK, noted) == expected


def test_the_users_latest_message_and_what_follows_stay_whatever_is_noted() -> None:
    assert left_out([*TALK, CALL, RESULT], 99) == [1, 2, 3, 4]


def test_a_call_is_never_apart_from_its_result() -> None:
    messages = [user("a"), CALL, user("hurry"), RESULT, assistant("b"), user("c")]
    assert left_out(messages, 2) == []
    assert left_out(messages, 5) == [0, 1, 2, 3, 4]


def test_a_history_that_nobody_knows_is_sent_whole() -> None:
    assert places_to_leave_out(said_in(TALK), History(), 99) == frozenset()
