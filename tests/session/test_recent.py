"""The raw window of a prompt: read from the end, within its budget, whole exchanges only."""

import pytest

from lamina.errors import SessionNotFoundError
from lamina.session.service import SessionService
from lamina.session.types import NewMessage, Role
from tests.session.opening import answering, calling, numbers, said

pytestmark = pytest.mark.anyio


async def test_the_newest_messages_within_the_budget(sessions: SessionService) -> None:
    stored = await sessions.append_many(said(*("word " * 20 for _ in range(200))), session_key="s")
    each = stored[0].tokens
    shown = await sessions.recent("s", budget_tokens=each * 5)
    assert numbers(shown) == [196, 197, 198, 199, 200]
    assert numbers(await sessions.recent("s", budget_tokens=each * 150)) == list(range(51, 201))
    assert len(await sessions.recent("s")) == 200
    with pytest.raises(SessionNotFoundError):
        await sessions.recent("no such", budget_tokens=10)


async def test_what_is_archived_is_not_in_it(sessions: SessionService) -> None:
    await sessions.append_many(said("a", "b", "c", "d", "e"), session_key="s")
    await sessions.compact_messages("s", up_to=4, summary="a to d")
    assert numbers(await sessions.recent("s", budget_tokens=1000)) == [5]
    assert numbers(await sessions.recent("s")) == [5]


async def test_a_call_far_back_is_found_for_its_result(sessions: SessionService) -> None:
    talk = [*said("please"), calling("slow"), *said(*("word " * 20 for _ in range(101))), answering("slow")]
    stored = await sessions.append_many(talk, session_key="s")
    each = stored[5].tokens
    shown = await sessions.recent("s", budget_tokens=each * 10)
    assert numbers(shown) == list(range(2, 105)), "the newest exchange reaches back to its call"


async def test_the_question_is_there_after_a_long_way(sessions: SessionService) -> None:
    steps = [step for number in range(300) for step in (calling(f"c{number}"), answering(f"c{number}", "word " * 20))]
    await sessions.append_many([NewMessage(role=Role.USER, content="Find the bug"), *steps], session_key="s")
    shown = await sessions.recent("s", budget_tokens=200)
    assert shown[0].content == "Find the bug"
    assert shown[-1].sequence == 601
    assert sum(one.tokens for one in shown) <= 200
    assert numbers(shown[1:]) == list(range(shown[1].sequence, 602))
    assert shown[1].calls


async def test_results_in_the_users_name_do_not_hide_the_question(sessions: SessionService) -> None:
    steps = [
        step
        for number in range(20)
        for step in (calling(f"c{number}"), NewMessage(role=Role.USER, parts=answering(f"c{number}").parts))
    ]
    await sessions.append_many([NewMessage(role=Role.USER, content="Find the bug"), *steps], session_key="s")
    shown = await sessions.recent("s", budget_tokens=60)
    assert numbers(shown)[:1] == [1]
    assert 1 < len(shown) < 10


async def test_an_empty_window_after_everything_was_archived(sessions: SessionService) -> None:
    await sessions.append_many([NewMessage(role=Role.ASSISTANT, content="a")] * 3, session_key="s")
    await sessions.compact_messages("s", up_to=3, summary="all")
    assert await sessions.recent("s", budget_tokens=100) == ()
