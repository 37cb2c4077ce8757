"""Ids sort by time and never repeat."""

import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.kernel import ids
from lamina.kernel.ids import is_id, new_id


def test_an_id_is_a_uuid_of_version_7_that_carries_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    # Earlier ids of this process may have borrowed a millisecond, never more than a moment.
    assert before <= made.int >> 80 <= before + 60_000


def test_ids_made_one_after_the_other_sort_in_that_order() -> None:
    made = [new_id() for _ in range(5000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_threads_never_get_the_same_id() -> None:
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [new_id() for _ in range(1000)], range(4)))
    assert all(part == sorted(part) for part in parts)
    assert len({each for part in parts for each in part}) == 4000


@given(st.lists(st.integers(0, 2**48 - 2), min_size=2, max_size=50))
def test_ids_ascend_whatever_the_clock_does(moments: list[int]) -> None:
    sequence = ids._Sequence()
    made = [ids._format(*sequence.next(moment), tail=0) for moment in moments]
    assert all(earlier < later for earlier, later in pairwise(made))
    assert all(map(is_id, made))


def test_a_full_counter_borrows_the_next_millisecond() -> None:
    sequence = ids._Sequence()
    sequence.next(7)
    sequence._counter = 2**42 - 1
    assert sequence.next(7)[0] == 8
    assert sequence.next(7)[0] == 8


def test_another_process_starts_its_own_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    new_id()
    parent = ids._sequence
    monkeypatch.setattr(os, "getpid", lambda: parent.process + 1)
    new_id()
    assert ids._sequence is not parent


_SOME = uuid.UUID("5f0c1b1e-8a44-4d0e-9b57-0c3f5a6d7e81")


@pytest.mark.parametrize("text", ["", "x", str(_SOME).upper(), _SOME.hex, f"{_SOME}\n", "١" * 36])
def test_other_spellings_are_no_ids(text: str) -> None:
    assert not is_id(text)


def test_a_uuid_in_canonical_form_is_an_id() -> None:
    assert is_id(str(uuid.uuid4()))
