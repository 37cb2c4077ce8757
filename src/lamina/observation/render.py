"""Notes as dated text. The same note is the same text on every day, so that a prompt's prefix stays as it was.

A note begins with the day of its first entry and the messages it stands for; a new day gets a line of its own:

    2026-05-01, messages 1-24
    - 14:30 Ann (decision): The release moves to Monday. (refers to 2026-05-04)
    - 14:32 tool: The build failed with exit code 2.
    2026-05-02
    - 09:00 user (open task): Write the release notes.

Every entry is one line, whatever it says, and who said it stands before what was said. Times are in UTC.
"""

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observation.types import PINNED, Entry, EntryCounter, EntryKind, Note, Period, Speaker, Status


def render_note(note: Note) -> str:
    """The note as a prompt shows it: whole lines, each ended; empty for a note without entries."""
    return _render(note.entries, note.first_sequence, note.last_sequence)


def render_entries(entries: Sequence[Entry]) -> str:
    """Entries as a note that stands for just their sources."""
    sources = [sequence for entry in entries for sequence in entry.sources]
    return _render(entries, min(sources, default=0), max(sources, default=0))


def entry_counter(count: TokenCounter = estimate_tokens) -> EntryCounter:
    """Counts the tokens that entries take as one note, with the given counter."""

    def tokens(entries: Sequence[Entry]) -> int:
        return count(render_entries(entries))

    return tokens


def render_period(period: Period) -> str:
    """Days in few words: a day, a weekend, a week, a month, a year, or else the first and the last."""
    first, last = period.first, period.last
    if first == last:
        return first.isoformat()
    length = (last - first).days + 1
    if (first.weekday(), length) in ((0, 7), (5, 2)):
        return f"{'week' if length == 7 else 'weekend'} of {first.isoformat()}"
    if first.day == 1 and last == first.replace(day=monthrange(first.year, first.month)[1]):
        return f"{first:%Y-%m}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return f"{first:%Y}"
    return f"{first.isoformat()} to {last.isoformat()}"


def _render(entries: Sequence[Entry], first: int, last: int) -> str:
    return "".join(f"{line}\n" for line in _lines(entries, first, last))


def _lines(entries: Sequence[Entry], first: int, last: int) -> Iterator[str]:
    day = ""
    for entry in entries:
        said_at = entry.said_at.astimezone(UTC)
        if (today := _day(said_at)) != day:
            yield today if day else f"{today}, {_range(first, last)}"
            day = today
        yield _line(entry, said_at)


def _line(entry: Entry, said_at: datetime) -> str:
    label = f" ({marked})" if (marked := _label(entry)) else ""
    refers = f" (refers to {render_period(entry.refers_to)})" if entry.refers_to else ""
    return f"- {said_at:%H:%M} {_speaker(entry)}{label}: {_one_line(entry.text)}{refers}"


def _speaker(entry: Entry) -> str:
    """Who said it; a name never hides that it was not the user."""
    name = _one_line(entry.author or "").replace(":", " ").replace("(", " ").replace(")", " ")
    name = " ".join(name.split())
    if not name:
        return entry.origin.value
    return name if entry.origin is Speaker.USER else f"{entry.origin.value} {name}"


def _label(entry: Entry) -> str:
    """What a reader cannot see from the text."""
    if entry.status is Status.SUPERSEDED:
        return "superseded"
    if entry.kind is EntryKind.TASK:
        return "done" if entry.status is Status.DONE else "open task"
    return entry.kind.value if entry.kind in PINNED else ""


def _range(first: int, last: int) -> str:
    return f"message {first}" if first == last else f"messages {first}-{last}"


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _one_line(text: str) -> str:
    return " ".join(text.split())
