"""What a person would expect of a ranking, on scopes small enough to read."""

from datetime import UTC, datetime

import numpy as np

from lamina.index.lexical import rarity
from lamina.index.ranking import RankingModel
from tests.index.scopes import Row, index_of, search

THRESHOLD = 0.7
MEMORIES = ["Prefers dark mode", "Allergic to peanuts", "Has two cats", "Never deploy on Friday", "Writes C++"]


def found(texts: list[str], query: str) -> list[str]:
    index = index_of([Row(i, text) for i, text in enumerate(texts)])
    return [texts[entry] for entry in search(index, query, threshold=THRESHOLD).entries.tolist()]


def test_one_keyword_finds_the_memory_that_has_it() -> None:
    assert found(MEMORIES, "cats") == ["Has two cats"]
    assert found(MEMORIES, "C++") == ["Writes C++"]
    assert found(MEMORIES, "peanut allergy") == ["Allergic to peanuts"]


def test_a_question_finds_its_answer_in_a_small_scope() -> None:
    assert found(MEMORIES, "Can we deploy this friday?") == ["Never deploy on Friday"]


def test_an_unrelated_question_finds_nothing_in_a_small_scope() -> None:
    assert found(MEMORIES, "What is the capital of Mongolia?") == []
    assert found(MEMORIES, "How do I change the brake pads?") == []


def test_the_text_itself_is_a_perfect_match() -> None:
    index = index_of([Row(i, text) for i, text in enumerate(MEMORIES)])
    for i, text in enumerate(MEMORIES):
        ranked = search(index, text)
        assert ranked.entries[0] == i
        assert ranked.scores[0] > 0.99


def test_a_vector_alone_can_be_enough() -> None:
    rows = [Row(1, "dark mode", vector=(1.0, 0, 0, 0)), Row(2, "two cats", vector=(0, 1.0, 0, 0))]
    ranked = search(index_of(rows), "theme", (1.0, 0, 0, 0), threshold=THRESHOLD)
    assert ranked.entries.tolist() == [1]
    assert ranked.signals[0].lexical == 0
    assert ranked.signals[0].vector > 0


def test_an_entry_without_a_vector_is_ranked_by_its_words() -> None:
    rows = [Row(1, "green tea"), Row(2, "black coffee", vector=(0, 1.0, 0, 0))]
    ranked = search(index_of(rows), "green tea", (1.0, 0, 0, 0), threshold=THRESHOLD)
    assert ranked.entries.tolist() == [1]


def test_a_neighbour_in_the_conversation_lifts_the_answer_above_a_stranger() -> None:
    rows = [
        Row(1, "Which instrument do you play?", conversation="a", sequence=1),
        Row(2, "The cello, since January.", conversation="a", sequence=2),
        Row(3, "The weather was fine, since January.", conversation="b", sequence=1),
        Row(4, "Nothing to report.", conversation="b", sequence=2),
    ]
    ranked = search(index_of(rows), "which instrument does she play")
    assert ranked.entries.tolist()[:2] == [1, 2]
    assert ranked.signals[1].neighbour > 0


def test_an_entry_without_a_source_scores_no_less_than_one_that_stands_alone_in_its_conversation() -> None:
    loose = search(index_of([Row(1, "green tea"), Row(2, "black coffee")]), "tea")
    lone = search(index_of([Row(1, "green tea", conversation="a"), Row(2, "black coffee", conversation="b")]), "tea")
    assert loose.scores[0] >= 0.95 * lone.scores[0]


def test_an_author_named_in_the_query_comes_first() -> None:
    rows = [Row(1, "I painted a sunrise", author="Ana"), Row(2, "I painted a sunrise", author="Ben")]
    ranked = search(index_of(rows), "What did Ana paint?")
    assert ranked.entries[0] == 1
    assert ranked.signals[0].author > 0
    assert ranked.signals[1].author == 0


def test_an_author_or_a_date_alone_is_not_enough() -> None:
    may = datetime(2023, 5, 3, tzinfo=UTC).timestamp()
    text = "we talked about many things and about how the winter had been so very long and cold up there " * 2
    index = index_of([Row(i, text, author="Ana", said_at=may) for i in range(1, 4)])
    assert search(index, "Which gas does Ana absorb?", threshold=THRESHOLD).total == 0
    assert search(index, "Which gas was absorbed on 3 May 2023?", threshold=THRESHOLD).total == 0


