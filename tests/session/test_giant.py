"""Messages as large as tools make them: stored whole, counted, cheap to index, and nobody waits for them."""

import asyncio

import pytest

from lamina.app import App
from lamina.kernel.tokens import estimate_tokens
from lamina.session.counting import MESSAGE_TOKENS, PART_TOKENS, count_tokens, message_tokens
from lamina.session.rows import INDEXED_CHARACTERS, searched_text
from lamina.session.service import SessionService
from lamina.session.types import Attachment, ToolCall, ToolResult
from tests.session.opening import answering, calling, every_row, said

pytestmark = pytest.mark.anyio

TEN_MEGABYTES = "a line of the log that says nothing much\n" * 250_000


@pytest.mark.parametrize(
    "content", [TEN_MEGABYTES, "ログの行はほとんど何も言わない。" * 300_000], ids=["latin", "japanese"]
)
async def test_a_tool_result_of_ten_megabytes_is_kept_whole(app: App, sessions: SessionService, content: str) -> None:
    printed = f"started by gandalf {content} stopped by saruman"
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await sessions.append_many([*said("show the log"), calling("c", "cat"), answering("c", printed)], session_key="s")
    ticking.cancel()
    assert ticks > 10, "the event loop went on"
    stored = (await sessions.messages("s"))[-1]
    assert stored.results[0].content == printed
    assert stored.tokens > 1_000_000
    assert (await sessions.get("s")).total_tokens > stored.tokens
    for word in ("gandalf", "saruman"):
        assert (await sessions.recall(word, session_key="s"))[0].message.sequence == 3
    assert sum(len(row) for row in (await every_row(app))["index_entry"]) < 100_000
    shown = await sessions.recent("s", budget_tokens=100)
    assert [one.sequence for one in shown] == [1, 2, 3], "the question, and the exchange it led to"
    await sessions.delete("s")


def test_what_is_indexed_has_a_beginning_an_end_and_a_bound() -> None:
    text = searched_text("first " + TEN_MEGABYTES, (ToolResult(call_id="c", content=TEN_MEGABYTES + " last"),))
    assert len(text) <= INDEXED_CHARACTERS
    assert text.startswith("first ")
    assert text.endswith(" last")
    short = (ToolCall(id="c", name="look", arguments='{"at": 1}'), Attachment(media_type="image/png", name="a.png"))
    assert searched_text("see", short) == 'see\nlook\n{"at": 1}\na.png'
    assert searched_text("just this", ()) == "just this"


def test_everything_that_is_sent_is_counted_and_bytes_are_not() -> None:
    plain = message_tokens(estimate_tokens, "Hello there")
    assert plain == MESSAGE_TOKENS + estimate_tokens("Hello there")
    call = ToolCall(id="c", name="weather", arguments='{"city": "Paris"}')
    assert message_tokens(estimate_tokens, "", (call,)) == (
        MESSAGE_TOKENS + PART_TOKENS + estimate_tokens("weather") + estimate_tokens('{"city": "Paris"}')
    )
    result = ToolResult(call_id="c", content="rain " * 100)
    assert message_tokens(estimate_tokens, "", (result,)) > 100
    picture = Attachment(media_type="image/png", name="a.png", size_bytes=10_000_000)
    assert message_tokens(estimate_tokens, "", (picture,)) < 20
    assert message_tokens(estimate_tokens, "x", author="Ann Example") > message_tokens(estimate_tokens, "x")
    assert message_tokens(lambda text: 7, "anything") == MESSAGE_TOKENS + 7


@pytest.mark.parametrize("text", ["word " * 20_000, "東京は日本の首都です。" * 5_000, "слово " * 20_000, "🎉" * 40_000])
def test_a_long_text_counted_in_pieces_has_about_the_same_count(text: str) -> None:
    whole = estimate_tokens(text)
    assert abs(count_tokens(estimate_tokens, text) - whole) <= 2 * (len(text) // 32_768 + 1)


async def test_tokens_are_counted_with_the_counter_of_the_application(sessions: SessionService) -> None:
    words = sessions.counting_with(lambda text: len(text.split()))
    stored = await words.append(role="user", content="one two three", session_key="s")
    assert stored.tokens == MESSAGE_TOKENS + 3
    assert (await sessions.get("s")).total_tokens == stored.tokens
