"""How learnings look in a terminal."""

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line, plain
from lamina.cli.tables import SIGNAL_STYLES, bar, moment
from lamina.learning.types import Learning, LearningHit, LearningStatistics

_BAR = 6


def learnings_table(learnings: Iterable[Learning]) -> Table:
    """Learnings with their ids, one a row."""
    table = _table()
    table.add_column("When", ratio=5, overflow="fold")  # at 80 columns wide enough for an id
    table.add_column("Fix", ratio=2, overflow="fold")
    table.add_column("Confidence", no_wrap=True, min_width=_BAR + 5)
    table.add_column("Seen", no_wrap=True, justify="right")
    for one in learnings:
        when = Text("\n").join([_when(one), Text(one.id, style="dim")])
        table.add_row(when, plain(one.fix or ""), _confidence(one), str(one.occurrence_count))
    return table


def learning_hits_table(hits: Iterable[LearningHit], *, explain: bool) -> Table:
    """What a search found, best first; with `explain` the parts of each score below it."""
    table = _table()
    table.add_column("Score", no_wrap=True)
    table.add_column("When", ratio=2, overflow="fold")
    table.add_column("Fix", ratio=2, overflow="fold")
    table.add_column("Confidence", no_wrap=True, min_width=_BAR + 5)
    for hit in hits:
        when = _when(hit.learning)
        shown = Text("\n").join([when, _parts(hit)]) if explain else when
        table.add_row(f"{hit.score:.2f}", shown, plain(hit.learning.fix or ""), _confidence(hit.learning))
    return table


def learning_fields(one: Learning) -> Table:
    """Everything about one learning."""
    outcomes = f"{one.success_count} helped, {one.failure_count} did not"
    return _fields(
        {
            "id": plain(one.id),
            "tool": one_line(one.tool or ""),
            "when": plain(one.trigger),
            "pattern": plain(one.pattern or ""),
            "diagnosis": plain(one.diagnosis or ""),
            "fix": plain(one.fix or "", "green"),
            "category": Text(one.category.value, style="cyan"),
            "tags": one_line(", ".join(one.tags)),
            "origin": Text(one.origin.value),
            "confidence": _confidence(one),
            "tried": Text(outcomes if one.success_count or one.failure_count else ""),
            "seen": Text(f"{one.occurrence_count} times, last {moment(one.last_seen_at)}"),
            "created": Text(moment(one.created_at)),
            "changed": Text(moment(one.updated_at)),
        }
    )


def statistics_table(found: LearningStatistics) -> Table:
    """What was learned, in numbers."""
    average = "" if found.average_confidence is None else f"{found.average_confidence:.2f}"
    rows = {
        "learnings": str(found.total_count),
        **{f"  {category.value}": str(count) for category, count in found.by_category.items() if count},
        "with a fix": str(found.fix_count),
        "known solutions": str(found.solution_count),
        "average confidence": average,
        "errors seen": str(found.total_occurrences),
        "fixes that helped": str(found.total_successes),
        "fixes that did not": str(found.total_failures),
        "oldest": "" if found.oldest_at is None else moment(found.oldest_at),
        "newest": "" if found.newest_at is None else moment(found.newest_at),
    }
    return _fields({name: Text(value) for name, value in rows.items()})


def _table() -> Table:
    return Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")


def _fields(rows: dict[str, Text]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value.plain:
            table.add_row(name, value)
    return table


def _when(one: Learning) -> Text:
    by_tool = one.tool is not None and one.trigger == f"tool:{one.tool}"
    parts = [one.tool or "", "" if by_tool else one.trigger, one.pattern or ""]
    return Text(" · ").join(plain(part, "bold" if place == 0 else "") for place, part in enumerate(parts) if part)


def _confidence(one: Learning) -> Text:
    style = "green" if one.fix is not None and one.confidence >= 0.7 else "yellow"
    return Text.assemble((f"{one.confidence:.2f} ", "bold"), (bar(one.confidence, _BAR), style))


def _parts(hit: LearningHit) -> Text:
    parts = {name: value for name, value in hit.explain.items() if value > 0.0005}
    return Text("  ").join(
        Text.assemble((name, SIGNAL_STYLES.get(name, "white")), f" {value:.2f}") for name, value in parts.items()
    )
