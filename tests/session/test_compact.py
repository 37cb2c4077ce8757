"""Compaction moves messages to the archive, puts one summary in their place, and loses nothing."""

from datetime import timedelta
from typing import Any

import pytest

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import InvalidInputError, SessionNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.session.archiving import archive_messages, compact_session
from lamina.session.reading import find_session
from lamina.session.service import SessionService
from lamina.session.types import MessageKind, NewMessage, Role
from tests.session.opening import answering, calling, loose_ends, numbers, said

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(sessions: SessionService, clock: ManualClock) -> str:
    """Eight messages, a minute apart."""
    for number in range(8):
        role = Role.USER if number % 2 == 0 else Role.ASSISTANT
        await sessions.append(role=role, content=f"line {number + 1}", session_key="session:123")
        clock.advance(60)
    return "session:123"


@pytest.mark.requirement("observation.compaction.messages")
async def test_messages_up_to_a_number_go_to_the_archive_and_a_summary_takes_their_place(
    sessions: SessionService, talk: str, clock: ManualClock
) -> None:
    before = await sessions.messages(talk)
    summary = await sessions.compact_messages(talk, up_to=6, summary="User discussed weather")
    assert (summary.kind, summary.sequence, summary.role) == (MessageKind.SUMMARY, 6, Role.SYSTEM)
    assert summary.at == before[5].at <= before[6].at
    live = await sessions.messages(talk)
    assert live == (summary, *before[6:])
    archived = await sessions.messages(talk, archived=True)
    assert [(one.sequence, one.content, one.archived_at) for one in archived] == [
        (one.sequence, one.content, clock.now()) for one in before[:6]
    ]
    assert numbers(await sessions.messages(talk, archived=None)) == [1, 2, 3, 4, 5, 6, 7, 8]
    found = await sessions.get(talk)
    assert (found.message_count, found.archived_count, found.last_sequence) == (2, 6, 8)
    assert found.total_tokens == sum(one.tokens for one in before)


async def test_a_conversation_can_be_read_backwards_in_the_archive_and_out_of_it(
    sessions: SessionService, talk: str
) -> None:
    await sessions.compact_messages(talk, up_to=4, summary="User discussed weather")

    async def before(number: int, **more: Any) -> list[int]:
        return numbers(await sessions.messages(talk, before=number, **more))

    assert await before(9, archived=None, limit=3) == [6, 7, 8]
    assert await before(6, archived=None, limit=3) == [3, 4, 5]
    assert await before(9, archived=None, after=6) == [7, 8]
    assert await before(7) == [5, 6]
    assert await before(7, archived=True, limit=2) == [3, 4]
    assert await before(1, archived=None) == []
    with pytest.raises(InvalidInputError):
        await before(0)


@pytest.mark.requirement("observation.compaction.messages")
async def test_a_compaction_that_fails_half_way_changes_nothing(app: App, talk: str) -> None:
    before = await app.sessions.messages(talk)

    class BrokenError(Exception):
        pass

    def half(link: Link) -> None:
        held = find_session(link, "default", talk, hold=True)
        assert held is not None
        assert archive_messages(link, held, up_to=4, now=app.sessions.clock.now()) == 4
        raise BrokenError

    with pytest.raises(BrokenError):
        await app.parts.database.write(half)
    assert await app.sessions.messages(talk) == before
    assert (await app.sessions.get(talk)).archived_count == 0


@pytest.mark.requirement("observation.compaction.nothing-to-delete")
async def test_a_summary_is_put_in_place_even_when_nothing_is_archived(sessions: SessionService, talk: str) -> None:
    before = await sessions.messages(talk)
    summary = await sessions.compact_messages(talk, up_to=0, summary="Nothing yet")
    assert (summary.sequence, summary.at) == (0, before[0].at)
    assert await sessions.messages(talk) == (summary, *before)
    assert (await sessions.get(talk)).archived_count == 0


async def test_the_next_summary_replaces_the_one_before(sessions: SessionService, talk: str) -> None:
    await sessions.compact_messages(talk, up_to=2, summary="first")
    second = await sessions.compact_messages(talk, up_to=4, summary="second")
    live = await sessions.messages(talk)
    assert (live[0], numbers(live[1:])) == (second, [5, 6, 7, 8])
    again = await sessions.compact_messages(talk, up_to=0, summary="third")
    assert (again.sequence, again.content) == (4, "third")
    assert (await sessions.messages(talk))[0] == again
    assert (await sessions.get(talk)).archived_count == 4


async def test_a_summary_is_no_message(sessions: SessionService, talk: str) -> None:
    await sessions.compact_messages(talk, up_to=4, summary="They spoke of giraffes")
    assert len(await sessions.recall("giraffes", session_key=talk)) == 0
    assert all(one.kind is MessageKind.MESSAGE for one in await sessions.recent(talk, budget_tokens=1000))
    following = await sessions.append(role="user", content="line 9", session_key=talk)
    assert following.sequence == 9


async def test_a_summary_never_looks_younger_than_what_is_kept(sessions: SessionService, clock: ManualClock) -> None:
    moments = [clock.now() + timedelta(hours=hours) for hours in (5, 4, 1, 3)]
    await sessions.append_many(
        [NewMessage(role=Role.USER, content="x", at=moment) for moment in moments], session_key="s"
    )
    summary = await sessions.compact_messages("s", up_to=2, summary="early")
    assert summary.at == moments[2]


async def test_an_unsafe_cut_is_refused_and_the_largest_safe_one_is_named(sessions: SessionService) -> None:
    await sessions.append_many([*said("a", "b"), calling("c1"), answering("c1"), *said("e", "f")], session_key="s")
    for up_to, safe in ((3, 2), (5, 4), (6, 4), (99, 4)):
        with pytest.raises(InvalidInputError) as refused:
            await sessions.compact_messages("s", up_to=up_to, summary="too much")
        assert refused.value.details["safe"] == safe
    assert (await sessions.get("s")).archived_count == 0
    await sessions.compact_messages("s", up_to=4, summary="fine")
    with pytest.raises(InvalidInputError):
        await sessions.compact_messages("s", up_to=4, summary=" ")
    with pytest.raises(SessionNotFoundError):
        await sessions.compact_messages("no such", up_to=0, summary="x")


async def test_a_pending_call_is_never_compacted(sessions: SessionService) -> None:
    await sessions.append_many([*said("a", "b"), calling("open"), *said("c", "d", "e")], session_key="s")
    with pytest.raises(InvalidInputError) as refused:
        await sessions.compact_messages("s", up_to=5, summary="too much")
    assert refused.value.details["safe"] == 2


async def test_the_steps_of_a_compaction_fit_into_somebody_elses_transaction(app: App, talk: str) -> None:
    now = app.sessions.clock.now()

    def work(link: Link) -> tuple[int, int]:
        held = find_session(link, "default", talk, hold=True)
        assert held is not None
        first = compact_session(link, held, up_to=2, summary="one", tokens=5, now=now)
        again = find_session(link, "default", talk, hold=True)
        assert again is not None
        return first[0], compact_session(link, again, up_to=6, summary="two", tokens=5, now=now)[0]

    assert await app.parts.database.write(work) == (2, 4)
    assert (await app.sessions.get(talk)).archived_count == 6
    assert await loose_ends(app) == {}
