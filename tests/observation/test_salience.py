"""What is worth noting of what was said, what kind of thing it is, and how it is cut and shortened."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.kinds import classify
from lamina.observation.pieces import join_clauses, read_sentences
from lamina.observation.salience import judge, name_terms, weigh_terms
from lamina.observation.selection import Candidate, choose
from lamina.observation.squeeze import squeeze
from lamina.observation.types import EntryKind, Priority, Speaker, Status

AT = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def value(text: str) -> float:
    return judge(text, said_at=AT).value


def clauses(text: str) -> list[str]:
    return [str(clause) for sentence in read_sentences(text) for clause in sentence.clauses]


def kind(text: str, origin: Speaker = Speaker.USER, *, question: bool = False, answered: bool = True) -> EntryKind:
    found = classify(text, origin=origin, value=0.2, question=question, answered=answered, refers_to=None)
    return found.kind


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I moved here from Sweden", "It was so much fun"),
        ("I adopted a guinea pig named Oscar", "I adopted one of them"),
        ("The invoice is 4,200 euros", "The invoice is quite high"),
        ("I ran a race last Saturday", "I ran a race"),
        ("My sister plays the cello", "Your dedication is really inspiring"),
        ("The build broke in src/billing/tax.py", "Something must be wrong there"),
        ("我昨天去了上海的外滩", "好的谢谢"),
        ("Meine Schwester arbeitet bei Siemens in Erlangen", "Das ist ja sehr schön"),
    ],
)
def test_what_tells_something_is_worth_more_than_what_does_not(more: str, less: str) -> None:
    assert value(more) > value(less)


def test_the_names_of_those_who_talk_tell_nothing() -> None:
    known = name_terms(["Ann Lee", None])
    assert judge("Ann told Lee", said_at=AT, known=known).terms.keys().isdisjoint(weigh_terms("Ann Lee"))


def test_what_answers_a_question_is_worth_more() -> None:
    assert judge("In Sweden", said_at=AT, answers=True).value > judge("In Sweden", said_at=AT).value


@settings(deadline=None)
@given(text=st.text(max_size=300))
def test_every_text_has_a_worth_between_nothing_and_certainty(text: str) -> None:
    assert 0 < value(text) < 1


@pytest.mark.parametrize(
    "text",
    [
        "Hey Mel! Good to see you! How have you been?",
        "Thanks, Caroline!",
        "Talk to you soon!",
        "Have a great day!",
        "Long time no see!",
        "Wow!",
        "Danke! Wie geht es dir?",
        "```python\nprint(1)\n```",
        "> they wrote this last week",
        "",
        " \n\t",
    ],
)
def test_greetings_fillers_code_and_quotations_are_not_read(text: str) -> None:
    assert clauses(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thanks, Melanie! I moved from Sweden.", ["I moved from Sweden."]),
        ("Hey Jon, by the way, I lost my job.", ["I lost my job."]),
        ("I'm so excited to tell you that I got the job.", ["I got the job."]),
        ("We went biking in the hills - it was so cool!", ["We went biking in the hills", "it was so cool!"]),
        ("We saw the wide sea - The kids loved it a lot.", ["We saw the wide sea", "The kids loved it a lot."]),
        ("Last week was wild - I got a medal!", ["Last week was wild - I got a medal!"]),
        ("I made it with milk, sugar, and a pinch of salt.", ["I made it with milk, sugar, and a pinch of salt."]),
        ("Max and I had a blast.", ["Max and I had a blast."]),
        ("- use tabs\n- use spaces", ["use tabs", "use spaces"]),
        ("我去了上海。住在外滩。", ["我去了上海", "住在外滩"]),
        ("See [image: a dog - a cat]", ["See [image: a dog - a cat]"]),
    ],
)
def test_a_message_is_cut_into_clauses_in_its_own_words(text: str, expected: list[str]) -> None:
    assert clauses(text) == expected


def test_neighbours_are_put_together_as_they_were_and_a_gap_is_marked() -> None:
    (sentence,) = read_sentences("I walked along the river; it was cold and wet; the ducks were asleep already.")
    first, second, third = sentence.clauses
    assert join_clauses([first, second]) == "I walked along the river; it was cold and wet"
    assert join_clauses([first, third]) == "I walked along the river … the ducks were asleep already"


@settings(deadline=None)
@given(text=st.text(max_size=400))
def test_no_text_is_too_odd_to_be_cut_and_every_clause_is_in_it(text: str) -> None:
    said = "".join(text.split())
    for sentence in read_sentences(text):
        for clause in sentence.clauses:
            assert "".join(str(clause).split()) in said
            assert any(char.isalnum() for char in str(clause))


def test_a_text_without_end_is_read_in_time_that_grows_with_its_length() -> None:
    for text in ("x" * 200_000, "a " * 100_000, "- " * 100_000, "a" + " " * 200_000 + "b", "``` " * 50_000):
        assert all(len(clause) <= 2_000 for clause in clauses(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'd rather have short answers", EntryKind.PREFERENCE),
        ("My favourite editor is Vim", EntryKind.PREFERENCE),
        ("I never want a berth next to the ferry", EntryKind.PREFERENCE),
        ("I don't want any meetings on Fridays", EntryKind.PREFERENCE),
        ("I can't eat peanuts", EntryKind.PREFERENCE),
        ("I don't want to go home yet", EntryKind.FACT),
        ("Please always run ruff before you commit", EntryKind.PREFERENCE),
        ("Never push to main without asking me", EntryKind.CONSTRAINT),
        ("The answer must not exceed 200 words", EntryKind.CONSTRAINT),
        ("I'm allergic to cockroaches", EntryKind.CONSTRAINT),
        ("We decided to go with PostgreSQL 16", EntryKind.DECISION),
        ("Let's use the blue variant", EntryKind.DECISION),
        ("Remind me to call the dentist", EntryKind.TASK),
        ("TypeError: 'int' object is not callable", EntryKind.ERROR),
        ("I went to the dentist", EntryKind.EVENT),
        ("The server has 64 GB of memory", EntryKind.FACT),
        ("Ich bevorzuge kurze Sätze", EntryKind.PREFERENCE),
        ("Der Preis darf nicht über 4.200 Euro liegen", EntryKind.CONSTRAINT),
        ("Wir haben uns für die blaue Variante entschieden", EntryKind.DECISION),
        ("Je préfère le train", EntryKind.PREFERENCE),
        ("我喜欢喝龙井茶", EntryKind.PREFERENCE),
        ("10月3日に決定しました", EntryKind.DECISION),
    ],
)
def test_the_wording_tells_the_kind(text: str, expected: EntryKind) -> None:
    assert kind(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "That must've been great!",
        "You must be so proud",
        "It's a must-see",
        "They remind me of that day",
        "I love painting",
        "They always make me happy",
    ],
)
def test_talk_that_only_sounds_like_a_rule_is_none(text: str) -> None:
    assert kind(text) in (EntryKind.FACT, EntryKind.EVENT)


def test_only_the_user_has_wishes_and_gives_tasks() -> None:
    for text in ("I'd rather have short answers", "Never push to main", "Remind me to call"):
        assert kind(text, Speaker.ASSISTANT) in (EntryKind.FACT, EntryKind.EVENT)


def test_a_request_is_an_open_task_until_somebody_answers() -> None:
    request = "Could you rename the module"
    assert kind(request, question=True, answered=False) is EntryKind.TASK
    assert kind(request, question=True) is EntryKind.QUESTION
    assert kind("Please rename the module billing.py", answered=False) is EntryKind.TASK
    assert kind("Please rename the module billing.py") is EntryKind.EVENT


def test_what_the_assistant_reports_done_is_an_outcome() -> None:
    found = classify(
        "I've fixed the rounding in tax.py",
        origin=Speaker.ASSISTANT,
        value=0.2,
        question=False,
        answered=True,
        refers_to=None,
    )
    assert (found.kind, found.status, found.priority) == (EntryKind.OUTCOME, Status.DONE, Priority.MEDIUM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to a really nice support group", "went to nice support group"),
        ("I'm not going to the party", "not going to party"),
        ("I was told that I must leave", "was told that I must leave"),
        ('I read "The Lord of the Rings" in a week', 'read "The Lord of the Rings" in week'),
        ("she takes vitamin A.", "she takes vitamin A."),
        ("It is not just a hobby for me", "It is not just hobby for me"),
        ("I don't really like the sea", "don't really like sea"),
        ("I saved the money so that we can travel", "saved money so that we can travel"),
        ("we saw a few of the birds", "we saw a few of birds"),
        ("I lived in The Hague and in the city", "lived in The Hague and in city"),
        ("I would have gone", "would have gone"),
        ("Ich habe die Lampe gekauft", "Ich habe die Lampe gekauft"),
        ("voy a la playa", "voy a la playa"),
        ("我喜欢喝龙井茶", "我喜欢喝龙井茶"),
        ("The", "The"),
        ("", ""),
    ],
)
def test_words_that_only_fill_go_and_no_meaning_turns(text: str, expected: str) -> None:
    assert squeeze(text) == expected


TURNING = (
    "not",
    "no",
    "never",
    "without",
    "would",
    "could",
    "might",
    "must",
    "was",
    "had",
    "to",
    "from",
    "unless",
    "if",
)


@settings(deadline=None)
@given(words=st.lists(st.sampled_from([*TURNING, "I", "the", "a", "so", "really", "it", "is", "my", "dog", "42,"])))
def test_what_is_left_are_words_of_the_text_in_order_and_none_that_turns_it_goes(words: list[str]) -> None:
    for strong in (False, True):
        left = squeeze(" ".join(words), strong=strong).split()
        rest = iter(words)
        assert all(any(word.rstrip(",;") == other.rstrip(",;") for other in rest) for word in left)
        assert [word for word in left if word in TURNING] == [word for word in words if word in TURNING]


def candidate(tokens: int, worth: float, *terms: int, line: object = None, fixed: bool = False) -> Candidate:
    return Candidate(tokens=tokens, value=worth, terms=dict.fromkeys(terms, 1.0), line=line or object(), fixed=fixed)


def test_what_is_worth_most_for_its_length_is_chosen_within_the_budget() -> None:
    given_ones = [candidate(10, 0.9, 1), candidate(40, 0.9, 2), candidate(10, 0.1, 3)]
    assert choose(given_ones, budget=20, line_tokens=2) == [0]
    assert choose(given_ones, budget=24, line_tokens=2) == [0, 2]


def test_what_was_said_already_is_worth_less() -> None:
    twice = [candidate(10, 0.5, 1, 2), candidate(10, 0.5, 1, 2), candidate(10, 0.49, 3, 4)]
    assert choose(twice, budget=24, line_tokens=2) == [0, 2]
    seen = dict.fromkeys((3, 4), 9)
    assert choose(twice, budget=24, line_tokens=2, seen=seen) == [0, 1]


def test_one_line_is_paid_for_once() -> None:
    together = [candidate(10, 0.5, number, line="one") for number in range(3)]
    assert choose(together, budget=36, line_tokens=4) == [0, 1, 2]
    apart = [candidate(10, 0.5, number) for number in range(3)]
    assert choose(apart, budget=36, line_tokens=4) == [0, 1]


@settings(deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 50), st.floats(0.01, 1), st.integers(0, 5), st.booleans()), max_size=40),
    budget=st.integers(0, 300),
)
def test_a_budget_is_kept_but_for_what_must_be_there(sizes: list[tuple[int, float, int, bool]], budget: int) -> None:
    given_ones = [candidate(tokens, worth, term, fixed=fixed) for tokens, worth, term, fixed in sizes]
    chosen = choose(given_ones, budget=budget, line_tokens=3)
    assert chosen == choose(given_ones, budget=budget, line_tokens=3)
    must = {place for place, one in enumerate(given_ones) if one.fixed}
    assert must <= set(chosen)
    cost = sum(given_ones[place].tokens + 3 for place in chosen)
    assert cost <= budget or set(chosen) == must
