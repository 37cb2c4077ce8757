"""Which days a sentence speaks of, seen from the moment it was said.

"Yesterday", "last Friday", "in two weeks", "am 5. Mai", "上周" become days of the calendar; so do dates that leave out
the year. The day of a message is the day on its author's clock: the date in the time zone that its time carries.
Weeks begin on Monday. What is vague stays unresolved: "recently", "a few weeks ago", "the other day", "next time".
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from lamina.index.dates import ISO_DATE, is_month, named_date
from lamina.observation.calendar_days import calendar, days, month_of, month_step, on_weekday, shifted, year_of
from lamina.observation.calendar_words import (
    DAY_WORDS,
    EAST_ASIAN_STEPS,
    FUTURE_WORDS,
    MONTHS,
    NUMBERS,
    PAST_WORDS,
    SHORT_WEEKDAYS,
    STEPS,
    UNITS,
    WEEKDAYS,
    Unit,
    either,
)
from lamina.observation.types import Period

_LATIN_UNITS = either(unit for unit in UNITS if unit.isascii() or unit[0].isascii())
_ASIAN_UNITS = either(unit for unit in UNITS if not unit[0].isascii())
_NUMBER = rf"(?P<number>\d{{1,3}}|{either(word for word in NUMBERS if word[0].isascii() or word[0] < 'Ā')})"
_ASIAN_NUMBER = r"(?P<number>\d{1,3}|[一二三四五六七八九十两兩])"
_UNIT = rf"(?P<unit>{_LATIN_UNITS})"
_WEEKDAY = rf"(?P<weekday>{either((*WEEKDAYS, *SHORT_WEEKDAYS))})"
_BEFORE_NOUN = either(word for word in STEPS if word not in ("dernier", "prochain"))
_AFTER_NOUN = r"derni[eè]re?s?|pass[ée]e?s?|prochaine?s?|pasad[oa]s?|pr[óo]xim[oa]s?|que\s+viene"
_CUES = r"|im|am|vom|seit|bis|ab|en|el|le|du|au|depuis|desde|début|fin|letzten|nächsten"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_NAMED = named_date(
    either(MONTHS), cues=_CUES, links=r"of|de|del", ordinals=r"st\b|nd\b|rd\b|th\b|er\b|\.(?=\s+[A-Za-zÀ-ÿ])"
)
_NUMERIC = re.compile(
    r"(?<![\d.:/-])(?:(?P<y>(?:19|20)\d\d)(?P<s>[/.])(?P<m>0?[1-9]|1[0-2])(?P=s)(?P<d>0?[1-9]|[12]\d|3[01])"
    r"|(?P<a>[0-3]?\d)(?P<t>[/.])(?P<b>[0-3]?\d)(?P=t)(?P<c>(?:19|20)\d\d))(?![\d:/-]|\.\d)"
)
_ASIAN_DATE = re.compile(
    r"(?:(?P<y>(?:19|20)\d\d)\s?[年년]\s?)?(?:(?P<m>1[0-2]|0?[1-9])\s?[月월]\s?)(?:(?P<d>3[01]|[12]\d|0?[1-9])\s?[日号號일])?"
    r"|(?P<only>(?:19|20)\d\d)\s?[年년]"
)
_YEAR = _pattern(
    r"\b(?:in|since|from|during|early|late|mid|by|around|im\s+jahr|seit|en|depuis|desde)\s+(?P<year>(?:19|20)\d\d)\b"
    r"(?![-/.:,]\d|\s+[a-z]+s\b)"
)
_LATIN_DAY_WORDS = either(word for word in DAY_WORDS if word[0] < "Ā")
_DAY = _pattern(rf"(?<!\blike )(?<!like just )(?<!like only )(?<![^\W_])(?:{_LATIN_DAY_WORDS})(?![^\W_])")
_ASIAN_DAY = re.compile(either(word for word in DAY_WORDS if word[0] >= "Ā"))
_MORGEN = re.compile(r"(?<!guten )(?<!Guten )(?<!heute )(?<!gestern )\bmorgen\b")
_HIER = _pattern(r"(?<![^\W_])hier(?=[\s,.!]+(?:j|on|nous|il|elle|soir|matin|le|la|les|à|au|en)\b)")
_MANANA = _pattern(r"(?<!la )(?<!esta )(?<!pasado )(?<!una )\bmañana\b(?!\s+por)")
_AGO = _pattern(
    rf"\b(?:{_NUMBER}\s+{_UNIT}\s+ago\b"
    rf"|(?:vor|il\s+y\s+a|hace)\s+{_NUMBER.replace('number', 'other')}\s+{_UNIT.replace('unit', 'thing')}\b)"
)
_AHEAD = _pattern(
    rf"\b(?:{_NUMBER}\s+{_UNIT}\s+from\s+(?:now|today)\b"
    rf"|(?P<lead>in|dans|dentro\s+de)\s+{_NUMBER.replace('number', 'other')}\s+{_UNIT.replace('unit', 'thing')}\b"
    rf"(?!\s+(?:ago|of)\b))"
)
_ASIAN_AWAY = re.compile(rf"{_ASIAN_NUMBER}\s?(?P<unit>{_ASIAN_UNITS})\s?以?(?P<way>前|전|后|後|뒤|후)")
_ASIAN_STEP = re.compile(either(EAST_ASIAN_STEPS))
_STEP = _pattern(
    rf"(?P<lead>\b(?:the|over|within|for|these|of)\s+)?\b(?:this\s+(?=past|coming))?(?P<step>{_BEFORE_NOUN})\s+"
    rf"(?:{_UNIT}|{_WEEKDAY}|(?P<month>{either(MONTHS)}))\b(?P<further>\s+before\s+last\b)?"
)
_STEP_AFTER = _pattern(rf"\b(?:{_UNIT}|{_WEEKDAY}|(?P<month>{either(MONTHS)}))\s+(?P<step>{_AFTER_NOUN})(?![^\W_])")
_BEFORE_LAST = _pattern(rf"\b(?:the\s+)?(?:{_UNIT}|{_WEEKDAY})\s+(?P<way>before\s+last|after\s+next)\b")
_BARE = _pattern(
    rf"\b(?:(?P<lead>on|am|this|le|el|by|until)\s+)?(?P<weekday>{either(WEEKDAYS)})\b(?!s)"
    r"|\b(?:over|at|during|on)\s+the\s+(?P<weekend>weekend)\b"
)
_ANCHORED = _pattern(rf"\b(?:the\s+)?(?:{_NUMBER}\s+)?(?:{_UNIT}|{_WEEKDAY})\s+(?P<way>before|after|of)\s+(?:the\s+)?$")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|['’]ll\b")
_PLAIN_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spotted:
    """Words that name days, where they stand, and which days they name."""

    start: int
    end: int
    period: Period


def find_periods(text: str, said_at: datetime) -> tuple[Spotted, ...]:
    """Every stretch of days that the text names, from left to right; none for vague words. Never fails."""
    words = set(_PLAIN_WORD.findall(text.lower()))
    digits = any(map(str.isdigit, text))
    plain = text.isascii()
    today = said_at.date()
    found: list[Spotted] = []
    for rule in _RULES:
        if rule.words.isdisjoint(words) and not (rule.digits and digits) and (plain or not rule.signs):
            continue
        for match in rule.pattern.finditer(text):
            if any(match.start() < one.end and one.start < match.end() for one in found):
                continue
            try:
                period = rule.resolve(match, today)
            except (OverflowError, ValueError):  # before the year 1, after 9999, or the thirtieth of February
                continue
            if period is not None:
                start = (
                    match.start("before" if match["before"] else "month") if rule.pattern is _NAMED else match.start()
                )
                found.append(Spotted(start=start, end=match.end(), period=period))
    return tuple(sorted(_anchored(text, found), key=lambda one: one.start))


def refers_to(text: str, said_at: datetime) -> Period | None:
    """The days a sentence is about: those it names first, unless that is only the day on which it was said."""
    for one in find_periods(text, said_at):
        if one.period != Period(first=said_at.date(), last=said_at.date()):
            return one.period
    return None


def _tense(match: re.Match[str]) -> int:
    """Whether the sentence around looks back (-1) or ahead (1), by the nearest word that tells; 0 when none does."""
    text, nearest, tense = match.string, 10_000, 0
    start = max(text.rfind(". ", 0, match.start()), text.rfind("! ", 0, match.start()), match.start() - 200, 0)
    for word in _WORD.finditer(text, start, min(match.end() + 120, len(text))):
        small = word.group().lower()
        far = min(abs(word.start() - match.end()), abs(match.start() - word.end()))
        if far >= nearest or match.start() <= word.start() < match.end():
            continue
        if small in FUTURE_WORDS or small.endswith(("'ll", "’ll")):
            nearest, tense = far, 1
        elif small in PAST_WORDS or (len(small) > 4 and small.endswith("ed")):
            nearest, tense = far, -1
    return tense


def _number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[" ".join(text.lower().split())]


def _unit(text: str) -> Unit:
    return UNITS[text.lower()]


def _iso(match: re.Match[str], today: date) -> Period:
    year, month = int(match[1]), int(match[2])
    return days(date(year, month, int(match[3]))) if match[3] else month_of(year, month)


def _numeric(match: re.Match[str], today: date) -> Period | None:
    if match["y"]:
        return days(date(int(match["y"]), int(match["m"]), int(match["d"])))
    first, second, year = int(match["a"]), int(match["b"]), int(match["c"])
    # 5.8.2023 is the fifth of August; 5/8/2023 is one thing in London and another in New York.
    if match["t"] == "." or first > 12 or first == second:
        return days(date(year, second, first))
    return days(date(year, first, second)) if second > 12 else None


def _asian_date(match: re.Match[str], today: date) -> Period | None:
    if match["only"]:
        return year_of(int(match["only"]))
    month, day = int(match["m"]), int(match["d"]) if match["d"] else None
    return calendar(int(match["y"]) if match["y"] else None, month, day, 0, today)


def _named(match: re.Match[str], today: date) -> Period | None:
    if not is_month(match):
        return None
    month, day, year = MONTHS[match["month"].lower()], match["before"] or match["after"], match["year"]
    if not (day or year or match["cue"]):
        return None
    step = STEPS.get((match["cue"] or "").lower())
    if step is not None and not day and not year:
        return month_step(month, step, today)
    return calendar(int(year) if year else None, month, int(day) if day else None, _tense(match), today)


def _in_year(match: re.Match[str], today: date) -> Period:
    return year_of(int(match["year"]))


def _day_word(match: re.Match[str], today: date) -> Period:
    return shifted("day", DAY_WORDS[" ".join(match.group().lower().split())], today)


def _fixed(days: int) -> "_Resolver":
    return lambda match, today: shifted("day", days, today)


def _ago(match: re.Match[str], today: date) -> Period:
    number = _number(match["number"] or match["other"])
    return shifted(_unit(match["unit"] or match["thing"]), -number, today)


def _ahead(match: re.Match[str], today: date) -> Period | None:
    # "I wrote it in two weeks" says how long it took.
    if match["lead"] and match["lead"].lower() == "in" and _tense(match) < 0:
        return None
    return shifted(_unit(match["unit"] or match["thing"]), _number(match["number"] or match["other"]), today)


def _asian_away(match: re.Match[str], today: date) -> Period:
    steps = _number(match["number"]) * (-1 if match["way"] in "前전" else 1)
    return shifted(_unit(match["unit"]), steps, today)


def _asian_step(match: re.Match[str], today: date) -> Period:
    return shifted(*EAST_ASIAN_STEPS[match.group()], today)


def _step(match: re.Match[str], today: date) -> Period | None:
    word, unit = match["step"].lower(), match["unit"]
    step = STEPS[word]
    if unit is not None:
        kind = _unit(unit)
        # "the last week" and "the past year" are a length of time, "the next day" counts from another one.
        if kind == "day" or (kind != "weekend" and (word == "past" or (match["lead"] and word in ("last", "next")))):
            return None
        return shifted(kind, step - 1 if match["further"] else step, today)
    if match["weekday"] is not None:
        weekday = {**SHORT_WEEKDAYS, **WEEKDAYS}[match["weekday"].lower()]
        if word in ("coming", "kommende", "kommenden"):
            return on_weekday(weekday, 0, today + timedelta(days=1))
        if step == 0 and _tense(match) < 0:
            return on_weekday(weekday, -1, today + timedelta(days=1))
        return on_weekday(weekday, step - 1 if match["further"] else step, today)
    return month_step(MONTHS[match["month"].lower()], step, today)


def _step_after(match: re.Match[str], today: date) -> Period | None:
    step = 1 if match["step"].lower().startswith(("pr", "que")) else -1
    if match["unit"] is not None:
        kind = _unit(match["unit"])
        return None if kind == "day" else shifted(kind, step, today)
    if match["weekday"] is not None:
        return on_weekday({**SHORT_WEEKDAYS, **WEEKDAYS}[match["weekday"].lower()], step, today)
    return month_step(MONTHS[match["month"].lower()], step, today)


def _before_last(match: re.Match[str], today: date) -> Period:
    steps = -2 if match["way"].lower().startswith("before") else 2
    if match["unit"] is not None:
        return shifted(_unit(match["unit"]), steps, today)
    return on_weekday({**SHORT_WEEKDAYS, **WEEKDAYS}[match["weekday"].lower()], steps, today)


def _bare(match: re.Match[str], today: date) -> Period | None:
    """A weekday or the weekend by itself: the sentence must tell whether it is over."""
    tense = _tense(match)
    if match["lead"] and match["lead"].lower() in ("by", "until"):
        tense = 1
    if not tense:
        return None
    if match["weekend"]:
        return shifted("weekend", min(tense, 0), today)
    return on_weekday(WEEKDAYS[match["weekday"].lower()], min(tense, 0), today)


def _anchored(text: str, found: list[Spotted]) -> Iterator[Spotted]:
    """Dates as they are, and `the week before <date>` counted from the date."""
    for one in found:
        if (
            one.period.first != one.period.last
            or (match := _ANCHORED.search(text[max(one.start - 60, 0) : one.start])) is None
        ):
            yield one
            continue
        try:
            period = _counted(match, one.period.first)
        except (OverflowError, ValueError):
            yield one
            continue
        yield Spotted(start=max(one.start - 60, 0) + match.start(), end=one.end, period=period)


def _counted(match: re.Match[str], day: date) -> Period:
    way = match["way"].lower()
    number = _number(match["number"]) if match["number"] else 1
    if match["weekday"] is not None:
        weekday = {**SHORT_WEEKDAYS, **WEEKDAYS}[match["weekday"].lower()]
        return on_weekday(weekday, -number, day) if way == "before" else on_weekday(weekday, 0, day + timedelta(days=1))
    kind = _unit(match["unit"])
    if way == "of":
        return shifted(kind, 0, day)
    if kind == "week":  # the seven days that end or begin beside it
        return (
            days(day - timedelta(days=7 * number), 7)
            if way == "before"
            else days(day + timedelta(days=7 * number - 6), 7)
        )
    return shifted(kind, -number if way == "before" else number - (kind == "weekend"), day)


_Resolver = Callable[[re.Match[str], date], Period | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """A way to name days. It is only tried on texts with one of its words, with digits, or with other letters."""

    pattern: re.Pattern[str]
    resolve: _Resolver
    words: frozenset[str] = frozenset()
    digits: bool = False
    signs: bool = False


def _parts(words: Iterable[str]) -> frozenset[str]:
    return frozenset(part for word in words for part in _PLAIN_WORD.findall(word))


_AFTER_WORDS = _parts(
    [
        *("dernier", "dernière", "derniere", "derniers", "dernières", "passé", "passée", "prochain", "prochaine"),
        *("pasado", "pasada", "próximo", "próxima", "proximo", "proxima", "viene"),
    ]
)
_NAMES = _parts((*WEEKDAYS, *SHORT_WEEKDAYS, *MONTHS, *UNITS))
_UNITS = _parts(UNITS) - {"an"} | {"vor", "hace", "dans", "y"}
_DAYS = _parts(word for word in DAY_WORDS if word[0] < "Ā") - _parts(["the this last before after ce d hui esta avant"])
_RULES = (
    _Rule(pattern=ISO_DATE, resolve=_iso, digits=True),
    _Rule(pattern=_NUMERIC, resolve=_numeric, digits=True),
    _Rule(pattern=_ASIAN_DATE, resolve=_asian_date, signs=True),
    _Rule(pattern=_BEFORE_LAST, resolve=_before_last, words=frozenset({"before", "after"})),
    _Rule(pattern=_STEP, resolve=_step, words=_NAMES - {"an"}),
    _Rule(pattern=_STEP_AFTER, resolve=_step_after, words=_AFTER_WORDS),
    _Rule(pattern=_NAMED, resolve=_named, words=frozenset(MONTHS)),
    _Rule(pattern=_YEAR, resolve=_in_year, digits=True),
    _Rule(pattern=_AGO, resolve=_ago, words=_UNITS),
    _Rule(pattern=_AHEAD, resolve=_ahead, words=_UNITS),
    _Rule(pattern=_DAY, resolve=_day_word, words=_DAYS),
    _Rule(pattern=_MORGEN, resolve=_fixed(1), words=frozenset({"morgen"})),
    _Rule(pattern=_HIER, resolve=_fixed(-1), words=frozenset({"hier"})),
    _Rule(pattern=_MANANA, resolve=_fixed(1), words=frozenset({"mañana"})),
    _Rule(pattern=_ASIAN_STEP, resolve=_asian_step, signs=True),
    _Rule(pattern=_ASIAN_AWAY, resolve=_asian_away, signs=True),
    _Rule(pattern=_ASIAN_DAY, resolve=_day_word, signs=True),
    _Rule(pattern=_BARE, resolve=_bare, words=_parts(WEEKDAYS) | {"weekend"}),
)
