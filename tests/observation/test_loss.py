"""What users said that no note carries."""

import pytest

from lamina.observation.loss import LONGEST_VERBATIM, MOST_VERBATIM, find_missing, matters, verbatim
from lamina.observation.transcript import show_messages
from lamina.observation.types import EntryKind, Priority, Speaker
from tests.observation.samples import entry
from tests.observation.talk import assistant, message, returned


def missing(*contents: str, noted: tuple[str, ...] = ()) -> list[tuple[str, EntryKind, bool]]:
    shown = show_messages([message(place, content) for place, content in enumerate(contents, 1)])
    entries = [entry(text, sources=range(1, len(contents) + 1)) for text in noted]
    return [(one.text, one.kind, one.pinned) for one in find_missing(shown, entries)]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("I prefer window seats.", EntryKind.PREFERENCE),
        ("We must not exceed the quota.", EntryKind.CONSTRAINT),
        ("Never book anything on a Sunday.", EntryKind.CONSTRAINT),
        ("Let's go with PostgreSQL.", EntryKind.DECISION),
        ("Remind me to renew the passport.", EntryKind.TASK),
        ("Ich bevorzuge Plätze am Fenster.", EntryKind.PREFERENCE),
        ("我喜欢靠窗的座位。", EntryKind.PREFERENCE),
    ],
)
def test_wishes_rules_decisions_and_reminders_may_not_be_lost(content: str, kind: EntryKind) -> None:
    assert missing(content) == [(content, kind, True)]


def test_what_some_note_carries_is_not_missing() -> None:
    assert missing("I prefer window seats.", noted=("User prefers window seats",)) == []
    assert missing("Let's go with PostgreSQL for billing.", noted=("User chose PostgreSQL for billing",)) == []


def test_several_notes_may_carry_one_sentence() -> None:
    assert (
        missing(
            "I prefer window seats, vegetarian meals and quiet hotels.",
            noted=("User prefers window seats", "User prefers vegetarian meals", "User prefers quiet hotels"),
        )
        == []
    )


def test_a_note_on_another_message_carries_nothing_of_this_one() -> None:
    shown = show_messages([message(1, "I prefer window seats."), message(2, "hello")])

    assert find_missing(shown, [entry("User prefers window seats", sources=[2])])


def test_what_was_noted_before_is_not_missing_when_it_is_said_again() -> None:
    shown = show_messages([message(9, "I prefer window seats.")])

    assert find_missing(shown, (), [entry("User prefers window seats", sources=[2])]) == ()


def test_names_and_numbers_that_no_note_has_are_missing() -> None:
    assert missing("My sister Sofia lives in Porto with 3 dogs.") == [
        ("My sister Sofia lives in Porto with 3 dogs.", EntryKind.FACT, False)
    ]
    assert missing("My sister Sofia lives in Porto.", noted=("User's sister Sofia lives in Porto",)) == []


def test_talk_misses_nothing() -> None:
    assert missing("Hi there!", "How are you?", "Thanks a lot, that is great.", "```\nalways use tabs\n```") == []


def test_only_users_can_lose_something() -> None:
    shown = show_messages(
        [assistant(1, "I prefer window seats in Porto."), returned(2, "You must pay 500 EUR to Sofia.")]
    )

    assert find_missing(shown, ()) == ()


def test_little_that_is_missing_is_not_worth_a_call() -> None:
    shown = show_messages([message(1, "My sister lives in Porto.")])
    found = find_missing(shown, ())

    assert len(found) == 1
    assert not matters(found, entries=3)
    assert not matters((), entries=0)


def test_a_wish_is_always_worth_a_call() -> None:
    assert matters(find_missing(show_messages([message(1, "I prefer window seats.")]), ()), entries=50)


def test_what_is_noted_in_the_users_words_is_theirs_and_short() -> None:
    long = "I prefer " + "a room with a balcony and a view of the river and " * 20 + "silence."
    (noted,) = verbatim(find_missing(show_messages([message(4, long, author="Ann")]), ()))

    assert len(noted.text) <= LONGEST_VERBATIM
    assert noted.text.endswith("…")
    assert long.startswith(noted.text[:-1])
    assert (noted.origin, noted.author, noted.sources, noted.priority) == (Speaker.USER, "Ann", (4,), Priority.HIGH)
    assert noted.pinned


def test_a_flood_of_rules_keeps_the_newest() -> None:
    shown = show_messages([message(place, f"Never use tool number {place}.") for place in range(1, 41)])
    noted = verbatim(find_missing(shown, ()))

    assert len(noted) == MOST_VERBATIM
    assert noted[-1].text == "Never use tool number 40."
