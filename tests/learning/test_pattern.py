"""The pattern of an error stays the same while what is in it changes."""

import string
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.learning.pattern import LONGEST_PATTERN, UNKNOWN, clean_text, error_text, extract_pattern


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("could not connect to 10.0.0.5:5432 after 30s", "could not connect to <address> after <number>s"),
        ("connection to [::1]:5432 refused", "connection to <address> refused"),
        ("no route to db.internal.example:5432", "no route to <address>"),
        ("nothing listens on localhost:8080", "nothing listens on <address>"),
        ("port 8080 is taken", "port <number> is taken"),
        ("bad id 550e8400-e29b-41d4-a716-446655440000", "bad id <id>"),
        ("pod web-7d9f8b6c5-x2x9k is not ready", "pod <id> is not ready"),
        ("commit 3f786850e387550fdab836ed7e6dc881de23001b is gone", "commit <id> is gone"),
        ("expired at 2024-01-02T03:04:05.678Z", "expired at <time>"),
        ("expired at 2024-01-02 03:04:05 UTC", "expired at <time>"),
        ("expired on Mon, 02 Jan 2006 15:04:05 GMT", "expired on <time>"),
        ("No such file: /var/lib/app/data.txt", "No such file: <path>"),
        ("missing C:\\Users\\ann\\data.txt", "missing <path>"),
        ("src/lamina/app.py:12: boom", "<path>:<number>: boom"),
        ("cannot fetch https://user@host/a?b=1", "cannot fetch <url>"),
        ("module 'foo' has no attribute \"bar\"", "module <value> has no attribute <value>"),
        ("can't open it, isn't there", "can't open it, isn't there"),
        ("[1, 2, 3] is not in [4, 5]", "[<number>] is not in [<number>]"),
        ("segfault at 0x7ffee4", "segfault at <address>"),
        ("invalid application/json and/or text", "invalid application/json and/or text"),
        ("std::vector::at out of range", "std::vector::at out of range"),
        ("接続できません: ホスト 10.0.0.1 ポート 5432", "接続できません: ホスト <address> ポート <number>"),
        ("Ошибка 42: файл «данные.txt» не найден", "Ошибка <number>: файл <value> не найден"),
        ("خطأ ٤٢ في الملف", "خطأ <number> في الملف"),
        ("「設定」が見つかりません", "<value>が見つかりません"),
        ("x   is \t\n bad", "x is bad"),
        ("", UNKNOWN),
        (" \n ", UNKNOWN),
        ("\0\0", UNKNOWN),
    ],
)
def test_what_changes_becomes_a_placeholder(text: str, pattern: str) -> None:
    assert extract_pattern(text) == pattern


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("KeyError: 'abc'", "KeyError: <value>"),
        ("ValueError: bad port 80", "bad port <number>"),
        ("bad port 81", "bad port <number>"),
        ("requests.exceptions.ConnectionError: refused", "refused"),
        ("RuntimeError: ValueError: too long", "too long"),
        ("TimeoutError", "TimeoutError"),
        ("Error: disk full", "Error: disk full"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 7\n',
            "KeyError: <number>",
        ),
    ],
)
def test_the_kind_of_error_counts_where_the_message_says_nothing(text: str, pattern: str) -> None:
    assert extract_pattern(text) == pattern


def test_an_error_is_recognised_from_its_exception_and_from_its_text() -> None:
    error = ValueError("bad port 80")
    assert extract_pattern(error_text(error)) == extract_pattern(str(error)) == extract_pattern("bad port 443")


@given(st.text())
@example("'\"`a' b\" c`")
@example("AError: 'x'")
@example("1-1-1-1 '5' /a/b c/d.e 10.0.0.1 ::1 a.com:1")
def test_a_pattern_is_its_own_pattern(text: str) -> None:
    pattern = extract_pattern(text)
    assert extract_pattern(pattern) == pattern


