"""Days of the calendar: a week, a weekend, a month, a year, so many of them away, and the next or last of a weekday."""

from datetime import date, timedelta

from lamina.observation.calendar_words import Unit
from lamina.observation.types import Period


def days(first: date, length: int = 1) -> Period:
    """So many days from one on."""
    return Period(first=first, last=first + timedelta(days=length - 1))


def month_of(year: int, month: int) -> Period:
    """A month; the thirteenth is the first of the next year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    first = date(year, month, 1)
    return Period(first=first, last=date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1))


def year_of(year: int) -> Period:
    """A year."""
    return Period(first=date(year, 1, 1), last=date(year, 12, 31))


def shifted(unit: Unit, steps: int, today: date) -> Period:
    """The day, week, weekend, month or year that lies so many of them away."""
    monday = today - timedelta(days=today.weekday())
    if unit == "day":
        return days(today + timedelta(days=steps))
    if unit == "week":
        return days(monday + timedelta(days=7 * steps), 7)
    if unit == "weekend":
        return days(monday + timedelta(days=5 + 7 * steps), 2)
    return month_of(today.year, today.month + steps) if unit == "month" else year_of(today.year + steps)


def on_weekday(weekday: int, step: int, today: date) -> Period:
    """The last one before today, the next one from today on, or the one of next week."""
    if step < 0:
        return days(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1 + 7 * (-step - 1)))
    if step == 0:
        return days(today + timedelta(days=(weekday - today.weekday()) % 7))
    return days(today + timedelta(days=7 - today.weekday() + weekday + 7 * (step - 1)))


def calendar(year: int | None, month: int, day: int | None, tense: int, today: date) -> Period:
    """A month or a day; without a year, the one that the tense asks for, or else the nearest."""
    if year is not None:
        return month_of(year, month) if day is None else days(date(year, month, day))
    near = []
    for one in (today.year - 1, today.year, today.year + 1):
        try:
            near.append(month_of(one, month) if day is None else days(date(one, month, day)))
        except ValueError:  # the twenty-ninth of February of another year
            continue
    fitting = [one for one in near if (one.last >= today if tense > 0 else one.first <= today)] if tense else near
    if not fitting:
        raise ValueError("no such day")
    return min(fitting, key=lambda one: min(abs((one.first - today).days), abs((one.last - today).days)))


def month_step(month: int, step: int, today: date) -> Period:
    """The last one of a month before this one, that of this year, or the next one after this one."""
    year = today.year
    if step < 0:
        year -= month >= today.month
    elif step > 0:
        year += month <= today.month
    return month_of(year, month)
