"""How memories and search results look in a terminal."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line, plain

if TYPE_CHECKING:
    from lamina.memory.types import MemoryEntry, Revision, SearchHit, SearchResults

LAYER_STYLES = {
    "agent": "magenta",
    "user": "cyan",
    "session": "blue",
    "project": "green",
    "team": "yellow",
    "org": "bright_red",
    "company": "red",
}
SIGNAL_STYLES = {
    "lexical": "cyan",
    "vector": "magenta",
    "neighbour": "green",
    "conversation": "yellow",
    "author": "blue",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 10
_PARTS_BAR = 30


def bar(share: float, width: int = _BAR) -> str:
    """A bar for a number from 0 to 1, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def results_table(results: "SearchResults", *, explain: bool = False) -> Table:
    """The hits, layer by layer in order of precedence; with `explain` the parts of each score below it."""
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    table.add_column("Layer", no_wrap=True, min_width=7)
    table.add_column("Score", no_wrap=True, min_width=_BAR + 5)
    table.add_column("Memory", ratio=3, overflow="fold")
    with_source = any(hit.memory.source is not None for hit in results)
    if with_source:
        table.add_column("Said", no_wrap=True, max_width=24, style="dim")
    previous = None
    for hit in results:
        layer = hit.layer.value
        if previous is not None and layer != previous:
            table.add_section()
        style = LAYER_STYLES[layer]
        cells = [
            Text(layer if layer != previous else "", style=f"bold {style}"),
            Text.assemble((f"{hit.score:.2f} ", "bold"), (bar(hit.score), style)),
            Text("\n").join([plain(hit.content), *([_parts(hit)] if explain and hit.explain else [])]),
        ]
        table.add_row(*cells, *([_said(hit)] if with_source else []))
        previous = layer
    return table


def _parts(hit: "SearchHit") -> Text:
    """The parts of a score as one stacked bar, then each by name."""
    parts = {name: value for name, value in (hit.explain or {}).items() if value > 0.0005}
    stacked = [("█" * round(value * _PARTS_BAR), SIGNAL_STYLES.get(name, "white")) for name, value in parts.items()]
    named = Text("  ").join(
        Text.assemble((name, SIGNAL_STYLES.get(name, "white")), f" {value:.2f}") for name, value in parts.items()
    )
    return Text.assemble(*stacked, "\n", named)


def _said(hit: "SearchHit") -> Text:
    source = hit.memory.source
    if source is None:
        return Text()
    when = "" if source.said_at is None else f"{source.said_at:%d %b %Y}".lstrip("0")
    parts = (source.author or "", when, source.conversation or "")
    return Text(" · ").join(one_line(part) for part in parts if part and not hit.content.startswith(f"{part}: "))


def results_note(results: "SearchResults") -> str:
    """One line under the table: what was left out, and where was looked."""
    words = [f"{len(results)} of {results.total_count}"]
    if results.duplicates:
        layers = ", ".join(sorted({duplicate.layer.value for duplicate in results.duplicates}))
        words.append(f"{_count(len(results.duplicates), 'duplicate')} left out ({layers})")
    words.append("searched " + ", ".join(layer.value for layer in results.searched_layers))
    words.extend(f"the {warning.layer} layer failed: {warning.code}" for warning in results.warnings)
    return " · ".join(words)


def entries_table(entries: "Iterable[MemoryEntry]") -> Table:
    """Memories, each with its id below."""
    shown = list(entries)
    table = Table(box=box.ROUNDED, expand=True, show_lines=True, border_style="dim", header_style="bold")
    table.add_column("Memory", ratio=1, overflow="fold")
    tagged = any(entry.tags for entry in shown)
    if tagged:
        table.add_column("Tags", overflow="fold", style="cyan", max_width=16)
    table.add_column("Changed (UTC)", no_wrap=True, style="dim")
    for entry in shown:
        text = Text("\n").join([plain(entry.content), plain(entry.id, "dim")])
        tags = [one_line(", ".join(entry.tags))] if tagged else []
        table.add_row(text, *tags, moment(entry.updated_at))
    return table


def entry_table(entry: "MemoryEntry") -> Table:
    """Everything about one memory."""
    rows: dict[str, Text] = {
        "id": plain(entry.id),
        "content": plain(entry.content),
        "layer": Text(entry.layer.value, style=LAYER_STYLES[entry.layer.value]),
        "belongs to": one_line(_pairs(entry.identifiers.to_dict())),
        "tags": one_line(", ".join(entry.tags)),
        "metadata": one_line(_pairs(entry.metadata)),
        "created": Text(moment(entry.created_at)),
        "changed": Text(moment(entry.updated_at)),
        "expires": Text("" if entry.expires_at is None else moment(entry.expires_at)),
        "version": Text(str(entry.version)),
    }
    if entry.source is not None:
        source = {name: getattr(entry.source, name) for name in ("kind", "conversation", "sequence", "author")}
        source |= {"said_at": entry.source.said_at, "reference": entry.source.reference}
        rows["source"] = one_line(_pairs({name: value for name, value in source.items() if value is not None}))
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value.plain:
            table.add_row(name, value)
    return table


def history_table(revisions: "Iterable[Revision]") -> Table:
    """Every state of a memory, oldest first."""
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    table.add_column("Version", no_wrap=True, justify="right")
    table.add_column("From (UTC)", no_wrap=True, style="dim")
    table.add_column("Memory", ratio=3, overflow="fold")
    table.add_column("Tags", ratio=1, overflow="fold", style="cyan")
    for state in revisions:
        cells = (plain(state.content), one_line(", ".join(state.tags)))
        table.add_row(str(state.version), moment(state.changed_at), *cells)
    return table


def moment(value: datetime) -> str:
    """A moment to the minute."""
    return f"{value:%Y-%m-%d %H:%M}"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
