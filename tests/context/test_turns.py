"""How much of a prompt the previous turn already had."""

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from lamina.context.turns import PreviousTurns, common_prefix

letters = st.text(alphabet="ab", max_size=40)


@given(letters, letters, letters)
def test_the_common_prefix_is_exact(start: str, one: str, other: str) -> None:
    pairs = zip(start + one, start + other, strict=False)
    assert common_prefix(start + one, start + other) == len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def test_tokens_are_counted_up_to_where_two_turns_part_ways() -> None:
    turns = PreviousTurns()
    assert turns.follow("t", "s", "aaaabbbb", [("aaaa", 4), ("bbbb", 4)]) == 0
    assert turns.follow("t", "s", "aaaabbbb", [("aaaa", 4), ("bbbb", 4)]) == 8
    assert turns.follow("t", "s", "aaaabbcc", [("aaaa", 4), ("bbcc", 4)]) == 6
    assert turns.follow("t", "s", "xaaa", [("xaaa", 4)]) == 0


def test_sessions_and_tenants_have_their_own_turns() -> None:
    turns = PreviousTurns()
    turns.follow("t", "s", "aaaa", [("aaaa", 4)])
    assert turns.follow("t", "other", "aaaa", [("aaaa", 4)]) == 0
    assert turns.follow("other", "s", "aaaa", [("aaaa", 4)]) == 0
    assert turns.follow("t", None, "aaaa", [("aaaa", 4)]) == 0
    assert turns.follow("t", "s", "aaaa", [("aaaa", 4)]) == 4


def test_what_is_remembered_is_bounded_in_number_and_size() -> None:
    few = PreviousTurns(sessions=2)
    for session in ("a", "b", "c"):
        few.follow("t", session, "text", [("text", 1)])
    assert few.follow("t", "a", "text", [("text", 1)]) == 0
    small = PreviousTurns(characters=10)
    small.follow("t", "a", "x" * 8, [("x" * 8, 8)])
    small.follow("t", "b", "y" * 8, [("y" * 8, 8)])
    assert small.follow("t", "a", "x" * 8, [("x" * 8, 8)]) == 0
    assert small.follow("t", "a", "z" * 100, [("z" * 100, 8)]) == 0
    assert small.follow("t", "a", "z" * 100, [("z" * 100, 8)]) == 0
