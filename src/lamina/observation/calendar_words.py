"""The words by which people name days: weekdays, months, units and numbers, in a handful of languages."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeVar

_Value = TypeVar("_Value")
Unit = Literal["day", "weekend", "week", "month", "year"]


def _numbered(*lists: str, start: int) -> dict[str, int]:
    """Each list names the same things in the same order; `|` parts two names of one thing."""
    return {
        name: place
        for names in lists
        for place, entry in enumerate(names.split(), start=start)
        for name in entry.split("|")
    }


def _each(words: str, value: _Value) -> dict[str, _Value]:
    return dict.fromkeys(words.split(), value)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WEEKDAYS: Final[Mapping[str, int]] = _numbered(
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo",
    start=0,
)
SHORT_WEEKDAYS: Final[Mapping[str, int]] = _numbered("mon tues|tue weds|wed thurs|thur|thu fri sat sun", start=0)
"""Only understood after `last`, `this` or `next`: by themselves they are other words too."""

MONTHS: Final[Mapping[str, int]] = _numbered(
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sept|sep oct nov dec",
    "januar|jänner februar märz|maerz april mai juni juli august september oktober november dezember",
    "janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
    start=1,
)
UNITS: Final[Mapping[str, Unit]] = {
    **_each("day days tag tage tagen jour jours día días dia dias 日 日間 天 일", "day"),
    **_each("weekend weekends wochenende wochenenden week-end 周末 週末 주말", "weekend"),
    **_each("week weeks woche wochen semaine semaines semana semanas 周 週 週間 星期 个星期 個星期 주 주일", "week"),
    **_each("month months monat monate monaten mois mes meses 月 个月 個月 か月 ヶ月 カ月 달 개월", "month"),
    **_each("year years jahr jahre jahren an ans année annee années años año anos ano 年 년", "year"),
}
NUMBERS: Final[Mapping[str, int]] = {
    **_numbered(
        "one two three four five six seven eight nine ten eleven twelve",
        "ein|eine|einen|einem|einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "un|une deux trois quatre cinq six sept huit neuf dix onze douze",
        "un|una|uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "一 二 三 四 五 六 七 八 九 十",
        start=1,
    ),
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a couple": 2,
    "couple of": 2,
    "两": 2,
    "兩": 2,
    "하루": 1,
}
DAY_WORDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening"), 0),
    **dict.fromkeys(("yesterday", "last night", "last evening"), -1),
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "tomorrow": 1,
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    **dict.fromkeys(("heute", "heute morgen", "heute früh", "heute abend"), 0),
    **dict.fromkeys(("gestern", "gestern morgen", "gestern abend"), -1),
    **dict.fromkeys(("vorgestern", "avant-hier", "anteayer", "antier"), -2),
    **dict.fromkeys(("morgen früh", "morgen abend"), 1),
    **dict.fromkeys(("übermorgen", "après-demain", "pasado mañana"), 2),
    **dict.fromkeys(("aujourd'hui", "aujourd’hui", "ce matin", "ce soir", "hoy", "esta mañana", "esta noche"), 0),
    **dict.fromkeys(("hier soir", "ayer", "anoche"), -1),
    "demain": 1,
    **dict.fromkeys(("今天", "今日", "今晚", "今朝", "오늘"), 0),
    **dict.fromkeys(("昨天", "昨日", "昨晚", "昨夜", "어제"), -1),
    **dict.fromkeys(("前天", "一昨日", "おととい", "그저께", "그제"), -2),
    **dict.fromkeys(("明天", "明日", "내일"), 1),
    **dict.fromkeys(("后天", "後天", "明後日", "あさって", "모레"), 2),
}
STEPS: Final[Mapping[str, int]] = {
    **_each("last past previous letzte letzten letzter letztes letztem vergangene vergangenen", -1),
    **_each("vorige vorigen voriges", -1),
    **_each("dernier dernière derniere passé passée pasado pasada último última", -1),
    **_each("this diese dieser dieses diesen diesem ce cet cette este esta", 0),
    **_each("next coming nächste nächsten nächster nächstes nächstem kommende kommenden kommendes", 1),
    **_each("prochain prochaine próximo próxima proximo proxima", 1),
}
EAST_ASIAN_STEPS: Final[Mapping[str, tuple[Unit, int]]] = {
    **_each("上周 上週 上星期 上个星期 先週 지난주", ("week", -1)),
    **_each("本周 這週 这周 今週 이번주", ("week", 0)),
    **_each("下周 下週 下星期 下个星期 来週 다음주", ("week", 1)),
    **_each("上周末 上週末 先週末", ("weekend", -1)),
    **_each("上个月 上個月 上月 先月 지난달", ("month", -1)),
    **_each("这个月 這個月 本月 今月 이번달", ("month", 0)),
    **_each("下个月 下個月 下月 来月 다음달", ("month", 1)),
    **_each("去年 昨年 작년", ("year", -1)),
    **_each("今年 올해", ("year", 0)),
    **_each("明年 来年 내년", ("year", 1)),
    "지난 주": ("week", -1),
    "다음 주": ("week", 1),
    "지난 달": ("month", -1),
    "다음 달": ("month", 1),
}
PAST_WORDS: Final = _words(
    """was were did had been went got made took came saw said told met won bought brought ate drank ran wrote gave found
    felt left lost began became broke built caught chose drew drove fell flew forgot froze grew heard held kept knew
    led lent paid rode rose sang sat sold sent shook shot slept spent spoke stole stood swam taught thought threw
    understood woke wore just hatte hatten war waren wurde habe hat haben était avait j'ai ai fue fui fuimos era había
    he ha"""
)
FUTURE_WORDS: Final = _words(
    """will 'll ll going gonna plan plans planning planned want wants wanna hope hoping hopefully shall should must
    need needs let's lets upcoming scheduled due deadline until by remind tomorrow werde wird werden will wollen soll
    sollen muss müssen vais va allons vont veux voy vamos quiero quiere debe"""
)


def either(words: Iterable[str]) -> str:
    """The alternatives of a pattern, longest first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word))).replace(".", r"\.").replace(" ", r"\s+")
