"""Conversations for tests of what a model notes, and the lines such a model answers."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lamina.kernel.ids import new_id
from lamina.observation.types import Entry, ObserverRequest
from lamina.session.types import Message, MessageKind, Part, Role, ToolCall, ToolResult

FRIDAY = datetime(2026, 5, 1, 14, 30, tzinfo=UTC)


def message(
    sequence: int,
    content: str,
    *,
    role: Role = Role.USER,
    author: str | None = None,
    parts: Sequence[Part] = (),
    kind: MessageKind = MessageKind.MESSAGE,
) -> Message:
    """A message, one minute after the one before it."""
    return Message(
        session_key="direct:1",
        sequence=sequence,
        id=new_id(),
        role=role,
        content=content,
        parts=tuple(parts),
        author=author,
        at=FRIDAY + timedelta(minutes=sequence),
        tokens=len(content) // 4 + 4,
        kind=kind,
    )


def assistant(sequence: int, content: str, *parts: Part) -> Message:
    """A message of the assistant."""
    return message(sequence, content, role=Role.ASSISTANT, parts=parts)


def returned(sequence: int, content: str, *, name: str = "search", is_error: bool = False) -> Message:
    """A message with what a tool gave back."""
    result = ToolResult(call_id=f"c{sequence - 1}", content=content, name=name, is_error=is_error)
    return message(sequence, "", role=Role.TOOL, parts=(result,))


def called(sequence: int, name: str = "search", arguments: str = "{}") -> Message:
    """A message with which the assistant asks for a tool."""
    return assistant(sequence, "", ToolCall(id=f"c{sequence}", name=name, arguments=arguments))


def talk(*messages: Message, recent: Sequence[Entry] = ()) -> ObserverRequest:
    """What an observer is asked about."""
    return ObserverRequest(session_key="direct:1", messages=messages, recent=tuple(recent))


def line(text: str, *sources: int, kind: str = "fact", **fields: object) -> str:
    """A line of an observer's answer."""
    return json.dumps({"text": text, "kind": kind, "priority": "medium", "sources": list(sources), **fields})


def condensed(text: str, *ids: str, kind: str = "fact", **fields: object) -> str:
    """A line of a reflector's answer."""
    return json.dumps({"text": text, "kind": kind, "priority": "medium", "from": list(ids), **fields})


HOLIDAY = talk(
    message(1, "Hi! I'm planning a trip to Lisbon with my daughter Mia, tomorrow we book the flights.", author="Ann"),
    assistant(2, "Lovely. I recommend Hotel Alfama, it costs 120 EUR a night."),
    message(3, "I prefer a room with a balcony. And never book anything on a Sunday.", author="Ann"),
    called(4, "hotels", '{"city": "Lisbon"}'),
    returned(5, "Hotel Alfama: 3 rooms left, balcony: yes, price 120 EUR\n" + "row\n" * 3000, name="hotels"),
    assistant(6, "Hotel Alfama has 3 rooms with a balcony left."),
    message(7, "Let's go with Hotel Alfama then. How is the weather there?", author="Ann"),
)
"""A user who wants things, an assistant that knows things, and a tool that says too much."""

GOOD = "\n".join(
    [
        line("Ann plans a trip to Lisbon with her daughter Mia", 1, kind="event"),
        line("Ann books the flights on 2026-05-02", 1, kind="task", priority="high", refers_to="2026-05-02"),
        line("Assistant recommended Hotel Alfama at 120 EUR a night", 2),
        line("Ann prefers a room with a balcony", 3, kind="preference", priority="high"),
        line("Ann: never book anything on a Sunday", 3, kind="constraint", priority="high"),
        line("Tool hotels: Hotel Alfama has 3 rooms left, with balcony", 5, kind="outcome"),
        line("Ann decided to go with Hotel Alfama", 7, kind="decision", priority="high"),
        line("Ann asked how the weather is there", 7, kind="question", priority="low"),
    ]
)