def test_what_was_said_at_the_time_asked_for_comes_first() -> None:
    may, june = (datetime(2023, month, 3, tzinfo=UTC).timestamp() for month in (5, 6))
    index = index_of([Row(1, "We went camping", said_at=may), Row(2, "We went camping", said_at=june)])
    assert search(index, "Where did they camp in May 2023?").entries[0] == 1
    assert search(index, "Where did they camp in June 2023?").entries[0] == 2


def test_more_entries_ask_for_more_evidence() -> None:
    model = RankingModel()
    asked = [model.enough(size) for size in (0, 1, 5, 50, 5_000, 100_000)]
    assert asked == sorted(asked)
    assert asked[0] == asked[1] > 0


def test_rare_words_weigh_more_even_in_a_tiny_scope() -> None:
    (weights,) = rarity(np.array([[1, 3, 1]], np.float32), [3], np.array([0.001, 0.001, 0.2], np.float32))
    assert weights[0] > weights[1] > 0
    assert weights[0] > weights[2] > 0


def test_the_entry_that_has_a_word_does_not_make_it_common() -> None:
    prior = np.array([0.001, 0.001], np.float32)
    ((unseen, seen),) = rarity(np.array([[0, 1]], np.float32), [1], prior).tolist()
    assert unseen == seen


def test_one_conversation_says_nothing_about_its_entries() -> None:
    def talk(*conversations: str) -> list[Row]:
        return [
            Row(n, text, conversation=name, sequence=n)
            for name in conversations
            for n, text in enumerate(
                ["The heron was back at the pond.", "I saw it.", "Shall we eat?", "Soup it is.", "Fine."],
                start=10 * len(name),
            )
        ]

    alone = search(index_of(talk("a")), "where was the heron", threshold=THRESHOLD)
    assert alone.entries.tolist()[0] == 10
    assert len(alone.entries) < 4
    assert all(signal.conversation == 0 for signal in alone.signals)
    two = [*talk("a"), Row(1, "The bill is due.", conversation="bb"), Row(2, "In May.", conversation="bb", sequence=1)]
    assert search(index_of(two), "where was the heron").signals[0].conversation > 0


def test_neighbours_alone_are_never_enough() -> None:
    rows = [Row(n, "blue heron pond", conversation="a", sequence=n) for n in (1, 2, 4, 5)]
    rows.append(Row(3, "whatever", conversation="a", sequence=3))
    ranked = search(index_of(rows), "blue heron pond")
    assert ranked.entries.tolist()[-1] == 3
    assert 0.5 < ranked.scores[-1] < THRESHOLD
    assert ranked.signals[-1].neighbour == ranked.scores[-1]


def test_an_entry_without_a_conversation_owes_nothing_to_neighbours() -> None:
    rows = [Row(1, "green tea"), Row(2, "black tea", conversation="a"), Row(3, "tea", conversation="b", sequence=1)]
    assert search(index_of(rows[:1]), "green tea please").signals[0].parts().keys() == {"lexical"}
    for signal in search(index_of(rows), "green tea please").signals:
        assert signal.parts().keys() <= {"lexical", "conversation"}


def test_scores_tell_good_from_better() -> None:
    texts = ["red kite", "red kite over the hill", "red kite over the hill at dawn", "a hill"]
    scores = search(index_of([Row(i, text) for i, text in enumerate(texts)]), "red kite hill dawn").scores
    assert scores[0] == 1.0
    assert min(-np.diff(scores)) > 0.02


def test_every_score_found_is_a_threshold_that_keeps_it() -> None:
    index = index_of([Row(i, f"{text} {'and tea ' * i}") for i, text in enumerate(MEMORIES)])
    for query in ("dark tea mode", "cats", "never peanuts", "Friday and two cats and tea"):
        everything = search(index, query)
        found = list(zip(everything.entries.tolist(), everything.scores.tolist(), strict=True))
        for threshold in {score for _, score in found} | {0.1, 0.7, 1 / 3, 1.0}:
            kept = search(index, query, threshold=threshold)
            wanted = [pair for pair in found if pair[1] >= threshold]
            assert list(zip(kept.entries.tolist(), kept.scores.tolist(), strict=True)) == wanted
            assert kept.total == len(wanted)
