"""Which messages are new: whole histories, parts of them, edited ones. Laws, with made-up conversations."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from lamina.proxy.history import History, Known, known_from


def digest(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), digest_size=16).digest()


def store(history: History, *words: str, alone: bool = False) -> list[int]:
    """Store what is new of a client's history; its places."""
    placed = history.place([digest(word) for word in words], alone=alone)
    count = len(history.chains)
    new = [Known(digest=one.digest, chain=one.chain, sequence=count + at) for at, one in enumerate(placed.new, start=1)]
    history.follow(placed, new)
    assert len(placed.sequences) + len(placed.new) == len(words)
    return list(range(len(placed.sequences), len(words)))


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=12)


@given(WORDS, WORDS)
def test_a_history_that_grew_adds_what_it_grew_by_whatever_repeats_in_it(first: list[str], more: list[str]) -> None:
    history = History()
    assert store(history, *first) == list(range(len(first)))
    assert store(history, *first) == []
    assert store(history, *first, *more) == list(range(len(first), len(first) + len(more)))


@given(st.lists(st.integers(), unique=True, min_size=4, max_size=20), st.integers(1, 18))
def test_the_newest_part_of_a_history_adds_nothing(numbers: list[int], dropped: int) -> None:
    words = [str(number) for number in numbers]
    history = History()
    store(history, *words)
    part = words[min(dropped, len(words) - 2) :]
    assert store(history, *part) == []
    assert store(history, *part, "new") == [len(part)]


def test_a_summary_before_the_newest_part_is_the_clients_own() -> None:
    history = History()
    store(history, "a", "b", "c", "d")
    assert store(history, "summary of a and b", "c", "d", "e") == [3]
    assert [one.sequence for one in history.path] == [1, 2, 3, 4, 5]


def test_an_edited_history_is_new_from_the_edit_on_and_both_branches_go_on() -> None:
    history = History()
    store(history, "a", "b", "c", "d")
    assert store(history, "a", "b", "C", "d") == [2, 3]
    assert store(history, "a", "b", "c", "d", "e") == [4]
    assert store(history, "a", "b", "C", "d", "e") == [4]


def test_the_same_words_alone_after_an_answer_are_said_again() -> None:
    history = History()
    store(history, "yes", alone=True)
    assert store(history, "yes", alone=True) == []  # nobody answered: it is tried again
    history.answered = True
    assert store(history, "yes", alone=True) == [0]


def test_the_numbers_of_stored_messages_are_known() -> None:
    history = History()
    store(history, "a", "b", "c")
    assert history.place([digest(word) for word in "abcd"]).sequences == (1, 2, 3)
    assert history.place([digest(word) for word in "bcd"]).sequences == (2, 3)


def test_an_id_says_what_it_is_of_and_others_say_nothing() -> None:
    one = Known(digest=digest("a"), chain=digest("b"), sequence=7)
    assert known_from(one.id, 7) == one
    assert [known_from(id, 1) for id in ("", "other", "openai-", "openai-zz", f"{one.id}00")] == [None] * 5
