"""Keywords of every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.context.keywords import MOST, extract_keywords


@pytest.mark.requirement("context.keywords.stop-words")
def test_stop_words_are_left_out() -> None:
    assert extract_keywords("how to handle the errors in a Go program and why is it so") == (
        "handle",
        "errors",
        "go",
        "program",
    )


@pytest.mark.requirement("context.keywords.short-words")
def test_single_letters_are_left_out_and_short_technical_terms_stay() -> None:
    assert extract_keywords("a b c x") == ()
    assert extract_keywords("Go CI DB k8s x") == ("go", "ci", "db", "k8s")


@pytest.mark.requirement("context.keywords.punctuation")
def test_punctuation_at_the_edges_of_a_word_is_taken_off() -> None:
    assert extract_keywords("(important) [note] {value}, 'deploy'!") == ("important", "note", "value", "deploy")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("turn on dark-mode", "dark-mode"),
        ("is C++ supported?", "c++"),
        ("F# or C#?", "c#"),
        ("where is .env", ".env"),
        ("see config.yaml.", "config.yaml"),
        ("use snake_case", "snake_case"),
    ],
)
def test_compounds_and_technical_names_stay_whole(query: str, expected: str) -> None:
    assert expected in extract_keywords(query)


def test_words_of_query_languages_are_plain_words() -> None:
    assert extract_keywords("deploy AND NOT staging OR production") == ("deploy", "staging", "production")
    assert extract_keywords('"deploy" NEAR(web*)') != ()


@pytest.mark.parametrize(
    "query",
    [
        "배포 규칙이 뭐야",
        "デプロイの規則",
        "部署规则是什么",
        "правила развертывания",
        "règles de déploiement",
        "قواعد النشر",
        "नियम क्या हैं",
        "κανόνες ανάπτυξης",
        "กฎการปรับใช้",
    ],
)
def test_every_script_has_keywords(query: str) -> None:
    assert extract_keywords(query)


def test_accents_and_case_do_not_make_another_keyword() -> None:
    assert extract_keywords("Café CAFE cafe\u0301") == ("cafe",)


def test_one_ideograph_is_a_word() -> None:
    assert extract_keywords("猫") == ("猫",)


def test_a_long_query_gives_its_first_keywords() -> None:
    assert extract_keywords(" ".join(f"word{number}" for number in range(100))) == tuple(
        f"word{number}" for number in range(MOST)
    )


@given(st.text(max_size=200))
def test_keywords_are_distinct_and_never_blank(query: str) -> None:
    found = extract_keywords(query)
    assert len(set(found)) == len(found) <= MOST
    assert all(word.strip() == word and word for word in found)
