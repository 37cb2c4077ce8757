"""The drawing of a session: lanes and boxes, and the way from notes to messages and back."""

import pytest

from lamina.observation.service import Timeline
from lamina.page.lanes import Drawing
from lamina.page.trace import Trace
from tests.observation.samples import entry, note

BERTH = entry("Takes berth 17.", sources=(3, 9), id="berth")
OLD = note(BERTH, id="old", generation=1, first=1, last=200)
NEW = note(entry("Diesel is ordered.", sources=(230,), id="diesel"), id="new", first=201, last=240)
ASIDE = note(entry("Never call before nine.", sources=(3,), id="nine"), id="aside", generation=-1, first=1, last=200)


def timeline(**changed: object) -> Timeline:
    values: dict[str, object] = {
        "session_key": "direct:1",
        "last_sequence": 260,
        "archived_through": 200,
        "watermark": 240,
        "pending_tokens": 100,
        "observations": (NEW,),
        "reflections": (OLD,),
        "set_aside": (ASIDE,),
    }
    return Timeline(**{**values, **changed})  # type: ignore[arg-type]


def drawing(of: Timeline) -> Drawing:
    drawn = Drawing.of(of)
    assert drawn is not None
    return drawn


def test_messages_are_archived_noted_or_raw_and_fill_the_width() -> None:
    messages = drawing(timeline()).lanes[0]
    assert [(box.stretch, box.first, box.last) for box in messages.boxes] == [
        ("archived", 1, 200),
        ("noted", 201, 240),
        ("raw", 241, 260),
    ]
    assert sum(box.width for box in messages.boxes) == pytest.approx(100)


def test_a_note_stands_under_its_messages() -> None:
    messages, observations, reflections = drawing(timeline()).lanes
    assert (messages.name, observations.name, reflections.name) == ("Messages", "Observations", "Reflections 1")
    (box,) = observations.boxes
    assert (box.left, box.width) == (messages.boxes[1].left, messages.boxes[1].width)
    assert (box.number, reflections.boxes[0].number) == (2, 1)


def test_every_place_in_the_drawing_is_a_message_and_every_message_has_a_place() -> None:
    drawn = drawing(timeline())
    for sequence in (1, 2, 150, 200, 201, 240, 241, 259, 260):
        box = drawn.box(sequence, sequence)
        assert drawn.message_at(box.left + box.width / 2) == sequence
    assert (drawn.message_at(-1), drawn.message_at(0), drawn.message_at(100)) == (1, 1, 260)


def test_a_session_without_messages_has_no_drawing() -> None:
    empty = timeline(last_sequence=0, archived_through=0, watermark=0, observations=(), reflections=(), set_aside=())
    assert Drawing.of(empty) is None


def test_a_message_knows_the_lines_it_went_into_and_a_line_its_note() -> None:
    trace = Trace.of(timeline())
    assert [(one.number, one.entry.id) for one in trace.mentions(3)] == [(1, "berth"), (0, "nine")]
    assert trace.mentions(4) == ()
    for id in ("new", "diesel"):
        found = trace.note(id)
        assert found is not None
        assert (found.number, found.note) == (2, NEW)
    assert trace.note("unknown") is None
