"""Another tenant sees nothing and changes nothing; every statement names its tenant."""

from collections.abc import Callable
from typing import Any

import pytest

from lamina.app import App
from lamina.errors import InvalidCursorError, InvalidInputError, SessionNotFoundError
from lamina.session.service import SessionService
from tests.session.opening import every_row, numbers, said
from tests.test_tenancy import Watch

pytestmark = pytest.mark.anyio

CALLS: list[Callable[[SessionService], Any]] = [
    lambda other: other.get("s"),
    lambda other: other.messages("s"),
    lambda other: other.recent("s"),
    lambda other: other.recall("vault", session_key="s"),
    lambda other: other.recall(session_key="s", first=1),
    lambda other: other.compact_messages("s", up_to=0, summary="mine now"),
    lambda other: other.delete("s"),
]


@pytest.mark.parametrize("call", CALLS)
async def test_another_tenant_finds_no_such_session(
    app: App, sessions: SessionService, call: Callable[[SessionService], Any]
) -> None:
    await sessions.append_many(said("The vault opens with 4711", "Noted"), session_key="s", user_id="ann")
    before = await every_row(app)
    with pytest.raises(SessionNotFoundError):
        await call(sessions.for_tenant("other"))
    assert await every_row(app) == before


async def test_the_same_key_and_id_in_two_tenants_are_two_sessions(sessions: SessionService) -> None:
    other = sessions.for_tenant("other")
    await sessions.append(role="user", content="The vault opens with 4711", id="m", session_key="s", user_id="ann")
    theirs = await other.append(role="user", content="Our vault is open", id="m", session_key="s", user_id="ann")
    assert (theirs.sequence, theirs.content) == (1, "Our vault is open")
    hits = await other.recall("vault 4711", user_id="ann", threshold=0)
    assert [hit.message.content for hit in hits] == ["Our vault is open"]
    assert (await other.list()).total_count == 1
    await other.delete("s")
    assert numbers(await sessions.messages("s")) == [1]


async def test_a_cursor_is_of_no_use_to_another_tenant_or_listing(sessions: SessionService) -> None:
    for number in range(3):
        for service in (sessions, sessions.for_tenant("other")):
            await service.append(role="user", content="x", session_key=f"s{number}", user_id="ann")
    cursor = (await sessions.list(limit=1)).next_cursor
    for call in (
        sessions.for_tenant("other").list(limit=1, cursor=cursor),
        sessions.list(limit=1, cursor=cursor, user_id="ann"),
        sessions.list(cursor="x"),
    ):
        with pytest.raises(InvalidCursorError):
            await call
    with pytest.raises(InvalidInputError):
        sessions.for_tenant("")


async def test_every_statement_names_its_tenant(
    app: App, sessions: SessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch)
    await sessions.append_many(said("a", "b", "c", "d"), session_key="s", user_id="ann")
    await sessions.append(role="user", content="e", id="known", session_key="s")
    await sessions.append(role="user", content="e", id="known", session_key="s")
    await sessions.messages("s")
    await sessions.messages("s", archived=None)
    await sessions.recent("s", budget_tokens=20)
    await sessions.get("s")
    await sessions.list(user_id="ann", limit=1)
    await sessions.recall("a", session_key="s", first=1, last=2)
    await sessions.recall("a", user_id="ann")
    await sessions.recall(session_key="s", first=1)
    await sessions.compact_messages("s", up_to=2, summary="a and b")
    await sessions.recall("a", session_key="s", archived=True)
    await sessions.delete("s")
    assert watch.seen > 40
    assert not watch.careless
