"""Messages get the next number, once, whatever the clock says and however often they are sent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamina.app import App
from lamina.errors import ContentTooLongError, InvalidInputError, MissingIdentifierError, SessionNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.session.service import SessionService
from lamina.session.types import Appended, Attachment, MessageKind, NewMessage, Role, ToolCall, ToolResult
from tests.session.opening import answering, calling, every_row, numbers, said, talking_app

pytestmark = pytest.mark.anyio


async def test_messages_are_numbered_in_the_order_they_come(sessions: SessionService) -> None:
    one = await sessions.append(role="user", content="Hello", session_key="s")
    two = await sessions.append(role=Role.ASSISTANT, content="Hi", author="Bot", session_key="s")
    assert (one.sequence, two.sequence) == (1, 2)
    assert (two.role, two.author, two.kind, two.archived_at) == (Role.ASSISTANT, "Bot", MessageKind.MESSAGE, None)
    assert await sessions.messages("s") == (one, two)
    other = await sessions.append(role="user", content="Hello", session_key="another")
    assert other.sequence == 1


async def test_a_session_is_made_with_its_first_message(sessions: SessionService, clock: ManualClock) -> None:
    with pytest.raises(SessionNotFoundError) as missing:
        await sessions.get("telegram:42:7")
    assert missing.value.code == "SESSION_NOT_FOUND"
    assert missing.value.operation == "session_get"
    first = await sessions.append(role="user", content="Hello there", session_key="telegram:42:7", user_id="ann")
    begun = clock.now()
    clock.advance(60)
    second = await sessions.append(role="assistant", content="Hi", session_key="telegram:42:7")
    found = await sessions.get("telegram:42:7")
    assert (found.channel, found.user_id, found.created_at, found.updated_at) == ("telegram", "ann", begun, clock.now())
    assert (found.last_sequence, found.message_count, found.archived_count) == (2, 2, 0)
    assert found.total_tokens == first.tokens + second.tokens


async def test_the_session_comes_from_the_bound_context_unless_it_is_named(app: App, sessions: SessionService) -> None:
    with app.session("bound"):
        mine = await sessions.append(role="user", content="in the bound one")
        other = await sessions.append(role="user", content="in the named one", session_key="named")
        assert (mine.session_key, other.session_key) == ("bound", "named")
        assert numbers(await sessions.messages()) == [1]
    with pytest.raises(MissingIdentifierError, match="session_key") as refused:
        await sessions.append(role="user", content="in none")
    assert refused.value.details["missing"] == ["session_key"]
    with app.session(None), pytest.raises(MissingIdentifierError):
        await sessions.get()


async def test_an_original_comes_back_word_for_word_and_is_neither_counted_nor_found(sessions: SessionService) -> None:
    original = '{"type": "reasoning", "summary": [], "text": "quetzal \\u0000 \\ud800"}'
    call = ToolCall(id="c1", name="look")
    plain = await sessions.append(role="assistant", content="Here", parts=[call], session_key="s")
    new = NewMessage(role=Role.ASSISTANT, content="Here", parts=(call,), original=original)
    alone = NewMessage(role=Role.ASSISTANT, original=original)
    stored = await sessions.append_many([new, alone], session_key="s")
    assert await sessions.messages("s") == (plain, *stored)
    assert [(one.original, one.parts) for one in stored] == [(original, (call,)), (original, ())]
    assert (plain.original, plain.tokens) == (None, stored[0].tokens)
    assert not await sessions.recall("quetzal", session_key="s", threshold=0.5)


async def test_messages_of_the_same_moment_keep_their_order(sessions: SessionService, clock: ManualClock) -> None:
    moment = clock.now()
    stored = await sessions.append_many(
        [NewMessage(role=Role.USER, content=f"line {number}", at=moment) for number in range(5)], session_key="s"
    )
    assert numbers(stored) == [1, 2, 3, 4, 5]
    assert [one.content for one in await sessions.messages("s")] == [f"line {number}" for number in range(5)]


async def test_a_clock_that_goes_back_changes_no_order(sessions: SessionService, clock: ManualClock) -> None:
    await sessions.append(role="user", content="first", session_key="s")
    before = (await sessions.get("s")).updated_at
    earlier = clock.now() - timedelta(days=1)
    late = await sessions.append(role="assistant", content="second", at=earlier, session_key="s")
    assert (late.sequence, late.at) == (2, earlier)
    assert [one.content for one in await sessions.messages("s")] == ["first", "second"]
    backwards = replace(sessions, clock=ManualClock(datetime(2001, 1, 1, tzinfo=UTC)))
    third = await backwards.append(role="user", content="third", session_key="s")
    assert (third.sequence, third.at.year) == (3, 2001)
    assert (await sessions.get("s")).updated_at == before


async def test_a_message_of_a_known_id_is_stored_once(sessions: SessionService) -> None:
    first = await sessions.append(role="user", content="Hello", id="m-1", session_key="s")
    again = await sessions.append(role="user", content="Hello, sent twice", id="m-1", session_key="s")
    assert again == first
    elsewhere = await sessions.append(role="user", content="Hello", id="m-1", session_key="t")
    assert elsewhere.session_key == "t"
    batch = [
        NewMessage(role=Role.ASSISTANT, content="two", id="m-2"),
        NewMessage(role=Role.USER, content="known", id="m-1"),
        NewMessage(role=Role.ASSISTANT, content="two again", id="m-2"),
        NewMessage(role=Role.USER, content="three"),
    ]
    stored = await sessions.append_many(batch, session_key="s")
    assert [(one.sequence, one.content) for one in stored] == [(2, "two"), (1, "Hello"), (2, "two"), (3, "three")]
    assert (await sessions.get("s")).last_sequence == 3


async def test_parts_come_back_as_they_were_given(sessions: SessionService) -> None:
    parts = (
        ToolCall(id="c1", name="weather", arguments='{"city": "Łódź"}'),
        ToolResult(call_id="c1", content="rain ☂", name="weather", is_error=True),
        Attachment(media_type="image/png", name="map.png", size_bytes=12),
        Attachment(media_type="application/pdf"),
    )
    stored = await sessions.append(role="assistant", content="see", parts=parts, session_key="s")
    (read,) = await sessions.messages("s")
    assert read == stored
    assert read.parts == parts
    assert (read.calls, read.results) == ((parts[0],), (parts[1],))


@pytest.mark.parametrize(
    "new",
    [
        {"role": "user", "content": "   "},
        {"role": "robot", "content": "beep"},
        {"role": "user", "content": "NUL \0"},
        {"role": "user", "content": "lone \ud800"},
        {"role": "user", "content": b"bytes"},
        {"role": "user", "content": "x", "author": ""},
        {"role": "user", "content": "x", "at": datetime(2025, 1, 1)},
        {"role": "user", "content": "x", "id": "a\nb"},
        {"role": "user", "content": "x", "session_key": "\0"},
        {"role": "user", "content": "x", "session_key": ""},
        {"role": "user", "content": "x", "user_id": " "},
        {"role": "assistant", "parts": ["text"]},
        {"role": "assistant", "parts": [ToolCall(id="", name="x")]},
        {"role": "assistant", "parts": [ToolCall(id="1", name="x", arguments="\0")]},
        {"role": "user", "parts": [Attachment(media_type="image/png", size_bytes=-1)]},
    ],
)
async def test_bad_input_is_refused_and_nothing_is_stored(app: App, new: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await app.sessions.append(**{"session_key": "s", **new})  # type: ignore[arg-type]
    assert refused.value.operation == "session_append"
    rows = await every_row(app)
    assert (rows["session"], rows["message"], rows["scope"]) == ([], [], [])


async def test_what_a_tool_printed_is_mended_instead_of_refused(sessions: SessionService) -> None:
    await sessions.append_many([calling("c"), answering("c", "\0binary \ud800 output")], session_key="s")
    (_, result) = await sessions.messages("s")
    assert result.results[0].content == "\ufffdbinary \ufffd output"


async def test_one_bad_message_keeps_the_whole_batch_out(sessions: SessionService) -> None:
    with pytest.raises(InvalidInputError):
        await sessions.append_many([*said("fine"), NewMessage(role=Role.USER, content="")], session_key="s")
    with pytest.raises(SessionNotFoundError):
        await sessions.get("s")
    assert await sessions.append_many([], session_key="s") == ()


async def test_a_message_longer_than_the_setting_is_refused_with_the_limit(store_url: str) -> None:
    async with talking_app(store_url, session={"max_message_length": 100, "max_parts": 2}) as app:
        with pytest.raises(ContentTooLongError) as refused:
            await app.sessions.append(
                role="tool", content="x" * 50, parts=[ToolResult(call_id="c", content="y" * 51)], session_key="s"
            )
        assert refused.value.details == {"max_length": 100, "length": 101}
        with pytest.raises(InvalidInputError, match="2 parts"):
            await app.sessions.append(role="user", parts=[Attachment(media_type="a/b")] * 3, session_key="s")


async def test_a_session_keeps_its_first_user_and_refuses_another(sessions: SessionService) -> None:
    await sessions.append(role="user", content="Hello", session_key="s")
    await sessions.append(role="user", content="I am Ann", session_key="s", user_id="ann")
    with pytest.raises(InvalidInputError, match="another user"):
        await sessions.append(role="user", content="I am Bob", session_key="s", user_id="bob")
    await sessions.append(role="user", content="I am Bob, in Ann's group", session_key="s", author="bob")
    found = await sessions.get("s")
    assert (found.user_id, found.last_sequence) == ("ann", 3)


async def test_listeners_hear_of_what_is_new_and_only_of_that(app: App) -> None:
    heard: list[Appended] = []
    sessions = replace(app.sessions, on_appended=heard.append)
    first = await sessions.append(role="user", content="Hello", id="a", session_key="s")
    await sessions.append(role="user", content="Hello", id="a", session_key="s")
    assert heard == [Appended(tenant="default", session_key="s", last_sequence=1, total_tokens=first.tokens)]


async def test_sessions_are_listed_newest_first_page_by_page(sessions: SessionService) -> None:
    for number in range(5):
        await sessions.append(
            role="user", content="Hello", session_key=f"s{number}", user_id="ann" if number % 2 else "bob"
        )
    first = await sessions.list(limit=2)
    assert ([one.key for one in first.sessions], first.total_count) == (["s4", "s3"], 5)
    await sessions.append(role="user", content="meanwhile", session_key="s5")
    second = await sessions.list(limit=2, cursor=first.next_cursor)
    assert [one.key for one in second.sessions] == ["s2", "s1"]
    last = await sessions.list(limit=2, cursor=second.next_cursor)
    assert ([one.key for one in last.sessions], last.next_cursor) == (["s0"], None)
    assert [one.key for one in (await sessions.list(user_id="ann")).sessions] == ["s3", "s1"]


async def test_messages_are_read_on_from_a_number(sessions: SessionService) -> None:
    await sessions.append_many(said(*(f"line {number}" for number in range(7))), session_key="s")
    page = await sessions.messages("s", limit=3)
    rest = await sessions.messages("s", after=page[-1].sequence, limit=10)
    assert (numbers(page), numbers(rest)) == ([1, 2, 3], [4, 5, 6, 7])
    assert await sessions.messages("s", archived=True) == ()
    for bad in ({"after": -1}, {"limit": 0}, {"limit": 10_000}, {"after": True}):
        with pytest.raises(InvalidInputError):
            await sessions.messages("s", **bad)
