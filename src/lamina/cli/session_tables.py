"""How sessions and messages look in a terminal."""

from collections.abc import Iterable, Mapping

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import one_line, plain
from lamina.cli.sizes import bytes_text
from lamina.cli.tables import SIGNAL_STYLES, bar, moment
from lamina.session.types import Attachment, Message, MessageKind, Part, Recall, Role, Session, ToolCall

_STYLES = {Role.USER: "green", Role.ASSISTANT: "cyan", Role.TOOL: "yellow", Role.SYSTEM: "magenta"}
_SHOWN = 2_000
"""Characters of a text that are shown; --json has it whole."""


def sessions_table(sessions: Iterable[Session]) -> Table:
    """Sessions, one a row."""
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    for name, ratio in (("Session", 2), ("User", 1)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for name in ("Messages", "Archived", "Tokens", "Last (UTC)"):
        table.add_column(name, no_wrap=True, justify="left" if name.startswith("Last") else "right")
    for one in sessions:
        counts = (str(one.message_count), str(one.archived_count), f"{one.total_tokens:,}")
        table.add_row(plain(one.key, "bold"), plain(one.user_id or ""), *counts, moment(one.updated_at))
    return table


def session_line(session: Session) -> Text:
    """A session in one line."""
    user = f"{session.key} of {session.user_id}" if session.user_id else session.key
    counts = f"{session.message_count} live, {session.archived_count} archived, {session.total_tokens:,} tokens"
    return Text.assemble(one_line(user, "bold"), (f"  {session.channel}  {counts}", "dim"))


def messages_table(messages: Iterable[Message]) -> Table:
    """Messages in their order."""
    table = _conversation()
    for one in messages:
        table.add_row(*_cells(one))
    return table


def recall_table(recall: Recall, *, explain: bool, several: bool) -> Table:
    """Messages that were found."""
    table = _conversation("Score")
    for hit in recall:
        number, who, text = _cells(hit.message)
        if several:
            text = Text("\n").join([one_line(hit.message.session_key, "dim"), text])
        if explain and hit.signals:
            text = Text("\n").join([text, _parts(hit.signals)])
        table.add_row(Text.assemble((f"{hit.score:.2f} ", "bold"), (bar(hit.score, 6), "cyan")), number, who, text)
    return table


def _conversation(*before: str) -> Table:
    table = Table(box=box.ROUNDED, expand=True, border_style="dim", header_style="bold")
    for name in before:
        table.add_column(name, no_wrap=True)
    table.add_column("#", no_wrap=True, justify="right")
    table.add_column("Who", min_width=16, max_width=24, overflow="fold")
    table.add_column("Message", ratio=1, overflow="fold")
    return table


def _cells(one: Message) -> tuple[Text, Text, Text]:
    if one.kind is MessageKind.SUMMARY:
        return Text(f"≤{one.sequence}"), Text("summary", style="magenta"), _text(one.content, "italic")
    number = Text(str(one.sequence), style="dim" if one.archived_at is not None else "bold")
    who = Text.assemble(one_line(one.author or one.role.value, _STYLES[one.role]), "\n", (moment(one.at), "dim"))
    told = [_text(one.content)] if one.content else []
    told += [_part(part) for part in one.parts]
    return number, who, Text("\n").join(told)


def _part(part: Part) -> Text:
    if isinstance(part, ToolCall):
        return Text.assemble(("→ ", "yellow"), one_line(part.name, "bold"), " ", _text(part.arguments, "dim"))
    if isinstance(part, Attachment):
        size = "" if part.size_bytes is None else f", {bytes_text(part.size_bytes)}"
        return Text.assemble(
            ("⎘ ", "yellow"), one_line(part.name or "attachment"), one_line(f" ({part.media_type}{size})")
        )
    mark = ("✗ ", "red") if part.is_error else ("← ", "yellow")
    return Text.assemble(mark, one_line(f"{part.name} " if part.name else "", "bold"), _text(part.content, "dim"))


def _text(text: str, style: str = "") -> Text:
    if len(text) <= _SHOWN:
        return plain(text, style)
    return Text.assemble(plain(text[:_SHOWN], style), (f"\n… {len(text) - _SHOWN:,} more characters", "dim"))


def _parts(parts: Mapping[str, float]) -> Text:
    return Text("  ").join(
        Text.assemble((name, SIGNAL_STYLES.get(name, "white")), f" {value:+.2f}") for name, value in parts.items()
    )
