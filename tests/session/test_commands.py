"""The commands of sessions, as a person and as a program uses them."""

import pytest

from tests.cli.terminal import Terminal

KEY = "telegram:42:7"
LINES = ("Where did I park?", "On the second floor", "And which row?", "Row K, beside the lift")


@pytest.fixture
def talk(terminal: Terminal) -> Terminal:
    for number, line in enumerate(LINES):
        role = ("user", "assistant")[number % 2]
        terminal.ok("session", "append", KEY, line, "--role", role, "--user", "ann")
    return terminal


def test_a_message_is_appended_and_numbered(terminal: Terminal) -> None:
    answer = terminal.ok("session", "append", KEY, "Hello", "--user", "ann", "--author", "Ann", "--id", "m1", "--json")
    assert (answer.document["sequence"], answer.document["author"], answer.document["role"]) == (1, "Ann", "user")
    again = terminal.ok("session", "append", KEY, "Hello again", "--id", "m1", "--json")
    assert again.document == answer.document
    printed = terminal.ok("session", "append", KEY, "-", "--role", "tool", "--at", "2h", input="from a pipe")
    assert printed.out.startswith("2: ")
    shown = terminal.ok("session", "show", KEY)
    assert "from a pipe" in shown.out
    assert "Ann" in shown.out


def test_sessions_are_listed(talk: Terminal) -> None:
    talk.ok("session", "append", "other", "Hello", "--user", "bob")
    document = talk.ok("session", "list", "--json").document
    assert [one["key"] for one in document["sessions"]] == ["other", KEY]
    assert (document["total_count"], document["sessions"][1]["message_count"]) == (2, 4)
    page = talk.ok("session", "list", "--limit", "1")
    assert "other" in page.out
    assert "--cursor" in page.err
    assert len(talk.ok("session", "list", "--limit", "1", "--all", "--json").document["sessions"]) == 2
    only = talk.ok("session", "list", "--user", "ann", "--json").document
    assert [one["key"] for one in only["sessions"]] == [KEY]
    assert "no sessions" in talk.ok("session", "list", "--user", "nobody").out


def test_a_conversation_is_shown_in_its_order(talk: Terminal) -> None:
    shown = talk.ok("session", "show", KEY).out
    assert shown.index(LINES[0]) < shown.index(LINES[3])
    assert "4 live, 0 archived" in shown
    part = talk.ok("session", "show", KEY, "--after", "1", "--limit", "2")
    assert LINES[0] not in part.out
    assert "--after 3" in part.err
    document = talk.ok("session", "show", KEY, "--json").document
    assert document["session"]["user_id"] == "ann"
    assert [one["sequence"] for one in document["messages"]] == [1, 2, 3, 4]
    assert "no such messages" in talk.ok("session", "show", KEY, "--archived").out


def test_words_and_numbers_are_recalled(talk: Terminal) -> None:
    document = talk.ok("session", "recall", "where is the car parked?", "--session", KEY, "--json").document
    assert document["results"][0]["sequence"] in (1, 2)
    assert document["searched_sessions"] == 1
    assert "lexical" in talk.ok("session", "recall", "second floor", "--session", KEY, "--explain").out
    everywhere = talk.ok("session", "recall", "second floor", "--user", "ann")
    assert KEY in everywhere.out.replace("\n", "")
    numbers = talk.ok("session", "recall", "--session", KEY, "--first", "2", "--last", "3", "--json").document
    assert [one["sequence"] for one in numbers["results"]] == [2, 3]
    some = talk.ok("session", "recall", "--session", KEY, "--first", "1", "--limit", "2")
    assert "2 of 4" in some.err
    nothing = talk.ok("session", "recall", "zebra crossing", "--session", KEY, "--archived", "--threshold", "0.9")
    assert "no such messages" in nothing.out


def test_a_session_is_deleted_and_says_what_went(talk: Terminal) -> None:
    document = talk.ok("session", "delete", KEY, "--json").document
    assert (document["deleted"], document["removed"]["messages"], document["removed"]["vectors"]) == (KEY, 4, 4)
    again = talk.run("session", "delete", KEY, "--json")
    assert (again.status, again.error["code"]) == (1, "SESSION_NOT_FOUND")
    assert "session list" in again.error["next"]


def test_only_what_was_removed_is_told(talk: Terminal) -> None:
    assert talk.ok("session", "delete", KEY).out.strip() == "deleted: 4 messages, 4 vectors"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("recall", "park"), "MISSING_IDENTIFIER"),
        (("recall", "--session", KEY), "INVALID_INPUT"),
        (("recall", "--session", KEY, "--note", "no-such-note"), "INVALID_INPUT"),
        (("show", "no such session"), "SESSION_NOT_FOUND"),
        (("append", KEY, "Hello", "--role", "robot"), "INVALID_INPUT"),
        (("append", KEY, "Hello", "--at", "sometime"), "INVALID_INPUT"),
    ],
)
def test_a_mistake_is_an_error_with_a_code_and_a_next_step(talk: Terminal, words: tuple[str, ...], code: str) -> None:
    answer = talk.run("session", *words, "--json")
    assert (answer.status, answer.error["code"]) == (1, code)
    assert answer.error["next"]


def test_hostile_text_does_not_drive_the_terminal(terminal: Terminal) -> None:
    terminal.ok("session", "append", KEY, "red \x1b[31m and [bold]markup[/bold]", "--author", "[red]Eve")
    shown = terminal.ok("session", "show", KEY).out
    assert "\x1b[31m" not in shown
    assert "[bold]markup[/bold]" in shown
    assert "[red]Eve" in shown


def test_long_texts_are_cut_for_people_and_whole_for_programs(terminal: Terminal) -> None:
    terminal.ok("session", "append", KEY, "-", "--role", "tool", input="word " * 2000)
    assert "more characters" in terminal.ok("session", "show", KEY).out
    document = terminal.ok("session", "show", KEY, "--json").document
    assert len(document["messages"][0]["content"]) == 10_000
