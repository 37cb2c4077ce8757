from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInputError, InvalidLayerError, MissingIdentifierError
from lamina.memory.access import (
    HierarchyLookup,
    Kind,
    accessible_scopes,
    no_hierarchy,
    require_any,
    resolve_layers,
    resolve_scope,
    walk_up,
)
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, MemoryLayer


def stored(entries: Mapping[tuple[str, str], str]) -> HierarchyLookup:
    def parent(kind: Kind, id: str) -> str | None:
        return entries.get((kind, id))

    return parent


def layers(**ids: str) -> list[str]:
    reached = walk_up(Identifiers(**ids), no_hierarchy)
    return [scope.layer.value for scope in accessible_scopes("t", reached)]


@pytest.mark.requirement("memory.access.accessible-layers")
def test_a_user_and_a_project_open_exactly_user_project_team_org_company() -> None:
    assert layers(user_id="u", project_id="p") == ["user", "project", "team", "org", "company"]


def test_what_other_identifiers_open() -> None:
    assert layers(user_id="u") == ["user"]
    assert layers(project_id="p") == ["project", "team", "org", "company"]
    assert layers(team_id="x") == ["team", "org", "company"]
    assert layers(org_id="x") == ["org", "company"]
    assert layers(company_id="x") == ["company"]
    assert layers(session_id="s") == []
    assert layers(agent_id="a") == []
    assert layers(user_id="u", session_id="s", agent_id="a") == ["agent", "user", "session"]
    assert layers() == []


def test_the_walk_follows_what_is_stored_and_default_stands_in() -> None:
    parent = stored({("project", "web"): "front", ("team", "front"): "shop"})
    reached = walk_up(Identifiers(user_id="u", project_id="web"), parent)
    assert reached == Identifiers(user_id="u", project_id="web", team_id="front", org_id="shop", company_id="default")
    assert walk_up(Identifiers(project_id="new"), parent) == Identifiers(
        project_id="new", team_id="default", org_id="default", company_id="default"
    )


def test_given_identifiers_win_over_walked_ones() -> None:
    parent = stored({("project", "web"): "front", ("team", "front"): "shop", ("org", "other"): "holding"})
    reached = walk_up(Identifiers(project_id="web", org_id="other"), parent)
    assert (reached.team_id, reached.org_id, reached.company_id) == ("front", "other", "holding")


@given(
    ids=st.dictionaries(st.sampled_from(IDENTIFIER_NAMES), st.sampled_from(["x", "y", "default"])),
    entries=st.dictionaries(
        st.tuples(st.sampled_from(["project", "team", "org"]), st.sampled_from(["x", "y", "default"])),
        st.sampled_from(["x", "y", "default"]),
    ),
)
def test_walking_up_twice_changes_nothing_and_never_invents_what_is_below(
    ids: dict[str, str], entries: dict[tuple[str, str], str]
) -> None:
    once = walk_up(Identifiers(**ids), stored(entries))
    assert walk_up(once, stored(entries)) == once
    assert ids.items() <= once.to_dict().items()
    assert set(once.to_dict()) - set(ids) <= {"team_id", "org_id", "company_id"}
    scopes = accessible_scopes("t", once)
    assert [scope.layer.precedence for scope in scopes] == sorted(scope.layer.precedence for scope in scopes)
    assert all(tuple(scope.identifiers.to_dict()) and scope.tenant == "t" for scope in scopes)


@pytest.mark.requirement("memory.access.missing-identifier")
def test_a_named_layer_without_its_identifier_is_refused_by_name() -> None:
    with pytest.raises(MissingIdentifierError) as refused:
        resolve_layers("t", Identifiers(user_id="u"), ["session"], operation="search")
    assert refused.value.code == "MISSING_IDENTIFIER"
    assert refused.value.details["missing"] == ["session_id"]
    assert "session_id" in refused.value.message
    with pytest.raises(MissingIdentifierError) as refused:
        resolve_layers("t", Identifiers(session_id="s"), ["session"])
    assert refused.value.details["missing"] == ["user_id"]


@pytest.mark.requirement("memory.errors.invalid-layer")
def test_an_unknown_layer_is_refused_and_not_retryable() -> None:
    for wrong in ("galaxy", "User", "", 3):
        with pytest.raises(InvalidLayerError) as refused:
            resolve_layers("t", Identifiers(user_id="u"), ["user", wrong])  # type: ignore[list-item]
        assert refused.value.code == "INVALID_LAYER"
        assert not refused.value.retryable
        assert "company" in str(refused.value.details["layers"])


@pytest.mark.requirement("memory.search.layer-filter")
def test_named_layers_are_the_only_ones_in_order_of_precedence() -> None:
    reached = walk_up(Identifiers(user_id="u", project_id="p"), no_hierarchy)
    scopes = resolve_layers("t", reached, ["company", MemoryLayer.USER, "user"])
    assert [scope.layer for scope in scopes] == [MemoryLayer.USER, MemoryLayer.COMPANY]
    assert scopes[1].identifiers == Identifiers(company_id="default")
    assert [scope.layer.value for scope in resolve_layers("t", reached, "team")] == ["team"]


def test_no_layers_named_skips_what_is_out_of_reach() -> None:
    assert [scope.layer.value for scope in resolve_layers("t", Identifiers(user_id="u"), None)] == ["user"]
    assert resolve_layers("t", Identifiers(), None) == ()
    with pytest.raises(InvalidInputError):
        resolve_layers("t", Identifiers(user_id="u"), [])
    with pytest.raises(MissingIdentifierError):
        require_any(())


@given(st.dictionaries(st.sampled_from(IDENTIFIER_NAMES), st.sampled_from(["x", "y"])), st.sampled_from(MemoryLayer))
def test_what_an_add_reaches_a_search_reaches(ids: dict[str, str], layer: MemoryLayer) -> None:
    reached = walk_up(Identifiers(**ids), no_hierarchy)
    scopes = accessible_scopes("t", reached)
    if layer in {scope.layer for scope in scopes}:
        assert resolve_scope("t", reached, layer) in scopes
    else:
        with pytest.raises(MissingIdentifierError):
            resolve_scope("t", reached, layer)
