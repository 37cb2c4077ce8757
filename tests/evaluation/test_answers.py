"""When passages of a prompt answer a question: one criterion for notes and for raw messages."""

from datetime import UTC, date, datetime

import pytest

from lamina.evaluation.answers import Passage, Shown, content_words, split_dates
from lamina.evaluation.conversations import Question
from lamina.observation.types import Period

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
TURN = "Wow! I went to a support group in Malmö yesterday, and it was so powerful."


def asked(text: str, answer: str, *, category: int = 4) -> Question:
    return Question(text=text, category=category, evidence=frozenset({"D1:3"}), answer=answer)


def passage(text: str, *sources: int, refers_to: date | None = None, author: str | None = "Ann") -> Passage:
    period = Period(first=refers_to, last=refers_to) if refers_to else None
    return Passage(text=text, sources=frozenset(sources), said_at=AT, author=author, refers_to=period)


def answers(question: Question, *passages: Passage, turn: str = TURN) -> bool:
    return Shown(passages).answers(question, {3: turn}, AT)


WHERE = asked("Where did Ann go?", "a support group in Malmö")


def test_the_whole_turn_answers_whatever_the_answer_says() -> None:
    vague = asked("How was it?", "overwhelming")
    assert answers(vague, passage(TURN, 3))
    assert not answers(vague, passage("I went to a support group in Malmö yesterday", 3))
    assert not answers(vague, passage(TURN, 4))


def test_a_turn_is_not_there_by_the_words_of_others() -> None:
    vague = asked("How was it?", "overwhelming")
    halves = ("Wow! I went to a support group in Malmö", "yesterday, and it was so powerful.")
    assert answers(vague, *(passage(half, 3) for half in halves))
    assert not answers(vague, *(passage(half, 3, 4) for half in halves))
    assert answers(vague, passage(TURN, 3, 4))


def test_a_note_answers_with_all_words_of_the_answer() -> None:
    assert answers(WHERE, passage("went to support groups in Malmö", 3))
    assert not answers(WHERE, passage("went to support group", 3))
    assert not answers(WHERE, passage("went to support group", 3), passage("lives in Malmö", 3))


def test_the_words_must_come_from_the_evidence_or_with_the_words_of_the_question() -> None:
    question = asked("Which instrument does Ida play?", "the cello")
    assert not answers(question, passage("a cello is expensive", 9))
    assert answers(question, passage("Ida plays the cello", 9))


def test_every_turn_of_the_evidence_must_be_there() -> None:
    question = asked("What did they do?", "unknowable")
    shown = Shown([passage("I swam in the lake", 1)])
    assert shown.answers(question, {1: "I swam in the lake!"}, AT)
    assert not shown.answers(question, {1: "I swam in the lake!", 2: "I ran."}, AT)
    assert not shown.answers(question, {}, AT)


def test_the_parts_of_a_list_may_stand_in_several_notes() -> None:
    question = asked("What does Ann do?", "pottery, camping and swimming", category=1)
    notes = [passage("took a pottery class", 3), passage("Ann does camping", 8), passage("what Ann does: swim", 9)]
    assert answers(question, *notes)
    assert not answers(question, *notes[:2])
    assert not answers(asked("What does Ann do?", "pottery, camping and swimming"), *notes)


@pytest.mark.parametrize(
    ("answer", "refers_to", "text", "expected"),
    [
        ("7 May 2023", date(2023, 5, 7), "went to a group", True),
        ("7 May 2023", None, "went to a group yesterday", True),
        ("7 May 2023", None, "went to a group (2023-05-07)", True),
        ("7 May 2023", None, "went to a group", False),
        ("8 May 2023", None, "went to a group", True),
        ("May 2023", date(2023, 5, 7), "went to a group", True),
        ("2022", None, "painted it last year", True),
        ("7 May 2022", None, "painted it last year", False),
        ("The week before 8 May 2023", None, "ran last week", True),
        ("June 2023", None, "camping next month", True),
        ("7 May 2023 in Malmö", date(2023, 5, 7), "went to a group", False),
    ],
)
def test_days_are_compared_as_days(answer: str, refers_to: date | None, text: str, expected: bool) -> None:
    assert answers(asked("When did Ann go?", answer, category=2), passage(text, 3, refers_to=refers_to)) is expected


def test_a_statement_of_a_joint_line_counts_for_the_turn_whose_words_it_has() -> None:
    when = asked("When did Ann go to a group?", "7 May 2023")
    assert answers(when, passage("went to support group yesterday", 3, 4))
    assert not answers(when, passage("sold a bicycle yesterday", 3, 4))


def test_days_must_come_from_the_evidence() -> None:
    assert not answers(asked("When did Ann go to a group?", "7 May 2023"), passage("went to a group yesterday", 9))


def test_an_answer_without_words_needs_its_evidence() -> None:
    yes = asked("Did Ann go?", "it is so")
    assert not answers(yes, passage("went to support group in Malmö", 3))
    assert answers(yes, passage(TURN, 3))


def test_words_are_compared_by_their_stems_and_small_numbers_as_digits() -> None:
    assert content_words("the two running dogs") == content_words("2 dogs run")
    assert split_dates("in 2022", AT) == ([Period(first=date(2022, 1, 1), last=date(2022, 12, 31))], "")
    assert split_dates("a red house", AT) == ([], "a red house")
