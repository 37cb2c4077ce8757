"""Every word can be found again: by words and meaning, by place, by note, in one session or in all of a user's."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lamina.database.link import Link
from lamina.errors import InvalidInputError, MissingIdentifierError, QueryTooLongError, SessionNotFoundError
from lamina.session.reading import StoredSession
from lamina.session.service import SessionService
from lamina.session.types import Recall
from tests.session.opening import answering, calling, numbers, said

pytestmark = pytest.mark.anyio

TALK = (
    "My sister Ingrid moved to Trondheim in March",
    "That is far away. Do you visit her?",
    "Every summer, by train and ferry",
    "What does she do there?",
    "She restores old fishing boats in the harbour",
    "How did you both learn that?",
    "From our grandfather, he built a dinghy called Petrel",
    "A good name for a boat",
)


@pytest.fixture
async def talk(sessions: SessionService) -> str:
    await sessions.append_many(said(*TALK), session_key="s", user_id="ann")
    return "s"


def found(recall: Recall) -> list[int]:
    return numbers([hit.message for hit in recall])


async def test_words_find_live_and_archived_messages_alike(sessions: SessionService, talk: str) -> None:
    before = await sessions.recall("Where did Ingrid move to?", session_key=talk)
    assert found(before)[0] == 1
    assert 0 < before[0].score <= 1
    assert before[0].signals["lexical"] > 0
    assert before[0].signals["vector"] > 0
    await sessions.compact_messages(talk, up_to=6, summary="Messages 1 to 6 are archived")
    after = await sessions.recall("Where did Ingrid move to?", session_key=talk)
    assert found(after) == found(before)
    assert after[0].message.archived_at is not None
    assert after[0].score == before[0].score
    live = await sessions.recall("grandfather's dinghy", session_key=talk)
    assert (found(live)[0], live[0].message.archived_at) == (7, None)


async def test_only_archived_messages_where_that_is_asked_for(sessions: SessionService, talk: str) -> None:
    assert found(await sessions.recall("boat", session_key=talk, archived=True)) == []
    await sessions.compact_messages(talk, up_to=6, summary="archived")
    everything = await sessions.recall("old fishing boats", session_key=talk, threshold=0)
    archived = await sessions.recall("old fishing boats", session_key=talk, threshold=0, archived=True)
    assert {7, 8} & set(found(everything))
    assert found(archived) == [number for number in found(everything) if number <= 6]
    assert archived.total_count == len(archived)


async def test_a_range_gives_its_messages_in_their_order(sessions: SessionService, talk: str) -> None:
    some = await sessions.recall(session_key=talk, first=3, last=5)
    assert (found(some), some.total_count, {hit.score for hit in some}) == ([3, 4, 5], 3, {1.0})
    assert found(await sessions.recall(session_key=talk, first=7)) == [7, 8]
    assert found(await sessions.recall(session_key=talk, last=2)) == [1, 2]
    assert found(await sessions.recall(session_key=talk, first=9, last=20)) == []
    cut = await sessions.recall(session_key=talk, first=1, limit=2)
    assert (found(cut), cut.total_count) == ([1, 2], 8)


async def test_a_query_within_a_range_ranks_only_that(sessions: SessionService, talk: str) -> None:
    everywhere = found(await sessions.recall("boats", session_key=talk, threshold=0))
    within = found(await sessions.recall("boats", session_key=talk, first=1, last=4, threshold=0))
    assert everywhere[0] == 5
    assert within == [number for number in everywhere if number <= 4]
    assert found(await sessions.recall("boats", session_key=talk, first=5, last=5)) == [5]


async def test_a_note_leads_to_the_messages_it_rests_on(sessions: SessionService, talk: str) -> None:
    def sources(link: Link, held: StoredSession, note: str) -> Sequence[int] | None:
        return (5, 1, 5, 99) if (held.key, note) == (talk, "n-1") else None

    noted = replace(sessions, note_sources=sources)
    assert found(await noted.recall(session_key=talk, note="n-1")) == [1, 5]
    assert found(await noted.recall(session_key=talk, note="n-1", first=2)) == [5]
    assert found(await noted.recall("Trondheim", session_key=talk, note="n-1"))[0] == 1
    for service in (noted, sessions):
        with pytest.raises(InvalidInputError, match="no such note"):
            await service.recall(session_key=talk, note="n-2")


async def test_every_session_of_a_user_is_searched_and_no_other(sessions: SessionService, talk: str) -> None:
    await sessions.append_many(said("Ingrid sent a postcard of the harbour", "Nice"), session_key="t", user_id="ann")
    await sessions.append_many(said("Ingrid is my boss, she has a boat"), session_key="u", user_id="bob")
    await sessions.append_many(said("Nobody knows whose Ingrid this is"), session_key="v")
    everywhere = await sessions.recall("Ingrid at the harbour", user_id="ann", threshold=0.2)
    assert {hit.message.session_key for hit in everywhere} == {"s", "t"}
    assert [hit.score for hit in everywhere] == sorted((hit.score for hit in everywhere), reverse=True)
    assert (everywhere.searched_sessions, everywhere.left_out_sessions) == (2, 0)
    assert len(await sessions.recall("Ingrid", user_id="nobody")) == 0


async def test_only_so_many_sessions_are_searched_and_the_rest_is_reported(sessions: SessionService) -> None:
    for number in range(5):
        await sessions.append_many(said(f"the heron number {number}"), session_key=f"s{number}", user_id="ann")
        sessions.clock.advance(60)  # type: ignore[attr-defined]
    await sessions.append(role="assistant", content="noted", session_key="s0")
    few = replace(sessions, settings=replace(sessions.settings, recall_sessions=2))
    result = await few.recall("heron", user_id="ann", threshold=0)
    assert {hit.message.session_key for hit in result} == {"s0", "s4"}, "the most recently used ones"
    assert (result.searched_sessions, result.left_out_sessions) == (2, 3)


async def test_a_session_of_another_user_reads_as_absent(sessions: SessionService, talk: str) -> None:
    assert found(await sessions.recall("Ingrid", session_key=talk, user_id="ann"))
    with pytest.raises(SessionNotFoundError):
        await sessions.recall("Ingrid", session_key=talk, user_id="bob")
    with pytest.raises(SessionNotFoundError):
        await sessions.recall(session_key=talk, user_id="bob", first=1)


async def test_what_a_tool_printed_is_found_too(sessions: SessionService) -> None:
    printed = "ERROR connection to warehouse-7 refused"
    await sessions.append_many(
        [*said("check"), calling("c", "read_log", '{"path": "/var/log/app"}'), answering("c", printed)], session_key="s"
    )
    assert found(await sessions.recall("warehouse-7 refused", session_key="s"))[0] == 3
    assert found(await sessions.recall("read_log", session_key="s"))[0] == 2


async def test_a_message_names_who_said_it_and_when(sessions: SessionService) -> None:
    await sessions.append(role="user", content="The meeting was moved to noon again", author="Björn", session_key="s")
    await sessions.append(role="user", content="The meeting was moved to ten again", author="Ann", session_key="s")
    (first, *_) = await sessions.recall("What did Björn say about the meeting?", session_key="s", threshold=0)
    assert first.message.author == "Björn"
    assert first.signals["author"] > 0


async def test_an_unrelated_question_finds_nothing(sessions: SessionService, talk: str) -> None:
    assert len(await sessions.recall("quarterly tax declaration form", session_key=talk, threshold=0.7)) == 0


async def test_asking_for_nothing_or_for_too_much_is_an_error(sessions: SessionService, talk: str) -> None:
    with pytest.raises(InvalidInputError, match="Say what to recall"):
        await sessions.recall(session_key=talk)
    with pytest.raises(MissingIdentifierError):
        await sessions.recall("boat")
    with pytest.raises(MissingIdentifierError, match="one session"):
        await sessions.recall(user_id="ann", first=1)
    with pytest.raises(QueryTooLongError):
        await sessions.recall("x" * 10_001, session_key=talk)
    for bad in ({"first": 0}, {"last": -1}, {"limit": 0}, {"threshold": 2}, {"query": ""}):
        with pytest.raises(InvalidInputError):
            await sessions.recall(**{"session_key": talk, "query": "boat", **bad})  # type: ignore[arg-type]


async def test_neighbours_of_what_fits_are_lifted(sessions: SessionService, talk: str) -> None:
    hits = await sessions.recall("What does your sister Ingrid do in Trondheim?", session_key=talk, threshold=0)
    assert any(hit.signals.get("neighbour", 0) > 0 for hit in hits)
