"""Words that name days, seen from the moment they were said."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.types import Period
from lamina.observation.when import find_periods, refers_to

SATURDAY = datetime(2023, 7, 15, 13, 51, tzinfo=UTC)


def named(text: str, said_at: datetime = SATURDAY) -> list[tuple[str, str]]:
    """The first and last days that a text names."""
    found = find_periods(text, said_at)
    return [(one.period.first.isoformat(), one.period.last.isoformat()) for one in found]


def day(text: str) -> tuple[str, str]:
    return (text, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I saw it yesterday", day("2023-07-14")),
        ("the day before yesterday we met", day("2023-07-13")),
        ("see you tomorrow!", day("2023-07-16")),
        ("last night was fun", day("2023-07-14")),
        ("I went there two days ago", day("2023-07-13")),
        ("a couple of weeks ago", ("2023-06-26", "2023-07-02")),
        ("I moved here three years ago", ("2020-01-01", "2020-12-31")),
        ("we leave in two weeks", ("2023-07-24", "2023-07-30")),
        ("10 days from now", day("2023-07-25")),
        ("I called her last Friday", day("2023-07-14")),
        ("Last fri I took the kids there", day("2023-07-14")),
        ("next Friday works", day("2023-07-21")),
        ("this Tuesday we meet", day("2023-07-18")),
        ("the coming Monday", day("2023-07-17")),
        ("I won on Friday", day("2023-07-14")),
        ("We'll meet on Friday", day("2023-07-21")),
        ("it is due by Wednesday", day("2023-07-19")),
        ("last week I ran", ("2023-07-03", "2023-07-09")),
        ("the week before last", ("2023-06-26", "2023-07-02")),
        ("last weekend", ("2023-07-08", "2023-07-09")),
        ("this past weekend was insane", ("2023-07-08", "2023-07-09")),
        ("the weekend before last", ("2023-07-01", "2023-07-02")),
        ("two weekends ago", ("2023-07-01", "2023-07-02")),
        ("we hiked over the weekend", ("2023-07-08", "2023-07-09")),
        ("next month I travel", ("2023-08-01", "2023-08-31")),
        ("last year", ("2022-01-01", "2022-12-31")),
        ("last August I told you", ("2022-08-01", "2022-08-31")),
        ("next March", ("2024-03-01", "2024-03-31")),
        ("we met in June", ("2023-06-01", "2023-06-30")),
        ("we will marry in June", ("2024-06-01", "2024-06-30")),
        ("on 5 May", day("2023-05-05")),
        ("May 3, 2023", day("2023-05-03")),
        ("the 3rd of June 2021", day("2021-06-03")),
        ("June 2023", ("2023-06-01", "2023-06-30")),
        ("I started in 2019", ("2019-01-01", "2019-12-31")),
        ("due 2023-05-08", day("2023-05-08")),
        ("report 2023-05", ("2023-05-01", "2023-05-31")),
        ("2023/05/08", day("2023-05-08")),
        ("25/8/2023", day("2023-08-25")),
        ("The week before 9 June 2023", ("2023-06-02", "2023-06-08")),
        ("The Sunday before 25 May 2023", day("2023-05-21")),
        ("the weekend of 24 June, 2022", ("2022-06-25", "2022-06-26")),
    ],
)
def test_english_words_become_days(text: str, expected: tuple[str, str]) -> None:
    assert named(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wir haben vorgestern telefoniert", day("2023-07-13")),
        ("Morgen? Nein, ich komme morgen früh", day("2023-07-16")),
        ("vor drei Tagen", day("2023-07-12")),
        ("letzte Woche", ("2023-07-03", "2023-07-09")),
        ("nächsten Montag", day("2023-07-17")),
        ("am 5. Mai 2023", day("2023-05-05")),
        ("am 08.05.2023", day("2023-05-08")),
        ("im Dezember 2022", ("2022-12-01", "2022-12-31")),
        ("la semaine dernière", ("2023-07-03", "2023-07-09")),
        ("il y a 3 jours", day("2023-07-12")),
        ("le 5 mai 2023", day("2023-05-05")),
        ("hier, j'ai mangé", day("2023-07-14")),
        ("demain", day("2023-07-16")),
        ("la semana pasada", ("2023-07-03", "2023-07-09")),
        ("hace dos semanas", ("2023-06-26", "2023-07-02")),
        ("el 5 de mayo de 2023", day("2023-05-05")),
        ("el lunes que viene", day("2023-07-17")),
        ("pasado mañana", day("2023-07-17")),
        ("我昨天去了上海", day("2023-07-14")),
        ("上个月", ("2023-06-01", "2023-06-30")),
        ("3天前", day("2023-07-12")),
        ("2023年5月8日", day("2023-05-08")),
        ("先週", ("2023-07-03", "2023-07-09")),
        ("2週間前", ("2023-06-26", "2023-07-02")),
        ("来月の展示会", ("2023-08-01", "2023-08-31")),
        ("어제 만났어요", day("2023-07-14")),
        ("지난주", ("2023-07-03", "2023-07-09")),
    ],
)
def test_other_languages_name_days_too(text: str, expected: tuple[str, str]) -> None:
    assert expected in named(text)


@pytest.mark.parametrize(
    "text",
    [
        "recently I moved",
        "a few weeks ago",
        "several days ago",
        "the other day",
        "some day",
        "next time",
        "in the last month",
        "over the past year",
        "it feels like just yesterday",
        "I finished it in two weeks",
        "I may go",
        "march on",
        "5/8/2023",
        "Guten Morgen!",
        "por la mañana",
        "on 31 February",
        "Fridays are fine",
        "we have sat in the sun",
        "room 2023",
        "",
    ],
)
def test_vague_words_name_no_day(text: str) -> None:
    assert named(text) == []


def test_the_days_stand_where_the_words_are() -> None:
    text = "I ran yesterday and I swim on 3 August 2023."
    assert [text[one.start : one.end] for one in find_periods(text, SATURDAY)] == ["yesterday", "3 August 2023"]


def test_the_day_of_the_message_itself_is_not_worth_naming() -> None:
    assert refers_to("I did it today", SATURDAY) is None
    assert refers_to("today I fixed what broke yesterday", SATURDAY) == Period(
        first=date(2023, 7, 14), last=date(2023, 7, 14)
    )


def test_the_day_is_that_of_the_clock_the_author_sees() -> None:
    midnight = datetime(2023, 7, 16, 0, 30, tzinfo=timezone(timedelta(hours=9)))
    assert named("yesterday", midnight) == [day("2023-07-15")]
    assert named("yesterday", midnight.astimezone(UTC)) == [day("2023-07-14")]


def test_a_change_of_the_clocks_moves_no_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for moment in (datetime(2023, 3, 26, 1, 59, tzinfo=berlin), datetime(2023, 3, 27, 0, 1, tzinfo=berlin)):
        (found,) = find_periods("yesterday", moment)
        assert found.period.first == moment.date() - timedelta(days=1)


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_time_are_no_error(moment: datetime) -> None:
    for text in ("yesterday", "tomorrow", "last year", "next month", "last weekend", "in 12 years", "on 29 February"):
        find_periods(text, moment)


MOMENTS = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC))
RELATIVE = st.sampled_from(
    ["yesterday", "tomorrow", "last Friday", "next Monday", "last week", "this weekend", "3 days ago", "two weeks ago"]
)


@settings(deadline=None)
@given(text=st.text(max_size=200), moment=st.datetimes(timezones=st.just(UTC)))
def test_no_text_fails_and_what_is_found_is_in_order(text: str, moment: datetime) -> None:
    found = find_periods(text, moment)
    assert all(0 <= one.start < one.end <= len(text) and one.period.first <= one.period.last for one in found)
    assert list(found) == sorted(found, key=lambda one: one.start)


WORDS = ["the", "week", "before", "last", "next", "Friday", "in", "2", "May", "2023", "3", "days", "ago", "上周", "vor"]


@settings(deadline=None)
@given(words=st.lists(st.sampled_from(WORDS)))
def test_words_for_days_in_any_order_are_no_error(words: list[str]) -> None:
    find_periods(" ".join(words), SATURDAY)


@settings(deadline=None)
@given(text=RELATIVE, moment=MOMENTS, weeks=st.integers(0, 200))
def test_what_is_said_weeks_later_is_weeks_later(text: str, moment: datetime, weeks: int) -> None:
    later = timedelta(weeks=weeks)
    (now,), (then,) = find_periods(text, moment), find_periods(text, moment + later)
    assert (then.period.first, then.period.last) == (now.period.first + later, now.period.last + later)


@settings(deadline=None)
@given(moment=MOMENTS)
def test_what_is_last_is_over_and_what_is_next_has_not_begun(moment: datetime) -> None:
    for unit in ("week", "month", "year", "Friday", "March"):
        (last,), (following,) = find_periods(f"last {unit}", moment), find_periods(f"next {unit}", moment)
        assert last.period.last < moment.date() < following.period.first
