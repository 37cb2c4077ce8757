"""A line says only what its sources say."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamina.observation.evidence import Evidence
from lamina.observation.faithful import find_faults

FRIDAY = datetime(2026, 5, 1, 14, 30, tzinfo=UTC)


def faults(text: str, *sources: str, author: str | None = None) -> tuple[str, ...]:
    known = (author,) if author else ()
    return find_faults(text, [Evidence(text=source, said_at=FRIDAY, known=known) for source in sources])


BORNE_OUT = [
    ("User prefers dark mode", "I prefer dark mode, please"),
    ("User has 3 cats", "I have three cats and five dogs"),
    ("User has three cats", "I have 3 cats"),
    ("User's budget is 10,000 EUR", "my budget is 10000 €"),
    ("The upload is limited to 10MB", "uploads: limit is 10 MB"),
    ("Conversion rose by 5 percent", "conversion rose by 5%"),
    ("User earns $85k a year", "I make 85,000 dollars a year"),
    ("User flies to Paris on 2026-05-02", "Tomorrow I fly to Paris"),
    ("User flies to Paris on May 2", "Tomorrow I fly to Paris"),
    ("User moved to Munich on Friday", "I moved to Munich last Friday"),
    ("User moved house in April 2026", "I moved house on 2026-04-12"),
    ("User's daughter Mia turns 7 on 2026-05-12", "My daughter Mia turns seven on May 12th!"),
    ("User meets Bob at 15:00", "Meet Bob at 3pm"),
    ("Fixed src/app.py:42 by renaming foo_bar", "The bug is in src/app.py:42, rename foo_bar"),
    ("Deployed v2.3.1 to eu-west-1", "Deploy v2.3.1 to eu-west-1, please"),
    ("User upgraded to Python 3.12 on k8s", "we upgraded python3.12 on kubernetes"),
    ("Issue 123 is blocked", "PROJ-123 is blocked"),
    ('User called it a "quick fix"', "this is only a quick fix."),
    ("Build failed with exit code 137 (out of memory)", "Process exited with code 137\nKilled: out of memory"),
    ("User decided on PostgreSQL instead of MySQL", "ok let's go with postgres, not mysql"),
    ("Assistant recommended Hotel Adler at 89 EUR per night", "I'd recommend Hotel Adler, it's €89 a night."),
    ("User asked how to configure nginx for websockets", "how do I make nginx pass websockets?"),
    ("User relocated to Berlin", "I just moved to Berlin"),
    ("User met Renée", "I met Renee yesterday"),
    ("The Smiths' house is sold", "We sold the house of the Smith family"),
    ("Der Nutzer wohnt in Köln und hat 2 Hunde", "Ich wohne in Köln und habe zwei Hunde"),
    ("L'utilisateur habite à Lyon", "J'habite à Lyon"),
    ("Пользователь живёт в Москве с Анной", "Я живу в Москве. Моя жена Анна"),
    ("用户计划下周五去北京出差，需要订酒店", "我下周五要去北京出差，帮我订酒店。"),
    ("ユーザーは田中さんと会う予定", "明日田中さんと会います"),
    ("사용자는 민수를 원함", "저는 민수를 원해요"),
    ("المستخدم يريد زيارة القاهرة", "أريد زيارة القاهرة غدا"),
    ("उपयोगकर्ता को चाय पसंद है", "मुझे चाय पसंद है"),
    ("The token was [redacted]", "my token is [redacted]"),
    ("User agreed", "yes, do that"),
]


@pytest.mark.parametrize(("text", "source"), BORNE_OUT)
def test_what_the_source_says_in_other_words_is_borne_out(text: str, source: str) -> None:
    assert faults(text, source) == ()


INVENTED = [
    ("User has 5 cats", "I have three cats and five dogs", "5"),
    ("User has 4 cats", "I have three cats", "4"),
    ("User's budget is 12,000 EUR", "my budget is 10000 €", "12,000"),
    ("User's budget is 10,000 USD", "my budget is 10000 €", "10,000 USD"),
    ("The limit is 10 GB", "the limit is 10 MB", "10 GB"),
    ("User flies on 2026-05-03", "Tomorrow I fly", "2026-05-03"),
    ("User moved on Monday", "I moved last Friday", "Monday"),
    ("The meeting is on Friday", "The meeting is on Monday", "Friday"),
    ("User moved to Berlin in 2022", "I moved to Berlin in 2021", "2022"),
    ("User meets Bob at 16:00", "Meet Bob at 3pm", "16:00"),
    ("User met Sofia", "I met my sister", "Sofia"),
    ("Sofia prefers tea", "I prefer tea", "Sofia"),
    ("James likes tea", "I like tea", "James"),
    ("Mark likes tea", "I like tea", "Mark"),
    ("User works with Ann Jones", "I work with Ann Smith and Bob Jones", "ann jones"),
    ("Deployed v2.3.2", "Deploy v2.3.1", "v2.3.2"),
    ("PROJ-124 is blocked", "PROJ-123 is blocked", "PROJ-124"),
    ("Deployed to eu-west-2", "Deploy to eu-west-1", "eu-west-2"),
    ("See https://acme.example/jobs/5", "see https://acme.example/jobs/6", "jobs/5"),
    ("The address is 10.0.0.2", "the address is 10.0.0.12", "10.0.0.2"),
    ("Edited src/secret.py", "edit src/app.py", "src/secret.py"),
    ("Mail ann@acme.example", "mail bob@acme.example", "ann@acme.example"),
    ("The commit is a1b2c3d5", "the commit is a1b2c3d4", "a1b2c3d5"),
    ("User set max_retries", "I set max_tries", "max_retries"),
    ('User said "slow fix"', "it is a quick fix", "slow fix"),
    ("user uses redis", "we use a cache", "redis"),
    ("The temperature was 5°C", "it was -5°C outside", "5°C"),
    ("Пользователь живёт в Твери", "Я живу в Москве", "Твери"),
    ("用户和李刚去北京", "我和李明去北京", "刚"),
    ("用户计划去上海", "我要去北京", "上海"),
    ("ユーザーは中田さんと会う予定", "明日田中さんと会います", "中田"),
    ("사용자는 민호를 원함", "저는 민수를 원해요", "민호를"),
    ("المستخدم يريد زيارة دمشق", "أريد زيارة القاهرة غدا", "دمشق"),
    ("उपयोगकर्ता को कॉफी पसंद है", "मुझे चाय पसंद है", "कॉफी"),
]


@pytest.mark.parametrize(("text", "source", "piece"), INVENTED)
def test_what_the_source_does_not_say_is_named_as_a_fault(text: str, source: str, piece: str) -> None:
    assert any(piece in fault for fault in faults(text, source)), faults(text, source)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("User deploys on Friday", "Never deploy on Friday"),
        ("Deploy on Friday", "We do not deploy on Friday"),
        ("User is not vegetarian", "I'm vegetarian"),
        ("Der Nutzer mag Fleisch mit Reis", "Ich mag kein Fleisch mit Reis"),
        ("用户喝咖啡", "我不喝咖啡"),
    ],
)
def test_a_denial_is_neither_lost_nor_added(text: str, source: str) -> None:
    assert any("opposite" in fault for fault in faults(text, source))


def test_a_denial_may_be_worded_otherwise() -> None:
    assert faults("User avoids meat", "I do not eat meat") == ()
    assert faults("User wants tests before merging", "Don't merge without tests") == ()


def test_a_line_of_words_that_nobody_said_is_not_borne_out() -> None:
    assert faults("user met sofia and bought a boat", "please summarise the quarterly report")


def test_names_may_come_from_whoever_spoke() -> None:
    assert faults("Ann prefers tea", "I prefer tea", author="Ann") == ()


def test_a_line_may_rest_on_several_sources() -> None:
    assert faults("User approved deploying v2 to eu-west-1", "Shall I deploy v2 to eu-west-1?", "yes please") == ()


def test_without_a_source_nothing_is_borne_out() -> None:
    assert find_faults("User agreed", []) == ("it names no source",)


_PIECES = """deploy Berlin v2.3.1 PROJ-17 tomorrow 4,500 EUR Ann Smith src/app.py:42 not never the on Friday at 14:30
    "quick fix" user@acme.example 下周五去北京 я живу
    в Москве 민수를 만났어요 أريد زيارة القاهرة चाय पसंद है k8s 5% three"""
_words = st.sampled_from(_PIECES.split())
_space = st.text(alphabet=" \t\n\u00a0\u3000", max_size=4)


@settings(deadline=None)
@given(st.lists(_words, min_size=1, max_size=12).map(" ".join), _space, _space)
def test_a_source_always_bears_out_a_copy_of_itself(text: str, before: str, after: str) -> None:
    assert faults(text, f"{before}{text}{after}") == ()


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_bears_out_itself(text: str) -> None:
    assert faults(text, text) == ()


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_claim_can_be_checked(text: str, source: str) -> None:
    assert faults(text, source) == faults(text, source)


_SHAPES = [
    "The invoice {} is paid",
    "User paid {} EUR for the room",
    "Ticket PROJ-{} is closed",
    "The port is {}.",
    "It took {} minutes, then 3 retries",
    "User bought {} apples",
    "Rechnung {} ist bezahlt",
    "我买了{}个苹果",
]


@settings(deadline=None)
@given(st.sampled_from(_SHAPES), st.integers(13, 10**7), st.integers(0, 7), st.integers(1, 9))
def test_an_altered_digit_is_never_borne_out(shape: str, number: int, place: int, step: int) -> None:
    digits = list(str(number))
    place %= len(digits)
    digits[place] = str((int(digits[place]) + step) % 10)
    altered = "".join(digits)
    assume(int(altered) != number and not altered.startswith("0"))
    source = shape.format(number)

    assert faults(source, source) == ()
    assert faults(shape.format(altered), source)


_LETTERS = {
    "Berlin": "bcdfghklmnoprtu",
    "Anneliese": "bcdfghkmoprtu",
    "Kowalski": "bcdfghmnoprtu",
    "Zürich": "bdfgklmnopst",
    "Москва": "бвгджзлнпрт",
    "Αθήνα": "βγδζκλμπρστ",
    "北京": "上海天深南西",
    "田中": "山川本村木井",
    "민수": "호진영준석훈",
    "القاهرة": "جخذزضظغ",
    "दिल्ली": "बचजटनप",
    "กรุงเทพ": "ขคฉซดบ",
}


@settings(deadline=None)
@given(
    st.sampled_from(list(_LETTERS)),
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from(["{}", "User met {} there", "x {}"]),
)
def test_an_altered_name_is_never_borne_out(name: str, place: int, letter: int, shape: str) -> None:
    source = shape.format(name)
    place %= len(name)
    letters = _LETTERS[name]
    put = letters[letter % len(letters)]
    altered = name[:place] + (put.upper() if name[place].isupper() else put) + name[place + 1 :]
    assume(altered != name and altered[0].isalpha())

    assert faults(source, source) == ()
    assert faults(shape.format(altered), source)


@settings(deadline=None)
@given(st.dates(min_value=date(1990, 1, 1), max_value=date(2039, 12, 31)), st.integers(-40, 40))
def test_an_altered_date_is_never_borne_out(day: date, step: int) -> None:
    other = day + timedelta(days=step)
    source = f"The contract ends on {day.isoformat()}."

    assert faults(f"The contract ends on {day.isoformat()}", source) == ()
    assert faults(f"The contract ends on {day:%d} {day:%B} {day:%Y}", source) == ()
    if other != day:
        assert faults(f"The contract ends on {other.isoformat()}", source)
        assert faults(f"The contract ends on {other:%d} {other:%B} {other:%Y}", source)


@pytest.mark.parametrize("piece", ["x", "1 ", "1,", "a-", "Aa ", '"', "http://", "一", "(", "the 1st ", "not ", "1a"])
def test_long_and_dull_texts_are_checked_like_others(piece: str) -> None:
    """What grows with the square of a length would take hours here."""
    dull = piece * (24_000 // len(piece))

    assert faults(f"{dull[:400]} Zed", dull)
