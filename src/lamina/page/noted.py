"""The notes of a session: what each stands for, its lines, and the messages that every line comes from."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from nicegui.element import Element

from lamina.observation.render import render_period
from lamina.observation.types import Entry, Note, Priority, Status
from lamina.page.entry import moment
from lamina.page.pieces import badge, nothing, tag
from lamina.page.text import one_line, visible
from lamina.page.trace import Numbered, Trace

_MOST_SOURCES: Final = 8

GoTo = Callable[[int, Sequence[int]], Awaitable[None]]
"""Shows a message, and marks all that a line comes from."""


class NotedPane:
    """The notes, one of them open."""

    def __init__(
        self, trace: Trace, *, observing: bool, go_to: GoTo, open_note: Callable[[str], Awaitable[None]]
    ) -> None:
        self._trace = trace
        self._observing = observing
        self._go_to = go_to
        self._open_note = open_note
        self._list: Element

    def draw(self) -> None:
        """Draw the pane; `show` opens a note in it."""
        with tag("div", classes="pane-head"):
            tag("h2", "Notes")
        self._list = tag("div", classes="pane", tabindex="0", role="region", aria_label="Notes")

    def show(self, open_id: str | None) -> None:
        """Show the notes, with the one open that has this id, or a line with it."""
        opened = None if open_id is None else self._trace.note(open_id)
        self._list.clear()
        with self._list:
            if not self._trace.notes:
                self._draw_nothing()
            aside = [one for one in self._trace.notes if not one.number]
            for one in self._trace.notes:
                if aside and one is aside[0]:
                    tag("h3", "Set aside: kept, but more than any prompt has room for", classes="aside-head")
                self._draw_note(one, is_open=one is opened, line=open_id)
        if opened is not None:
            self._list.client.run_javascript(
                f"requestAnimationFrame(() => {{ const pane = getHtmlElement({self._list.id});"
                " const one = pane?.querySelector('.line.chosen') ?? pane?.querySelector('.noted.open');"
                " if (one) pane.scrollTop = one.offsetTop - pane.offsetTop - 40; });"
            )

    def _draw_nothing(self) -> None:
        if self._observing:
            nothing("No notes yet.", "Messages are noted in the background once there are enough of them.")
        else:
            nothing(
                "Observational memory is switched off.",
                "With it, old messages become dated notes that stand for them in a prompt.",
                command="LAMINA_OBSERVATIONAL_MEMORY__ENABLED=true lamina serve",
            )

    def _draw_note(self, one: Numbered, *, is_open: bool, line: str | None) -> None:
        note = one.note
        with tag(
            "section", classes=f"noted generation-{max(0, min(note.generation, 3))}" + (" open" if is_open else "")
        ):
            opener = tag("button", classes="noted-open", type="button", aria_expanded="true" if is_open else "false")
            opener.on("click", partial(self._open_note, "" if is_open else note.id), [])
            with opener:
                if one.number:
                    tag("strong", f"{one.number}  {_name(note)}")
                tag("span", f"messages {note.first_sequence:,} to {note.last_sequence:,}")
                tag("span", f"{note.tokens:,} tokens" + (f" for {note.source_tokens:,}" if one.number else ""))
            if not is_open:
                return
            with tag("div", classes="entry-meta"):
                tag("span", f"written by {visible(note.written_by)}")
                moment(note.created_at)
                if note.provisional:
                    badge("provisional", tone="warn")
            with tag("ul", classes="lines"):
                for entry in note.entries:
                    self._draw_line(entry, chosen=entry.id == line)

    def _draw_line(self, entry: Entry, *, chosen: bool) -> None:
        with tag("li", classes=f"line {entry.status}" + (" chosen" if chosen else "")):
            with tag("div", classes="said-head"):
                badge(entry.kind.value, tone="accent" if entry.pinned else "")
                if entry.priority is Priority.HIGH:
                    badge("high", tone="warn")
                if entry.status is not Status.OPEN:
                    badge(entry.status.value)
                tag("span", one_line(entry.author or entry.origin.value, 60))
                moment(entry.said_at)
            tag("div", visible(entry.text), classes="stored")
            if entry.refers_to is not None:
                tag("div", f"refers to {render_period(entry.refers_to)}", classes="note")
            with tag("div", classes="mentions"):
                tag("span", "from")
                for sequence in entry.sources[:_MOST_SOURCES]:
                    link = tag("button", f"#{sequence}", classes="hop", type="button", aria_label=f"Message {sequence}")
                    link.on("click", partial(self._go_to, sequence, entry.sources), [])
                if len(entry.sources) > _MOST_SOURCES:
                    tag("span", f"and {len(entry.sources) - _MOST_SOURCES} more messages")


def _name(note: Note) -> str:
    return f"Reflection {note.generation}" if note.generation > 0 else "Observation"
