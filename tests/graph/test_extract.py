"""Entities and relations from text, without a model."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.graph.extract import MOST_NAMES, MOST_TRIPLES, RuleExtractor, extract
from lamina.graph.mentions import find_mentions
from lamina.graph.names import fold
from lamina.graph.sentences import LONGEST, split_sentences
from lamina.graph.types import Predicate
from lamina.graph.words import VERBS
from lamina.kernel.text import unstorable
from tests.graph.labelled import score

WORDS = st.sampled_from(
    [
        *sorted(VERBS),
        "Ann",
        "Acme Corp",
        "she",
        "I",
        "the",
        "and",
        ",",
        ".",
        "?",
        "not",
        "if",
        "`x`",
        '"y z"',
        "ドッカー",
        "我",
    ]
)


def test_labelled_sentences_are_read_as_a_reader_does() -> None:
    tuned, counted = score("tuned"), score("counted")
    assert (tuned.wrong, tuned.missed) == ([], [])
    assert counted.precision >= 0.95
    assert counted.recall >= 0.95


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Ann Smith met José Álvarez de la Cruz in Berlin.", ["Ann Smith", "José Álvarez de la Cruz", "Berlin"]),
        ("See https://example.com/a?b=1, please.", ["https://example.com/a?b=1"]),
        ("Write to ann@example.org about JIRA-123.", ["ann@example.org", "JIRA-123"]),
        ("src/lamina/app.py reads .env and /etc/hosts!", ["src/lamina/app.py", ".env", "/etc/hosts"]),
        ("The `load_settings` call in user_profile.load() broke.", ["load_settings", "user_profile.load()"]),
        ('He calls it "dark mode" and „Nachtmodus“.', ["dark mode", "Nachtmodus"]),
        ("C++ and C# and Node.js and k8s", ["C++", "C#", "Node.js", "k8s"]),
        ("Commit 3f4ce48 runs on 10.0.0.1:80.", ["3f4ce48", "10.0.0.1:80"]),
        ("we run docker and redis", ["docker", "redis"]),
        ("田中さんはドッカーを使う。", ["田中", "ドッカー"]),
        ("Deploy Kubernetes tomorrow.", ["Kubernetes"]),
        ("It's great, but that's all I've got!", []),
        ("The meeting is on Monday in March.", []),
        ('She said "I would never want to do that to anybody".', []),
    ],
)
def test_names_are_known_by_their_form(sentence: str, names: list[str]) -> None:
    assert [spot.text for spot in find_mentions(sentence)] == names


def test_names_in_one_sentence_are_related_unless_something_is_stated() -> None:
    found = extract("Ann met Bob near Paris. Carol works at Acme.")
    together = {frozenset((one.subject, one.object)) for one in found.triples if one.predicate is Predicate.RELATED_TO}
    assert frozenset(("Bob", "Paris")) in together
    assert frozenset(("Carol", "Acme")) not in together
    assert not any("Ann" in pair and "Carol" in pair for pair in together)


def test_she_is_who_the_sentence_before_spoke_of() -> None:
    found = {
        (one.subject, one.predicate.value, one.object)
        for one in extract("Ann works at Acme. She lives in Oslo.").triples
    }
    assert ("Ann", "lives_in", "Oslo") in found


def test_a_year_or_a_day_says_since_when_and_until_when() -> None:
    (since,) = extract("Ann works at Acme since 2021-03-15.").triples
    assert (since.valid_from, since.valid_until) == (datetime(2021, 3, 15, tzinfo=UTC), None)
    (until,) = extract("Ann worked at Acme until 2020.").triples
    assert (until.valid_from, until.valid_until) == (None, datetime(2020, 1, 1, tzinfo=UTC))
    assert extract("Ann works at Acme since 2021-13-45.").triples[0].valid_from is None


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = "Dr. Müller came, e.g. on Monday. He left at 3.30! Why?\nA new line。次の文。"
    assert list(split_sentences(text)) == [
        "Dr. Müller came, e.g. on Monday.",
        "He left at 3.30!",
        "Why?",
        "A new line。",
        "次の文。",
    ]
    assert all(len(one) <= LONGEST for one in split_sentences("a " * 10_000 + "b" * 10_000))


@given(st.text(max_size=500))
def test_no_text_breaks_it(text: str) -> None:
    check(text)


@given(st.lists(WORDS, max_size=40))
def test_no_heap_of_verbs_and_names_breaks_it(words: list[str]) -> None:
    check(" ".join(words))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\ud800 works at Acme",
        "." * 50_000,
        "Aa" * 25_000,
        "is " * 10_000,
        "A uses B, " * 5_000,
        "(" * 9999,
        "`" * 9999,
        "a/" * 9999,
        "我是" * 9999,
        "İ uses İ",
        "A@" * 9999,
    ],
)
def test_hostile_texts_break_nothing(text: str) -> None:
    check(text)


def check(text: str) -> None:
    """What always holds."""
    found = extract(text)
    assert extract(text) == found
    assert len(found.names) <= MOST_NAMES
    assert len(found.triples) <= MOST_TRIPLES
    folded = {fold(name) for name in found.names}
    for triple in found.triples:
        assert {fold(triple.subject), fold(triple.object)} <= folded
        assert fold(triple.subject) != fold(triple.object)
    for name in found.names:
        assert name.strip()
        assert unstorable(name) is None


@pytest.mark.anyio
async def test_the_rules_are_an_extractor() -> None:
    ann, nothing = await RuleExtractor().extract(["Ann works at Acme.", ""])
    assert [one.predicate for one in ann.triples] == [Predicate.WORKS_AT]
    assert nothing.names == ()
