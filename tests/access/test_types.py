"""What a grant allows: rights include each other, and a key that is for somebody is for nobody else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.access.types import Grant, Right
from lamina.errors import ForbiddenError
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers

some = st.dictionaries(st.sampled_from(IDENTIFIER_NAMES), st.sampled_from(["a", "b"]))


def test_each_right_includes_those_before_it() -> None:
    allowed = {(has, wanted) for has in Right for wanted in Right if has.includes(wanted)}
    assert {(has.value, wanted.value) for has, wanted in allowed} == {
        ("read", "read"),
        ("write", "read"),
        ("write", "write"),
        ("admin", "read"),
        ("admin", "write"),
        ("admin", "admin"),
    }


@pytest.mark.parametrize(("has", "wanted"), [("read", "write"), ("read", "admin"), ("write", "admin")])
def test_a_right_that_is_missing_is_named(has: str, wanted: str) -> None:
    with pytest.raises(ForbiddenError) as raised:
        Grant(tenant="t", right=Right(has)).require(Right(wanted), operation="op")
    assert raised.value.to_dict()["details"] == {"right": wanted, "has": has}
    assert raised.value.operation == "op"


def test_only_a_key_of_the_whole_tenant_concerns_itself_with_the_tenant() -> None:
    Grant(tenant="t").require_unbound()
    with pytest.raises(ForbiddenError) as raised:
        Grant(tenant="t", identifiers=Identifiers(user_id="ann")).require_unbound()
    assert "ann" not in str(raised.value.to_dict())


@given(mine=some, asked=some)
def test_a_bound_key_is_never_used_for_another(mine: dict[str, str], asked: dict[str, str]) -> None:
    grant = Grant(tenant="t", identifiers=Identifiers(**mine))
    try:
        used = grant.narrowed(asked)
    except ForbiddenError:
        assert mine
        assert any(mine.get(name) != value for name, value in asked.items())
        return
    assert used == {**asked, **mine}
    if mine:
        more = set(used) - set(mine)
        assert more <= ({"agent_id", "session_id"} if "user_id" in mine else set())


@pytest.mark.parametrize(
    ("mine", "asked"),
    [
        ({"user_id": "ann"}, {"user_id": "bob"}),
        ({"user_id": "ann"}, {"user_id": "Ann"}),
        ({"user_id": "ann"}, {"user_id": "ann "}),
        ({"user_id": "ann"}, {"user_id": ""}),
        ({"user_id": "ann"}, {"project_id": "web"}),
        ({"user_id": "ann"}, {"company_id": "acme"}),
        ({"project_id": "web"}, {"user_id": "ann"}),
        ({"project_id": "web"}, {"session_id": "s"}),
        ({"user_id": "ann", "session_id": "s"}, {"session_id": "t"}),
        ({"user_id": "ann", "agent_id": "helper"}, {"agent_id": "other"}),
    ],
)
def test_another_identifier_is_refused(mine: dict[str, Any], asked: dict[str, str]) -> None:
    with pytest.raises(ForbiddenError) as raised:
        Grant(tenant="t", identifiers=Identifiers(**mine)).narrowed(asked)
    assert raised.value.details == {"identifier": next(iter(asked))}


def test_an_identifier_that_is_not_given_is_none() -> None:
    grant = Grant(tenant="t", identifiers=Identifiers(user_id="ann"))
    assert grant.narrowed({"user_id": None, "project_id": None}) == {"user_id": "ann"}
    assert Grant(tenant="t").narrowed({"user_id": None, "project_id": "web"}) == {"project_id": "web"}


def test_the_audit_log_names_the_key() -> None:
    assert Grant(tenant="t", key_id="0f").actor == "key:0f"
    assert Grant(tenant="t").actor == "local"
