"""A whole turn: the prompt and what was said last, in the format of chat endpoints."""

from collections.abc import AsyncIterator

import pytest
from inline_snapshot import snapshot

from lamina.app import App
from lamina.context.turn import Turn
from lamina.errors import InvalidInputError, MissingIdentifierError
from lamina.kernel.clock import ManualClock
from lamina.session.types import Attachment, Part, ToolCall, ToolResult
from tests.context.noted import BASE, KEY, noted_app

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app on an empty store."""
    async with noted_app(store_url, clock=clock, max_message_token_budget=60) as opened:
        yield opened


async def say(app: App, role: str, content: str = "", *parts: Part) -> None:
    """Append to the one session."""
    await app.sessions.append(role=role, content=content, parts=parts, session_key=KEY)


def rows(turn: Turn) -> list[object]:
    """What follows the system prompt."""
    assert turn.chat()[0] == {"role": "system", "content": turn.prompt.text}
    return list(turn.chat()[1:])


async def test_calls_results_and_attachments_are_sent_as_the_protocol_has_them(app: App) -> None:
    await say(app, "user", "Book it.", Attachment(media_type="image/png", name="berth.png"))
    await say(app, "assistant", "", ToolCall(id="c1", name="book", arguments='{"berth": 7}'))
    await say(app, "tool", "", ToolResult(call_id="c1", content="booked", name="book"))
    await say(app, "assistant", "Done.")
    assert rows(await app.context.turn(BASE, session_key=KEY, message_budget_tokens=0)) == snapshot(
        [
            {"role": "user", "content": "Book it.\n[berth.png, image/png]"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"berth": 7}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "booked"},
            {"role": "assistant", "content": "Done."},
        ]
    )


async def test_what_an_endpoint_would_refuse_is_told_otherwise(app: App) -> None:
    await say(app, "tool", "", ToolResult(call_id="lost", content="42", name="sum"))
    await say(app, "tool", "A tool without a call.")
    await say(app, "assistant", "Trying.", ToolCall(id="c1", name="book"))
    await say(app, "user", "And?")
    await say(app, "assistant", "", ToolCall(id="c2", name="book"))
    told = rows(await app.context.turn(BASE, session_key=KEY, message_budget_tokens=0))
    assert told[:2] == [
        {"role": "user", "content": "[result of sum] 42"},
        {"role": "user", "content": "A tool without a call."},
    ]
    assert told[3] == {"role": "tool", "tool_call_id": "c1", "content": "(no result came)"}
    assert told[-1]["role"] == "assistant"  # type: ignore[index]


async def test_messages_have_a_budget_and_the_latest_is_always_there(app: App) -> None:
    for number in range(20):
        await say(app, "user", f"Message {number} about the harbour and its berths.")
    turn = await app.context.turn(BASE, session_key=KEY)
    assert 1 < len(turn.messages) < 20
    assert sum(message.tokens for message in turn.messages) <= 60
    assert turn.messages[-1].content.startswith("Message 19")
    every = await app.context.turn(BASE, session_key=KEY, message_budget_tokens=0)
    assert len(every.messages) == 20
    assert len((await app.context.turn(BASE, session_key=KEY, message_budget_tokens=1)).messages) == 1


async def test_the_query_is_what_the_user_said_last_unless_another_is_given(app: App) -> None:
    await say(app, "user", "Where is the harbour?")
    await say(app, "assistant", "In Kiel.")
    with app.session(KEY):
        assert (await app.context.turn(BASE)).prompt.receipt.query == "Where is the harbour?"
        assert (await app.context.turn(BASE, query="berths")).prompt.receipt.query == "berths"


async def test_a_session_that_is_not_there_yet_has_no_messages(app: App) -> None:
    turn = await app.context.turn(BASE, session_key="new")
    assert turn.messages == ()
    assert turn.prompt.receipt.session_key == "new"
    assert (await app.context.for_tenant("other").turn(BASE, session_key=KEY)).messages == ()


async def test_without_a_session_there_is_no_turn_and_nonsense_is_refused(app: App) -> None:
    with pytest.raises(MissingIdentifierError):
        await app.context.turn(BASE)
    with pytest.raises(InvalidInputError, match="message_budget_tokens"):
        await app.context.turn(BASE, session_key=KEY, message_budget_tokens=-1)
