"""Receipts and quarantine cases as people read them."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line
from lamina.cli.tables import moment
from lamina.context.quarantine import Case
from lamina.context.receipt import Receipt, ReceiptItem

_BAR = 28
_SHORT_ID = 18  # enough of an id to tell receipts apart, and `lamina context show` takes it
_TRUST = {"full": "bold green", "high": "green", "medium": "yellow", "low": "red"}
_CUT = {
    "share": "section's share",
    "total": "over the budget",
    "memory": "memory budget",
    "max_reflections_in_context": "max_reflections",
    "max_observations_in_context": "max_observations",
    "quarantine": "in quarantine",
}


def receipt_view(receipt: Receipt) -> RenderableType:
    """A receipt: where the tokens went, what is in the prompt, what is not, what failed."""
    parts: list[RenderableType] = [_headline(receipt), _sections(receipt)]
    if receipt.injected:
        parts.append(_items(receipt.injected, "in the prompt", last="signals"))
    if receipt.cut:
        parts.append(_items(receipt.cut, "found and left out", last="left out by"))
    parts += [_failure(failure.layer.value, failure.reason, failure.error) for failure in receipt.failures]
    if receipt.error:
        parts.append(_failure("context", "failed", receipt.error))
    return Group(*parts)


def _headline(receipt: Receipt) -> Text:
    total = receipt.total_tokens
    share = f" ({100 * receipt.unchanged_tokens // total} %)" if total else ""
    line = Text.assemble(
        (f"{total:,} tokens", "bold"),
        f"  {receipt.base_tokens:,} base + {receipt.added_tokens:,} context",
        f"  budget {receipt.budget_tokens:,}" if receipt.budget_tokens else "  no budget",
        ("\nunchanged  ", "dim"),
        f"{receipt.unchanged_tokens:,} since the previous turn{share}",
    )
    if receipt.memory_tokens:
        budget = f" of {receipt.memory_budget_tokens:,}" if receipt.memory_budget_tokens else ""
        told = f"{receipt.memory_tokens:,}{budget}, {receipt.unchanged_memory_tokens:,} of them unchanged"
        line.append_text(Text.assemble(("\nmemory     ", "dim"), told))
    if receipt.keywords:
        line.append_text(Text.assemble("\n", ("keywords   ", "dim"), one_line(", ".join(receipt.keywords), "cyan")))
    return line


def _sections(receipt: Receipt) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, justify in (("section", "left"), ("", "left"), ("tokens", "right"), ("share", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    sections = [(one.name, one.tokens, "cyan") for one in receipt.sections]
    opening = receipt.added_tokens - sum(tokens for _, tokens, _ in sections)
    rows = [("base prompt", receipt.base_tokens, "dim"), ("preamble", opening, "dim"), *sections]
    rows = [row for row in rows if row[1]]
    most = max((tokens for _, tokens, _ in rows), default=1)
    for name, tokens, style in rows:
        share = 100 * tokens / max(receipt.total_tokens, 1)
        table.add_row(name, _bar(tokens / most, style), f"{tokens:,}", f"{share:.0f} %")
    return table


def _bar(share: float, style: str) -> Text:
    eighths = round(share * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest] or "▏", style=style)


def _items(items: Sequence[ReceiptItem], title: str, *, last: str) -> Table:
    table = Table(
        box=box.ROUNDED, border_style="dim", header_style="bold", title=title, title_justify="left", title_style="bold"
    )
    for heading in ("layer", "key", "score", "tokens", "from", last):
        table.add_column(heading, justify="right" if heading in ("score", "tokens") else "left")
    for item in items:
        origin = Text(item.origin, style=_TRUST.get(item.trust, ""))
        if item.suspicious:
            origin.append(f" ⚠ {', '.join(item.suspicious)}", style="bold red")
        why = _CUT.get(item.cut_by, item.cut_by) if item.cut_by else _signals(item)
        table.add_row(
            item.layer.value, one_line(item.key), f"{item.score:.2f}", f"{item.tokens or '–'}", origin, Text(why)
        )
    return table


def _signals(item: ReceiptItem) -> str:
    strong = sorted(item.signals.items(), key=lambda pair: -pair[1])
    return "  ".join(f"{name} {value:.2f}" for name, value in strong if value >= 0.005)


def _failure(layer: str, reason: str, error: str) -> Text:
    return Text.assemble(("✗ ", "bold red"), one_line(f"{layer} {reason}"), one_line(f" ({error})" if error else ""))


def receipts_table(receipts: Sequence[Receipt]) -> Table:
    """Receipts, one a row."""
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for heading in ("id and time (UTC)", "query and session", "tokens", "items", "cut", "failed"):
        number = heading in ("tokens", "items", "cut", "failed")
        table.add_column(heading, justify="right" if number else "left", overflow="fold", no_wrap=number)
    for one in receipts:
        table.add_row(
            Text.assemble(one.id[:_SHORT_ID], (f"\n{moment(one.at)}", "dim")),
            Text("\n").join([one_line(one.query), one_line(one.session_key or "no session", "dim")]),
            f"{one.total_tokens:,}",
            str(len(one.injected)),
            str(len(one.cut)),
            str(len(one.failures)),
        )
    return table


def cases_table(cases: Sequence[Case]) -> Table:
    """Held texts, one a row."""
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold", expand=True)
    table.add_column("case", no_wrap=True)
    table.add_column("because", no_wrap=True)
    table.add_column("text", overflow="fold", ratio=1)
    for case in cases:
        where = one_line(f"{case.layer.value} {case.key}", "cyan")
        where.truncate(len(case.id), overflow="ellipsis")
        lines = [Text(case.id), where]
        lines.append(Text(f"{case.state.value}, from {case.origin.value}", style="dim"))
        table.add_row(Text("\n").join(lines), Text("\n".join(case.reasons), style="red"), one_line(case.content))
    return table
