"""`lamina search`, for people and for programs."""

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def filled(terminal: Terminal) -> Terminal:
    """A terminal with a store that has something in two layers."""
    terminal.add("Prefers dark mode in every editor", "--user", "u1", "--tag", "ui")
    terminal.add(
        "The web project ships in dark mode",
        *("--layer", "project", "--project", "web", "--metadata", '{"priority": 3}'),
    )
    return terminal


def test_results_come_layer_by_layer_within_eighty_columns(filled: Terminal) -> None:
    answer = filled.ok("search", "dark mode", "--user", "u1", "--project", "web")
    assert answer.out.index("Prefers dark mode") < answer.out.index("The web project")
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "2 of 2" in answer.err
    assert "searched user, project" in answer.err


def test_json_carries_scores_and_their_parts(filled: Terminal) -> None:
    answer = filled.ok("search", "dark mode", "--user", "u1", "--project", "web", "--explain", "--json")
    assert answer.err == ""
    document = answer.document
    assert document["query"] == "dark mode"
    assert [hit["layer"] for hit in document["results"]] == ["user", "project"]
    assert sum(document["results"][0]["explain"].values()) == pytest.approx(document["results"][0]["score"], abs=0.01)


def test_explain_names_the_signals(filled: Terminal) -> None:
    shown = filled.ok("search", "dark mode", "--user", "u1", "--explain").out
    assert "lexical" in shown
    assert "vector" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--layer", "project"), ["project"]),
        (("--tag", "ui"), ["user"]),
        (("--where", '{"priority": {"gte": 2}}'), ["project"]),
        (("--limit", "1"), ["user"]),
        (("--threshold", "1.0", "--layer", "team"), []),
    ],
)
def test_options_narrow_the_search(filled: Terminal, words: tuple[str, ...], expected: list[str]) -> None:
    identifiers = ("--user", "u1", "--project", "web", "--team", "ui")
    document = filled.ok("search", "dark mode", *identifiers, *words, "--json").document
    assert [hit["layer"] for hit in document["results"]] == expected


def test_nothing_found_is_said_and_is_no_error(filled: Terminal) -> None:
    answer = filled.ok("search", "submarine volcanoes", "--user", "u1")
    assert answer.out == "no results\n"
    assert "0 of 0" in answer.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--user", "u1", "--where", "{"), "INVALID_FILTER"),
        (("--user", "u1", "--where", "7"), "INVALID_FILTER"),
        (("--user", "u1", "--where", '{"a": {"about": 1}}'), "INVALID_FILTER"),
        (("--user", "u1", "--layer", "galaxy"), "INVALID_LAYER"),
        (("--user", "u1", "--limit", "1000"), "INVALID_INPUT"),
        ((), "MISSING_IDENTIFIER"),
        (("--user", "u1", "--embedder", "nonsense"), "CONFIGURATION_ERROR"),
        (("--user", "u1", "--store", "mysql://host/name"), "CONFIGURATION_ERROR"),
        (("--user", "u1", "--config", "nowhere.toml"), "CONFIGURATION_ERROR"),
    ],
)
def test_each_error_has_its_code_and_says_what_to_do(filled: Terminal, words: tuple[str, ...], code: str) -> None:
    for_people = filled.run("search", "dark mode", *words)
    assert (for_people.status, for_people.out) == (1, "")
    error = filled.run("search", "dark mode", *words, "--json").error
    assert error["code"] == code
    assert for_people.err.split() == f"{code} {error['message']} next {error['next']}".split()


def test_a_file_that_is_no_store_is_named_as_such(terminal: Terminal) -> None:
    with open("notes.txt", "w", encoding="utf-8") as file:
        file.write("this is not a database, only some text that is long enough to look at\n" * 50)
    error = terminal.run("search", "x", "--user", "u1", "--store", "notes.txt", "--json").error
    assert (error["code"], error["details"]["reason"]) == ("PROVIDER_ERROR", "not_a_store")
    assert "path" in error["next"]
    with open("notes.txt", encoding="utf-8") as file:
        assert file.read().startswith("this is not a database")


def test_a_store_works_on_each_engine(terminal: Terminal, store_url: str) -> None:
    id = terminal.add("Prefers dark mode", "--user", "u1", "--store", store_url)
    hits = terminal.ok("search", "dark mode", "--user", "u1", "--store", store_url, "--json").document["results"]
    assert [hit["id"] for hit in hits] == [id]
