"""Draws a conversation and its notes to scale of what there is to see, not of how many messages there are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from lamina.cli.output import one_line
from lamina.cli.sizes import count_text
from lamina.observation.render import render_note
from lamina.observation.scale import Scale, timeline_cuts
from lamina.observation.service import Timeline
from lamina.observation.types import Entry, Note, Priority
from lamina.session.types import Session

_LABELS = 14
_WIDEST = 140
_NARROWEST = 20
_INDENT = (0, 0, 0, 5)
_STYLES = ("cyan", "magenta", "yellow", "green", "blue")
_WEIGHTS = (Priority.HIGH, Priority.MEDIUM, Priority.LOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """A conversation as a drawing, then its notes in words, oldest first."""

    session: Session
    timeline: Timeline
    said: tuple[datetime, datetime] | None = None
    """When the first and the last message were said."""
    entries: int = 3
    """How many entries of each note are shown."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes in the order of what they stand for; their place is their number in the drawing."""
        return self.timeline.notes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, _WIDEST)
        yield self._headline()
        if self.timeline.last_sequence:
            yield from self._drawing(max(width - _LABELS, _NARROWEST))
        if self.notes:
            yield Text(f"     {'note':<13} {'messages':<10} {'said':<20} tokens", style="dim")
        for number, note in enumerate(self.notes, 1):
            yield from self._note(number, note)
        yield self._rest()

    def _headline(self) -> Text:
        session = self.session
        days = sorted({f"{moment:%Y-%m-%d}" for moment in self.said or ()})
        return Text.assemble(
            one_line(session.key, "bold"),
            f"  {count_text(session.last_sequence, 'message')}, {session.total_tokens:,} tokens",
            (f"  {_span(days)}\n", "dim"),
        )

    def _drawing(self, width: int) -> Iterator[Text]:
        scale = Scale.of(timeline_cuts(self.timeline), width)
        yield _labelled("", _ticks(scale, width, [note.first_sequence for note in self.notes] or [1]))
        yield _labelled("messages", self._messages(scale))
        for generation in sorted({note.generation for note in self.notes}):
            row = Text(" " * width)
            for number, note in enumerate(self.notes, 1):
                if note.generation == generation:
                    start, end = scale.columns(note.first_sequence, note.last_sequence)
                    row = _over(row, start, Text(_bracket(end - start, str(number)), style=_style(note)))
            yield _labelled(_name(generation, plural=True), row)
        legend = Text.assemble(("░ archived  ", "dim"), ("▒ noted  ", "blue"), ("█ not noted yet\n", "bold"))
        yield _labelled("", legend)

    def _messages(self, scale: Scale) -> Text:
        one = self.timeline
        stretches = (
            (1, one.archived_through, "░", "dim"),
            (one.archived_through + 1, one.watermark, "▒", "blue"),
            (max(one.watermark, one.archived_through) + 1, one.last_sequence, "█", "bold"),
        )
        row = Text()
        for first, last, glyph, style in stretches:
            if first <= last:
                start, end = scale.columns(first, last)
                row.append(glyph * (end - start), style=style)
        return row

    def _note(self, number: int, note: Note) -> Iterator[RenderableType]:
        days = sorted({f"{entry.said_at:%Y-%m-%d}" for entry in note.entries})
        yield Text.assemble(
            (f"{number:>3}  {_name(note.generation):<13}", f"bold {_style(note)}"),
            f" {_range(note):<10}",
            (f" {_span(days):<20}", "dim"),
            f" {note.tokens:,} for {note.source_tokens:,}",
            (" provisional" if note.provisional else "", "yellow"),
        )
        lines = [line for line in render_note(note).split("\n") if line.startswith("- ")]
        weightiest = sorted(range(len(note.entries)), key=lambda place: _weight(note.entries[place], place))
        for place in sorted(weightiest[: self.entries]):
            day = f"{note.entries[place].said_at:%Y-%m-%d} " if len(days) > 1 else ""
            yield Padding(one_line(day + lines[place][2:]), _INDENT)
        left = len(note.entries) - self.entries
        if self.entries and left > 0:
            yield Padding(Text(f"and {count_text(left, 'more entry', 'more entries')}", style="dim"), _INDENT)

    def _rest(self) -> Text:
        one = self.timeline
        waiting = one.last_sequence - one.watermark
        if waiting <= 0:
            return Text("everything is noted", style="dim")
        first = one.watermark + 1
        return Text(
            f"messages {first}-{one.last_sequence} are raw: {one.pending_tokens:,} tokens not noted yet", style="dim"
        )


def _labelled(label: str, row: Text) -> Text:
    return Text.assemble((f"{label:<{_LABELS}}", "dim"), row)


def _ticks(scale: Scale, width: int, sequences: Sequence[int]) -> Text:
    """Sequence numbers above where they are, as far as there is room, and the last one at the end."""
    last = str(scale.cuts[-1] - 1)
    row, free = "", width - len(last) - 1
    for sequence in sequences:
        start, _ = scale.columns(sequence, sequence)
        if start >= len(row) + bool(row) and start + len(str(sequence)) <= free:
            row = f"{row:<{start}}{sequence}"
    return Text(f"{row:<{width - len(last)}}{last}", style="dim")


def _bracket(width: int, label: str) -> str:
    if width == 1:
        return "┃"
    inner = f" {label} " if width >= len(label) + 4 else label if width >= len(label) + 2 else ""
    return f"├{inner:─^{width - 2}}┤"


def _over(row: Text, start: int, piece: Text) -> Text:
    return Text.assemble(row[:start], piece, row[start + len(piece) :])


def _name(generation: int, *, plural: bool = False) -> str:
    if generation:
        return f"{'reflections' if plural else 'reflection'} {generation}"
    return "observations" if plural else "observation"


def _range(note: Note) -> str:
    first, last = note.first_sequence, note.last_sequence
    return f"{first}" if first == last else f"{first}-{last}"


def _span(days: Sequence[str]) -> str:
    """The first and the last of some days, given in order; a year that they share stands once."""
    if len(days) < 2:
        return "".join(days)
    first, last = days[0], days[-1]
    return f"{first} to {last.removeprefix(first[:5])}"


def _style(note: Note) -> str:
    return _STYLES[note.generation % len(_STYLES)]


def _weight(entry: Entry, place: int) -> tuple[bool, int, int]:
    return (not entry.pinned, _WEIGHTS.index(entry.priority), -place)
