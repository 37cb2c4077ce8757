"""Draws a session: messages above, the notes that stand for them below, the stretch that is being read marked."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from nicegui.element import Element

from lamina.page.lanes import Box, Drawing
from lamina.page.pieces import tag

GoTo = Callable[[int], Awaitable[None]]
"""Shows a message."""
OpenNote = Callable[[str], Awaitable[None]]
"""Shows a note."""

_LEGEND: Final = (("archived", "archived"), ("noted", "noted"), ("raw", "not noted yet"))


class TimelineDrawing:
    """The drawing as one browser has it open. Everything in it can be pressed, with a finger or a key."""

    def __init__(self, drawing: Drawing, *, go_to: GoTo, open_note: OpenNote) -> None:
        self._drawing = drawing
        self._go_to = go_to
        self._open_note = open_note
        self._window: Element
        self._notes: dict[str, Element] = {}

    def draw(self) -> None:
        """Draw it, and what its colours mean."""
        with tag("div", classes="lanes"):
            for lane in self._drawing.lanes:
                tag("div", lane.name, classes="lane-name")
                with tag("div", classes="lane" if lane.generation is None else "lane notes"):
                    for box in lane.boxes:
                        if box.note is None:
                            self._draw_stretch(box)
                        else:
                            self._draw_note(box)
                    if lane.generation is None:
                        self._window = tag("div", classes="window", aria_hidden="true")
        with tag("div", classes="legend"):
            for name, meaning in _LEGEND:
                with tag("span"):
                    tag("i", classes=f"stretch {name}", aria_hidden="true")
                    tag("span", meaning)

    def mark(self, first: int, last: int, note_id: str | None) -> None:
        """Show which messages are being read, and which note."""
        box = self._drawing.box(first, last)
        self._window.style(f"left:{box.left:.2f}%;width:{box.width:.2f}%")
        for id, element in self._notes.items():
            element.props["aria-pressed"] = "true" if id == note_id else "false"

    def _draw_stretch(self, box: Box) -> None:
        told = f"Messages {box.first} to {box.last}, {dict(_LEGEND)[box.stretch or 'raw']}"
        stretch = tag("button", classes=f"box stretch {box.stretch}", type="button", title=told, aria_label=told)
        _place(stretch, box)

        async def pressed(event: Any) -> None:
            share = event.args if isinstance(event.args, int | float) else 0.0
            await self._go_to(self._drawing.message_at(box.left + box.width * min(max(share, 0.0), 1.0)))

        stretch.on(
            "click", pressed, js_handler="(event) => emit(event.offsetX / (event.currentTarget.clientWidth || 1))"
        )

    def _draw_note(self, box: Box) -> None:
        assert box.note is not None
        told = f"Note {box.number}: messages {box.first} to {box.last}, {len(box.note.entries)} lines"
        shown = tag(
            "button",
            str(box.number),
            classes=f"box generation-{min(box.note.generation, 3)}",
            type="button",
            title=told,
            aria_label=told,
            aria_pressed="false",
        )
        _place(shown, box)
        shown.on("click", partial(self._open_note, box.note.id), [])
        self._notes[box.note.id] = shown


def _place(element: Element, box: Box) -> None:
    element.style(f"left:{box.left:.2f}%;width:{box.width:.2f}%")
