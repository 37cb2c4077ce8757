"""Whose memories are looked at: the address, choosing and putting away, and the ladder of layers."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from lamina.memory.scopes import ScopeCount
from lamina.memory.types import Identifiers, MemoryLayer
from lamina.page.looking import Looking
from lamina.page.reach import Ladder

EVERYTHING = Looking(
    identifiers=Identifiers(user_id="ana & co", agent_id="h", session_id="s:1", project_id="shop"),
    layer=MemoryLayer.USER,
    query="a=b?",
    tags=("ui", "two words"),
    weak=True,
)


@pytest.mark.parametrize("looking", [Looking(), EVERYTHING, Looking(query="ü")])
def test_an_address_leads_back_to_what_was_looked_at(looking: Looking) -> None:
    address = urlsplit(looking.address)
    assert address.path == "/memories"
    assert Looking.of(dict(parse_qsl(address.query))) == looking


def test_a_layer_there_is_not_counts_as_none() -> None:
    assert Looking.of({"layer": "attic", "weak": "yes"}) == Looking()


def test_another_person_takes_the_place_of_one_and_of_what_was_only_theirs() -> None:
    chosen = EVERYTHING.as_well(MemoryLayer.USER, Identifiers(user_id="ben"))
    assert chosen.identifiers == Identifiers(user_id="ben", project_id="shop")
    kept = EVERYTHING.as_well(MemoryLayer.AGENT, Identifiers(user_id="ana & co", agent_id="k"))
    assert kept.identifiers.session_id == "s:1"


def test_a_place_takes_the_place_of_another_beside_the_same_person() -> None:
    chosen = EVERYTHING.as_well(MemoryLayer.TEAM, Identifiers(team_id="web"))
    assert chosen.layer is MemoryLayer.TEAM
    assert chosen.identifiers.to_dict() == {
        "agent_id": "h",
        "user_id": "ana & co",
        "session_id": "s:1",
        "team_id": "web",
    }


def test_who_is_chosen_as_well_ends_the_choosing_and_the_search_for_a_name() -> None:
    choosing = Looking(identifiers=Identifiers(user_id="ana"), query="tea").choose()
    assert (choosing.choosing, choosing.query) == (True, "")
    chosen = choosing.as_well(MemoryLayer.PROJECT, Identifiers(project_id="shop"))
    assert chosen == Looking(identifiers=Identifiers(user_id="ana", project_id="shop"), layer=MemoryLayer.PROJECT)


def test_without_a_person_nothing_of_theirs_is_left() -> None:
    assert EVERYTHING.without("user_id").identifiers == Identifiers(project_id="shop")
    assert EVERYTHING.without("project_id").layer is None


def test_the_ladder_names_what_is_missing_and_what_one_identifier_more_would_open() -> None:
    reached = Identifiers(user_id="ana", project_id="shop", team_id="web")
    helper = ScopeCount(layer=MemoryLayer.AGENT, identifiers=Identifiers(agent_id="h", user_id="ana"), entries=2)
    own = ScopeCount(layer=MemoryLayer.USER, identifiers=Identifiers(user_id="ana"), entries=5)
    ladder = Ladder.of(Looking(), reached, [helper, own])
    assert ladder.reached == (MemoryLayer.USER, MemoryLayer.PROJECT, MemoryLayer.TEAM)
    agent, user, *_, company = ladder.rungs
    assert (agent.missing, agent.entries, agent.others) == (("agent_id",), 0, (helper,))
    assert (user.identifiers, user.entries, user.others) == (Identifiers(user_id="ana"), 5, ())
    assert company.missing == ("company_id",)
