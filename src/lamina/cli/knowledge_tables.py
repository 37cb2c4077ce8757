"""How knowledge, references and the audit log look in a terminal."""

import json
from collections.abc import Iterable, Mapping

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line, plain
from lamina.cli.tables import SIGNAL_STYLES, bar, moment
from lamina.knowledge.types import AuditRow, KnowledgeEntry, KnowledgeHit, KnowledgeVersion, Reference, ReferenceHit


def _listing(*columns: tuple[str, int | None]) -> Table:
    """A table with a header; a column with a ratio takes its share of the width and folds."""
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    for name, ratio in columns:
        table.add_column(name, ratio=ratio, no_wrap=ratio is None, overflow="ellipsis" if ratio is None else "fold")
    return table


def _fields(rows: Mapping[str, Text]) -> Table:
    """One thing, field by field; empty fields are left out."""
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value.plain:
            table.add_row(name, value)
    return table


def knowledge_table(entries: Iterable[KnowledgeEntry]) -> Table:
    """Entries, one a row."""
    table = _listing(("Key", 2), ("Category", None), ("Content", 3), ("Version", None), ("Changed (UTC)", None))
    for entry in entries:
        cells = (plain(entry.key, "bold"), Text(entry.category.value, style="cyan"), plain(entry.content))
        table.add_row(*cells, str(entry.version), moment(entry.updated_at))
    return table


def knowledge_fields(entry: KnowledgeEntry) -> Table:
    """Everything about one entry."""
    used = "" if entry.last_used_at is None else f", last {moment(entry.last_used_at)}"
    return _fields(
        {
            "key": plain(entry.key),
            "category": Text(entry.category.value, style="cyan"),
            "content": plain(entry.content),
            "tags": one_line(", ".join(entry.tags)),
            "source": one_line(entry.source or ""),
            "origin": Text(entry.origin.value),
            "version": Text(str(entry.version)),
            "relevance": Text(f"{entry.relevance:.2f}"),
            "used": Text(f"{entry.use_count} times{used}"),
            "created": Text(moment(entry.created_at)),
            "changed": Text(moment(entry.updated_at)),
        }
    )


def versions_table(versions: Iterable[KnowledgeVersion]) -> Table:
    """Every version of an entry."""
    table = _listing(("Version", None), ("Saved (UTC)", None), ("Category", None), ("Content", 3), ("Origin", None))
    for version in versions:
        cells = (str(version.version), moment(version.saved_at), version.category.value)
        table.add_row(*cells, plain(version.content), version.origin.value)
    return table


def hits_table(hits: Iterable[KnowledgeHit], *, explain: bool) -> Table:
    """What a search found, best first."""
    table = _listing(("Score", None), ("Key", 2), ("Category", None), ("Content", 3))
    for hit in hits:
        text = plain(hit.content)
        shown = Text("\n").join([text, _parts(hit.explain)]) if explain else text
        table.add_row(_score(hit.score), plain(hit.key, "bold"), Text(hit.category.value, style="cyan"), shown)
    return table


def references_table(references: Iterable[Reference]) -> Table:
    """References, one a row."""
    table = _listing(("Name", 1), ("Type", None), ("Location", 2), ("Summary", 3))
    for reference in references:
        table.add_row(*_reference_cells(reference))
    return table


def reference_hits_table(hits: Iterable[ReferenceHit]) -> Table:
    """The references a search found, best first."""
    table = _listing(("Score", None), ("Name", 1), ("Type", None), ("Location", 2), ("Summary", 3))
    for hit in hits:
        table.add_row(_score(hit.score), *_reference_cells(hit.reference))
    return table


def reference_fields(reference: Reference) -> Table:
    """Everything about one reference."""
    return _fields(
        {
            "name": plain(reference.name),
            "type": Text(reference.type.value, style="cyan"),
            "location": plain(reference.location),
            "summary": plain(reference.summary),
            "metadata": one_line(_json(dict(reference.metadata)) if reference.metadata else ""),
            "origin": Text(reference.origin.value),
            "created": Text(moment(reference.created_at)),
            "changed": Text(moment(reference.updated_at)),
        }
    )


def audit_table(rows: Iterable[AuditRow]) -> Table:
    """Rows of the audit log, newest first."""
    table = _listing(("When (UTC)", None), ("What", 2), ("Details", 3))
    for row in rows:
        who = f"{row.actor} in {row.session_key}" if row.session_key else row.actor
        when = Text(f"{row.at:%Y-%m-%d %H:%M:%S}\n").append_text(one_line(who, "dim"))
        what = one_line(row.action, "cyan").append("\n").append_text(one_line(row.target or "", "bold"))
        table.add_row(when, what, _details(row.details))
    return table


def _details(details: Mapping[str, object]) -> Text:
    """Details, one a line, without those that say nothing."""
    shown = [(name, value) for name, value in details.items() if value not in (None, "", [], {})]
    return Text("\n").join(
        Text.assemble((f"{name} ", "dim"), one_line(value if isinstance(value, str) else _json(value)))
        for name, value in shown
    )


def _reference_cells(reference: Reference) -> tuple[Text, ...]:
    kind = Text(reference.type.value, style="cyan")
    return plain(reference.name, "bold"), kind, plain(reference.location), plain(reference.summary)


def _score(score: float) -> Text:
    return Text.assemble((f"{score:.2f} ", "bold"), (bar(score), "cyan"))


def _parts(parts: Mapping[str, float]) -> Text:
    shown = [(name, value) for name, value in parts.items() if abs(value) > 0.0005]
    return Text("  ").join(
        Text.assemble((name, SIGNAL_STYLES.get(name, "white")), f" {value:+.2f}") for name, value in shown
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
