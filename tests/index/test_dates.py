import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.index import dates
from lamina.index.dates import DateSpan, find_dates, said_within


def at(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who had dinner with Maria on May 3, 2023?", DateSpan(year=2023, month=5, day=3)),
        ("What happened on the 3rd of May 2023?", DateSpan(year=2023, month=5, day=3)),
        ("Where did we camp in June?", DateSpan(month=6)),
        ("What did she paint in July 2022?", DateSpan(year=2022, month=7)),
        ("In 2021, which jobs did he have?", DateSpan(year=2021)),
        ("notes of 2024-02-29", DateSpan(year=2024, month=2, day=29)),
        ("what did we decide yesterday?", DateSpan(days_ago=(1, 1))),
        ("who called two weeks ago?", DateSpan(days_ago=(16, 12))),
    ],
)
def test_a_named_date_is_found(text: str, expected: DateSpan) -> None:
    assert find_dates(text) == (expected,)


@pytest.mark.parametrize("text", ["", "You may march on", "What is 42?", "the marching band", "may I ask?"])
def test_ordinary_words_are_no_dates(text: str) -> None:
    assert find_dates(text) == ()


@given(st.text(), st.floats(0, 4e9))
def test_any_text_and_time_are_survived(text: str, now: float) -> None:
    said_within(np.array([0.0, 1.0, now, 4e9]), find_dates(text + " on 31 february last week 1999"), now)


def test_what_was_said_on_the_day_fits_best_and_what_was_said_soon_after_fits_half() -> None:
    times = np.array([at(2023, 5, 3), at(2023, 5, 6), at(2023, 5, 2), at(2023, 6, 1), 0.0])
    fits = said_within(times, find_dates("on 3 May 2023"), now=0.0)
    assert fits is not None
    assert fits.tolist() == [1.0, 0.5, 0.0, 0.0, 0.0]


def test_a_month_without_a_year_fits_every_year() -> None:
    times = np.array([at(2021, 6, 10), at(2023, 6, 10), at(2023, 2, 1)])
    fits = said_within(times, find_dates("in June"), now=0.0)
    assert fits is not None
    assert fits.tolist() == [1.0, 1.0, 0.0]


def test_a_whole_year_says_less_than_a_day() -> None:
    fits = said_within(np.array([at(2023, 6, 10)]), find_dates("in 2023"), now=0.0)
    assert fits is not None
    assert 0 < fits[0] < 0.5


def test_yesterday_is_counted_from_now() -> None:
    times = np.array([at(2023, 6, 9), at(2023, 6, 5)])
    fits = said_within(times, find_dates("yesterday"), now=at(2023, 6, 10))
    assert fits is not None
    assert fits.tolist() == [1.0, 0.0]


def test_no_date_or_no_fitting_entry_gives_nothing() -> None:
    assert said_within(np.array([at(2023, 6, 9)]), (), now=0.0) is None
    assert said_within(np.array([at(2023, 6, 9)]), find_dates("in 1999"), now=0.0) is None
    assert said_within(np.array([0.0]), find_dates("in 1970"), now=0.0) is None


DATE_WORDS = (
    *("in", "on", "may", "march", "jan.", "sept", "december", "3", "12th", "5,", "2023", "1999-05", "2024-05-17,"),
    *("a", "two", "days", "weeks", "ago", "last", "this", "week", "night", "morning", "today", "yesterday"),
    *("tonight", "maybe", "market", "agony", "decide"),
)


@given(
    st.lists(
        st.sampled_from(DATE_WORDS),
        max_size=6,
    ).map(" ".join)
)
def test_a_question_is_passed_over_only_if_it_names_no_date(text: str) -> None:
    expected = find_dates(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dates, "_HINT", re.compile(""))
        assert find_dates(text) == expected
