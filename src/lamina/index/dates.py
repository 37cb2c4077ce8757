"""Dates that a question names: which stretch of time it asks about. English words and ISO dates.

Not a general date parser: a miss only means that time plays no part in the ranking.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
)
ISO_DATE = re.compile(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?\b")
"""Year, month and, where given, day."""


def named_date(months: str, *, cues: str = "", links: str = "of", ordinals: str = "st|nd|rd|th") -> re.Pattern[str]:
    """A pattern for dates with one of the month names: `cue`, `before` or `after` (the day), `month`, `year`."""
    of = rf"(?:(?:{links})\s+)?"
    return re.compile(
        rf"(?:\b(?P<cue>in|on|of|by|since|until|during|early|late|mid|last|this|next{cues})\s+)?"
        rf"(?:\b(?P<before>\d{{1,2}})(?:{ordinals})?\s+{of})?"
        rf"\b(?P<month>{months})\b\.?"
        rf"(?:\s+(?P<after>\d{{1,2}})(?:{ordinals})?\b)?(?:,?\s+{of}(?P<year>(?:19|20)\d\d)\b)?",
        re.IGNORECASE,
    )


_NAMED = named_date(_MONTH_NAMES)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_AGO = re.compile(r"\b(\d{1,3}|a|one|two|three|four|five|six)\s+(day|week|month|year)s?\s+ago\b")
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
# From so many days ago to so many days ago, both counted in.
_RELATIVE = {
    "today": (0, 0),
    "tonight": (0, 0),
    "this morning": (0, 0),
    "yesterday": (1, 1),
    "last night": (1, 1),
    "this week": (6, 0),
    "last week": (13, 1),
    "this month": (30, 0),
    "last month": (61, 1),
    "this year": (365, 0),
    "last year": (730, 183),
}
_RELATIVE_WORDS = re.compile(r"\b(" + "|".join(_RELATIVE) + r")\b")
# How everything above begins, by its first letter; nearly every question has none of it.
_HINT = re.compile(
    r"\b(?:\d|a(?:pr|ug|go)|dec|feb|j(?:an|u[nl])|last|ma[ry]|nov|oct|sep|t(?:oday|onight|his)|yesterday)"
)

_SECONDS = 86_400.0
_AFTERWARDS = 7 * _SECONDS
_AFTERWARDS_STRENGTH = 0.5
_LONG = 45 * _SECONDS
_LONG_STRENGTH = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class DateSpan:
    """A calendar year, month or day (a month or day without a year: of any year), or days before now."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    days_ago: tuple[int, int] | None = None


def find_dates(text: str) -> tuple[DateSpan, ...]:
    """Find the dates a question names; empty when it names none."""
    lowered = text.lower()
    if _HINT.search(lowered) is None:
        return ()
    spans = [
        DateSpan(year=int(year), month=int(month), day=int(day) if day else None)
        for year, month, day in ISO_DATE.findall(lowered)
    ]
    spans += [DateSpan(days_ago=_RELATIVE[words]) for words in _RELATIVE_WORDS.findall(lowered)]
    for number, unit in _AGO.findall(lowered):
        days = (_NUMBERS.get(number) or int(number)) * _DAYS[unit]
        slack = max(days // 5, 1)
        spans.append(DateSpan(days_ago=(days + slack, max(days - slack, 0))))
    named = [span for match in _NAMED.finditer(lowered) if (span := _named(match)) is not None]
    years = [int(year) for year in _YEAR.findall(lowered)]
    if len(set(years)) == 1:
        named = [DateSpan(year=years[0], month=span.month, day=span.day) for span in named]
    spans += named
    if not spans:
        spans = [DateSpan(year=year) for year in years]
    return tuple(dict.fromkeys(spans))


def is_month(match: re.Match[str]) -> bool:
    """Whether a match of `named_date` speaks of time.

    "may" and "march" are also ordinary words: a day, a year or a preposition makes them months.
    """
    plain = match["month"].lower() not in ("may", "march", "mar")
    return plain or bool(match["before"] or match["after"] or match["year"] or match["cue"])


def _named(match: re.Match[str]) -> DateSpan | None:
    if not is_month(match):
        return None
    day = match["before"] or match["after"]
    month = _MONTHS.index(match["month"][:3]) + 1
    year = int(match["year"]) if match["year"] else None
    return DateSpan(year=year, month=month, day=int(day) if day else None)


def said_within(said_at: NDArray[np.float64], spans: tuple[DateSpan, ...], now: float) -> NDArray[np.float32] | None:
    """Say how well each time fits the dates asked for: 1 within, less soon after (things get told later).

    A span of many months says little and counts less. None when no entry fits; an unknown time (0) never does.
    """
    known = said_at[said_at > 0] if spans else said_at[:0]
    if not len(known):
        return None
    fits = np.zeros(len(said_at), np.float32)
    for span in spans:
        for start, end in _intervals(span, float(known.min()), float(known.max()), now):
            strength = 1.0 if end - start < _LONG else _LONG_STRENGTH
            told = (said_at >= max(start, 1.0)) & (said_at < end + _AFTERWARDS)
            np.maximum(fits, np.float32(strength * _AFTERWARDS_STRENGTH), out=fits, where=told)
            np.maximum(fits, np.float32(strength), out=fits, where=told & (said_at < end))
    return fits if fits.any() else None


def _intervals(span: DateSpan, first: float, last: float, now: float) -> list[tuple[float, float]]:
    if span.days_ago is not None:
        today = now // _SECONDS * _SECONDS
        return [(today - span.days_ago[0] * _SECONDS, today + (1 - span.days_ago[1]) * _SECONDS)]
    years = [span.year] if span.year else range(_year(first), _year(last) + 1)
    return [interval for year in years if (interval := _calendar(year, span.month, span.day)) is not None]


def _year(seconds: float) -> int:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=min(seconds, 2e11))).year


def _calendar(year: int, month: int | None, day: int | None) -> tuple[float, float] | None:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:  # the thirtieth of February
        return None
    if day:
        end = start + timedelta(days=1)
    elif month:
        end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    else:
        end = datetime(year + 1, 1, 1, tzinfo=UTC)
    return start.timestamp(), end.timestamp()
