"""`lamina hierarchy`: who belongs to whom, and what a search reaches because of it."""

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def linked(terminal: Terminal) -> Terminal:
    """A terminal whose store knows project web up to company acme."""
    terminal.ok("hierarchy", "set", "--project", "web", "--team", "ui", "--org", "labs")
    terminal.ok("hierarchy", "set", "--org", "labs", "--company", "acme")
    return terminal


def test_a_search_for_the_project_reaches_the_company(linked: Terminal) -> None:
    linked.add("Never deploy on a Friday", "--layer", "company", "--company", "acme")
    hits = linked.ok("search", "deploy on Friday", "--project", "web", "--json").document["results"]
    assert [hit["layer"] for hit in hits] == ["company"]


def test_show_draws_a_tree_from_the_company_down(linked: Terminal) -> None:
    linked.ok("hierarchy", "set", "--project", "shop", "--team", "ui")
    lines = linked.ok("hierarchy", "show").out.splitlines()
    assert [line.strip("│├└─ ") for line in lines] == [
        "company acme",
        "org labs",
        "team ui",
        "project shop",
        "project web",
    ]


def test_show_as_json_lists_the_links(linked: Terminal) -> None:
    assert linked.ok("hierarchy", "show", "--json").document == [
        {"kind": "org", "id": "labs", "parent_id": "acme"},
        {"kind": "project", "id": "web", "parent_id": "ui"},
        {"kind": "team", "id": "ui", "parent_id": "labs"},
    ]


def test_set_says_what_it_set(terminal: Terminal) -> None:
    assert terminal.ok("hierarchy", "set", "--project", "web", "--team", "ui").out == "project web › team ui\n"
    document = terminal.ok("hierarchy", "set", "--team", "ui", "--org", "labs", "--json").document
    assert document == {"set": {"team_id": "ui", "org_id": "labs"}}


def test_remove_forgets_one_link_and_says_whether_there_was_one(linked: Terminal) -> None:
    assert linked.ok("hierarchy", "remove", "project", "web").out == "removed\n"
    assert linked.ok("hierarchy", "remove", "project", "web", "--json").document == {"removed": False}
    assert "project" not in linked.ok("hierarchy", "show").out


def test_an_empty_hierarchy_is_said(terminal: Terminal) -> None:
    terminal.add("so that there is a store")
    assert terminal.ok("hierarchy", "show").out == "nothing is set\n"


@pytest.mark.parametrize("words", [(), ("--project", "web"), ("--project", "web", "--org", "labs")])
def test_levels_that_are_no_neighbours_are_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    error = terminal.run("hierarchy", "set", *words, "--json").error
    assert error["code"] == "INVALID_INPUT"
    assert "--project web --team ui" in error["next"]


def test_an_unknown_level_is_a_wrong_command_line(terminal: Terminal) -> None:
    answer = terminal.run("hierarchy", "remove", "galaxy", "x")
    assert answer.status == 2
    assert "project" in answer.err


def test_without_a_store_there_is_nothing_to_show(terminal: Terminal) -> None:
    assert terminal.run("hierarchy", "show", "--json").error["code"] == "CONFIGURATION_ERROR"
