"""The figures of observational memory as people read them."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line
from lamina.cli.sizes import count_text
from lamina.cli.tables import bar, moment
from lamina.observation.economics import MemoryStatus
from lamina.observation.service import Timeline
from lamina.observation.types import Spent

_BAR = 30
_NARROW_BAR = 24


def session_view(status: MemoryStatus, timeline: Timeline) -> RenderableType:
    """One session: where its tokens went, what was sent and spent, what failed."""
    return Group(one_line(status.session_key or "", "bold"), _tokens(status, timeline), _facts(status))


def sessions_view(total: MemoryStatus, each: Sequence[MemoryStatus]) -> RenderableType:
    """Sessions, one a row, then the sums of all."""
    if not each:
        return Text("no conversations", style="yellow")
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold", expand=True)
    table.add_column("session", ratio=1, overflow="fold")
    for heading in ("raw", "in memory", "notes", "waiting", "unchanged"):
        table.add_column(heading, justify="right", no_wrap=True)
    most = max(1, *(one.raw_tokens for one in each))
    for one in each:
        name = Text.assemble(one_line(one.session_key or ""), "\n", _shares(one, most))
        if one.failing:
            name.append(f"\n✗ {one_line(one.last_error or 'failing').plain}", style="red")
        memory = f"{one.memory_tokens:,}" + (f" ({one.compression:.1f}x)" if one.compression else "")
        notes = f"{one.reflections} + {one.observations}"
        table.add_row(name, f"{one.raw_tokens:,}", memory, notes, f"{one.pending_tokens:,}", _unchanged(one))
    key = Text("█ in memory, ░ raw tokens; notes are reflections + observations\n", style="dim")
    return Group(table, key, _facts(total, title=f"{count_text(total.sessions, 'session')} in all"))


def _shares(status: MemoryStatus, most: int) -> Text:
    """A session's raw tokens as a bar, and how much of it the notes take."""
    width = round(_NARROW_BAR * status.raw_tokens / most)
    memory = min(width, round(_NARROW_BAR * status.memory_tokens / most))
    return Text.assemble(("█" * memory, "cyan"), ("░" * (width - memory), "dim"))


def _tokens(status: MemoryStatus, timeline: Timeline) -> Table:
    reflected = sum(note.tokens for note in timeline.reflections)
    generations = sorted({note.generation for note in timeline.reflections})
    told = f"generation {', '.join(map(str, generations))}" if generations else ""
    smaller = _compared(status.compression) if status.compression else ""
    rows = [
        ("raw", status.raw_tokens, "dim", count_text(timeline.last_sequence, "message")),
        ("noted", status.observed_tokens, "blue", f"through message {timeline.watermark}"),
        ("waiting", status.pending_tokens, "bold", "not noted yet"),
        ("in memory", status.memory_tokens, "cyan", smaller),
        ("  reflections", reflected, "magenta", _join(str(status.reflections), told)),
        ("  observations", status.memory_tokens - reflected, "cyan", str(status.observations)),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    most = max(status.raw_tokens, 1)
    for name, tokens, style, remark in rows:
        table.add_row(name, Text(bar(tokens / most, _BAR), style=style), f"{tokens:,}", remark)
    return table


def _compared(compression: float) -> str:
    """Notes on a few short messages can take more than the messages."""
    return f"{compression:.1f} times smaller" if compression >= 1 else f"{1 / compression:.1f} times larger"


def _facts(status: MemoryStatus, title: str | None = None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    rows = [
        ("in memory", f"{status.memory_tokens:,} tokens for {status.observed_tokens:,} noted") if title else None,
        ("sent", _sent(status)),
        ("observer", _spent(status.observer)),
        ("reflector", _spent(status.reflector)),
        ("provisional", count_text(status.provisional, "note") + " to be written anew") if status.provisional else None,
        ("left out", count_text(status.dropped_entries, "line") + " that no message proves")
        if status.dropped_entries
        else None,
        ("failing", _failing(status)) if status.failing else None,
    ]
    if title:
        table.add_row(Text(title, style="bold"), "")
    for row in rows:
        if row is not None:
            table.add_row(row[0], one_line(row[1], "red" if row[0] == "failing" else ""))
    return table


def _sent(status: MemoryStatus) -> str:
    if not status.turns:
        return "no prompt carried notes yet"
    turns = count_text(status.turns, "turn")
    return f"{status.sent_tokens:,} tokens of notes in {turns}, {_unchanged(status)} unchanged"


def _unchanged(status: MemoryStatus) -> str:
    return f"{100 * status.unchanged_tokens // status.sent_tokens} %" if status.sent_tokens else "–"


def _spent(spent: Spent) -> str:
    if not spent.calls:
        return "no model was asked"
    return f"{count_text(spent.calls, 'call')}, {spent.input_tokens:,} tokens read, {spent.output_tokens:,} written"


def _failing(status: MemoryStatus) -> str:
    again = "" if status.next_attempt_at is None else f"again from {moment(status.next_attempt_at)} UTC"
    what = status.last_error or count_text(status.failing, "session")
    return _join(what, again)


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
