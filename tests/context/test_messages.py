"""Archived messages as items of a prompt."""

from lamina.context.messages import message_item
from lamina.context.rendering import render_item
from lamina.context.types import Origin
from lamina.session.types import Attachment, Message, Part, RecallHit, Role, ToolCall, ToolResult
from tests.observation.samples import START


def recalled(role: Role, content: str = "", *parts: Part, author: str | None = None) -> str:
    """A message as a prompt shows it."""
    message = Message(
        session_key="s", sequence=7, id="m", role=role, content=content, parts=parts, author=author, at=START, tokens=9
    )
    return render_item(message_item(RecallHit(message=message, score=0.8)))


def test_who_said_it_stands_first_with_the_number_and_the_time() -> None:
    assert recalled(Role.USER, "Berth 7.", author="Ann") == (
        "- (user said) [message 7, 2026-05-01 14:30, Ann] Berth 7.\n"
    )
    assert recalled(Role.ASSISTANT, "Berth 7.") == "- (assistant said) [message 7, 2026-05-01 14:30] Berth 7.\n"


def test_what_a_tool_gave_back_is_the_tool_s_whoever_sent_it() -> None:
    result = ToolResult(call_id="c", name="book", content="booked\n# Heading")
    assert recalled(Role.USER, "", result) == (
        "- (tool returned) [message 7, 2026-05-01 14:30] book: booked\n  | # Heading\n"
    )


def test_calls_and_attachments_are_named() -> None:
    parts = (ToolCall(id="c", name="book", arguments='{"berth": 7}'), Attachment(media_type="image/png"))
    assert recalled(Role.ASSISTANT, "Trying.", *parts).splitlines()[1:] == [
        '  | calls book({"berth": 7})',
        "  | attached a file (image/png)",
    ]


def test_a_message_of_ten_megabytes_is_shown_by_its_beginning_and_says_so() -> None:
    huge = Message(session_key="s", sequence=7, id="m", role=Role.TOOL, content="x" * 10_000_000, at=START, tokens=9)
    item = message_item(RecallHit(message=huge, score=0.8))
    assert len(item.content) < 60_000
    assert item.content.endswith("… (message 7 goes on)")
    assert item.origin is Origin.TOOL
