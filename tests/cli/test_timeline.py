"""The drawing of a conversation: to scale of what there is to see, within any width."""

import io
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from rich.console import Console

from lamina.cli.timeline_drawing import TimelineView
from lamina.observation.scale import Scale
from lamina.observation.service import Timeline
from lamina.observation.types import EntryKind, Note
from lamina.session.types import Session
from tests.observation.samples import START, entry, note

SESSION = Session(
    key="telegram:42:7",
    channel="telegram",
    user_id=None,
    created_at=START,
    updated_at=START,
    last_sequence=312,
    message_count=14,
    archived_count=290,
    total_tokens=48_210,
)
TIMELINE = Timeline(
    session_key="telegram:42:7",
    last_sequence=312,
    archived_through=290,
    watermark=298,
    pending_tokens=410,
    reflections=(
        note(
            entry("Never book a berth without asking.", kind=EntryKind.CONSTRAINT),
            entry("The harbour office opens at nine.", minutes=60 * 24 * 30),
            entry("The mail address of the office is harbour@example.org.", minutes=60 * 24 * 30 + 1),
            generation=2,
            first=1,
            last=180,
        ),
        replace(note(entry("The berth costs 450 euros."), generation=1, first=181, last=230), provisional=True),
    ),
    observations=(note(first=231, last=260), note(first=261, last=262), note(first=263, last=298)),
)


def drawn(timeline: Timeline, width: int, entries: int = 2) -> str:
    """What a terminal of this width shows."""
    console = Console(width=width, file=io.StringIO(), record=True)
    said = (START, START + timedelta(days=80))
    console.print(TimelineView(session=SESSION, timeline=timeline, said=said, entries=entries))
    return "".join(f"{line.rstrip()}\n" for line in console.export_text().splitlines())


def test_messages_notes_and_reflections_are_drawn_with_their_ranges() -> None:
    assert drawn(TIMELINE, 80) == snapshot(
        """\
telegram:42:7  312 messages, 48,210 tokens  2026-05-01 to 07-20

              1                 181        231       261 263                 312
messages      ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒███████
observations                               ├── 3 ───┤├4─┤├───── 5 ──────┤
reflections 1                   ├─── 2 ───┤
reflections 2 ├────── 1 ───────┤
              ░ archived  ▒ noted  █ not noted yet

     note          messages   said                 tokens
  1  reflection 2  1-180      2026-05-01 to 05-31  71 for 1,000
     2026-05-01 14:30 user (constraint): Never book a berth without asking.
     2026-05-31 14:31 user: The mail address of the office is
     harbour@example.org.
     and 1 more entry
  2  reflection 1  181-230    2026-05-01           26 for 1,000 provisional
     14:30 user: The berth costs 450 euros.
  3  observation   231-260    2026-05-01           26 for 1,000
     14:30 user: The release moves to Monday.
  4  observation   261-262    2026-05-01           26 for 1,000
     14:30 user: The release moves to Monday.
  5  observation   263-298    2026-05-01           26 for 1,000
     14:30 user: The release moves to Monday.
messages 299-312 are raw: 410 tokens not noted yet
"""
    )


@pytest.mark.parametrize("width", [30, 40, 80, 120, 400])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = drawn(TIMELINE, width).splitlines()
    assert max(map(len, lines)) <= max(width, 34)
    assert any(line.startswith("messages") for line in lines)


def test_a_conversation_without_notes_and_one_without_messages_are_drawn_too() -> None:
    nothing = replace(TIMELINE, observations=(), reflections=(), archived_through=0, watermark=0)
    text = drawn(nothing, 80)
    assert "█" * 66 in text
    assert "messages 1-312 are raw" in text
    assert "everything is noted" in drawn(replace(nothing, last_sequence=0), 80)


def test_a_thousand_notes_are_drawn() -> None:
    many = tuple(note(first=3 * number + 1, last=3 * number + 3) for number in range(1000))
    text = drawn(replace(TIMELINE, observations=many, reflections=(), last_sequence=3000), 80, entries=0)
    assert "observation   2998-3000" in text


def test_what_a_note_says_cannot_drive_the_terminal() -> None:
    hostile: Note = note(entry("\x1b[2J[bold]x[/bold]\n\n\x07"))
    text = drawn(replace(TIMELINE, observations=(hostile,)), 80)
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=60, unique=True).map(lambda ends: [1, *sorted(ends)]),
    st.integers(20, 200),
)
def test_a_scale_keeps_order_fills_the_line_and_gives_every_range_a_column(ends: list[int], width: int) -> None:
    cuts = sorted({*ends, ends[-1] + 1})
    scale = Scale.of(cuts, width)
    assert (scale.starts[0], scale.starts[-1]) == (0, width)
    assert list(scale.starts) == sorted(scale.starts)
    previous = 0
    for first, after in pairwise(cuts):
        start, end = scale.columns(first, after - 1)
        assert previous <= start < end <= width + 1
        previous = start