@given(st.text(alphabet=string.printable + "äжم東'\"`/\\<>[]", max_size=300))
def test_a_pattern_is_short_storable_and_never_empty(text: str) -> None:
    pattern = extract_pattern(text)
    assert 0 < len(pattern) <= LONGEST_PATTERN
    assert pattern.strip() == pattern
    assert clean_text(pattern) == pattern


WORDS = st.lists(st.sampled_from(["cannot", "open", "host", "файл", "接続", "échec", "não"]), min_size=1, max_size=6)
CHANGING = st.one_of(
    st.integers(min_value=0).map(str),
    st.floats(min_value=0.001, max_value=1e6, allow_nan=False).map(lambda number: f"{number:.3f}"),
)


@given(words=WORDS, first=CHANGING, second=CHANGING, place=st.integers(0, 6))
def test_another_number_is_the_same_error(words: list[str], first: str, second: str, place: int) -> None:
    def text(number: str) -> str:
        return " ".join([*words[:place], number, *words[place:]])

    assert extract_pattern(text(first)) == extract_pattern(text(second))


@given(words=WORDS, first=st.uuids(), second=st.uuids())
def test_another_identifier_is_the_same_error(words: list[str], first: uuid.UUID, second: uuid.UUID) -> None:
    text = " ".join(words)
    assert extract_pattern(f"{text} {first}") == extract_pattern(f"{text} {second}") == f"{text} <id>"


NAME = st.text(alphabet=string.ascii_letters + "äжم東-_", min_size=1, max_size=12)


@given(words=WORDS, first=st.lists(NAME, min_size=1, max_size=4), second=st.lists(NAME, min_size=1, max_size=4))
def test_another_path_is_the_same_error(words: list[str], first: list[str], second: list[str]) -> None:
    text = " ".join(words)
    patterns = {extract_pattern(f"{text} /{'/'.join(path)} is gone") for path in (first, second)}
    assert patterns == {f"{text} <path> is gone"}


@given(words=WORDS, value=st.text(alphabet=string.ascii_letters + string.digits + " äж東/.:", max_size=30))
def test_another_quoted_value_is_the_same_error(words: list[str], value: str) -> None:
    text = " ".join(words)
    assert extract_pattern(f"{text} '{value}'") == f"{text} <value>"


@given(WORDS, WORDS)
def test_errors_of_other_words_differ(first: list[str], second: list[str]) -> None:
    same = extract_pattern(" ".join(first)) == extract_pattern(" ".join(second))
    assert same == (first == second)


@pytest.mark.parametrize(
    "text",
    [
        "/" * 9_000,
        "'" * 9_000,
        "a-" * 5_000,
        "1:" * 5_000,
        "a.b" * 3_000,
        "\\" * 9_000,
        "'\\" * 5_000,
        "x1" * 5_000,
        "“a " * 3_000,
        "a.io" * 3_000,
        "/a b" * 3_000,
        "AError: " * 2_000,
        "[:" * 5_000,
        "😀" * 9_000,
        "1," * 5_000,
    ],
)
def test_a_huge_error_has_a_short_pattern(text: str) -> None:
    assert 0 < len(extract_pattern(text * 20)) <= LONGEST_PATTERN


def test_lone_surrogates_and_nul_leave_a_storable_pattern() -> None:
    pattern = extract_pattern("bad \ud800 byte\0 here")
    assert pattern.encode() == b"bad ? byte here"


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class NumberError(Exception):
    def __str__(self) -> str:
        return 42  # type: ignore[return-value]


@pytest.mark.parametrize("kind", [UnreadableError, NumberError])
def test_an_error_that_cannot_be_shown_is_known_by_its_kind(kind: type[Exception]) -> None:
    assert error_text(kind()) == kind.__name__
    assert extract_pattern(error_text(kind())) == kind.__name__


def test_a_group_of_errors_is_known_by_its_first() -> None:
    group = ExceptionGroup("several", [ExceptionGroup("inner", [ValueError("bad port 80")]), KeyError("x")])
    assert error_text(group) == "ValueError: bad port 80"
