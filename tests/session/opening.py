"""Opens apps for conversations and looks into their tables."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

import lamina.context.tables
import lamina.database.slots
import lamina.graph.tables
import lamina.index.tables
import lamina.knowledge.tables
import lamina.learning.tables
import lamina.memory.tables
import lamina.observation.tables
import lamina.session.tables
import lamina.skill.tables  # noqa: F401 -- every table declared
from lamina.app import App
from lamina.config import Settings
from lamina.database.link import Link
from lamina.database.schema import metadata
from lamina.database.settings import DatabaseSettings
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics
from lamina.session.types import Message, NewMessage, Role, ToolCall, ToolResult
from tests.stores import static_embedder


def talking_app(
    url: str,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    metrics: Metrics | None = None,
    **sections: Any,
) -> App:
    """An app that reads neither files nor the environment; `sections` are settings by section."""
    chosen = Settings.model_validate({"database": DatabaseSettings(url=url), **sections})
    return App(chosen, embedder=embedder or static_embedder(), clock=clock, metrics=metrics, environ={})


def said(*texts: str) -> list[NewMessage]:
    """A user and an assistant in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    return [NewMessage(role=roles[number % 2], content=text) for number, text in enumerate(texts)]


def calling(id: str, name: str = "shell", arguments: str = "{}") -> NewMessage:
    """An assistant that asks for a tool."""
    return NewMessage(role=Role.ASSISTANT, parts=(ToolCall(id=id, name=name, arguments=arguments),))


def answering(id: str, content: str = "done") -> NewMessage:
    """What the tool gave back."""
    return NewMessage(role=Role.TOOL, parts=(ToolResult(call_id=id, content=content),))


def numbers(messages: Sequence[Message]) -> list[int]:
    """The sequence numbers of messages."""
    return [one.sequence for one in messages]


async def every_row(app: App, *, but: Sequence[str] = ()) -> dict[str, list[str]]:
    """Every row of every table, as text, by table."""

    def read(link: Link) -> dict[str, list[str]]:
        return {
            table.name: [str(tuple(row)) for row in link.execute(sa.select(table))]
            for table in metadata.sorted_tables
            if table.name not in but
        }

    return await app.parts.database.read(read)


async def tables_with(app: App, *words: str) -> set[str]:
    """The tables in which one of the words stands."""
    rows = await every_row(app)
    return {name for name, found in rows.items() if any(word in row for row in found for word in words)}


_CHECKS = {
    "messages without index row": """
        SELECT count(*) FROM message m LEFT JOIN index_entry e
        ON e.scope_id = m.scope_id AND e.version = m.indexed AND e.entry = m.row AND e.terms IS NOT NULL
        WHERE m.kind = 'message' AND e.entry IS NULL""",
    "index rows without message": """
        SELECT count(*) FROM index_entry e JOIN scope s ON s.id = e.scope_id AND s.kind = 'message'
        LEFT JOIN message m ON m.row = e.entry AND m.indexed = e.version WHERE m.row IS NULL""",
    "vectors without message": """
        SELECT count(*) FROM index_vector v JOIN scope s ON s.id = v.scope_id AND s.kind = 'message'
        LEFT JOIN message m ON m.row = v.entry WHERE m.row IS NULL""",
    "scopes that miscount": """
        SELECT count(*) FROM scope s WHERE s.kind = 'message'
        AND s.entries <> (SELECT count(*) FROM message m WHERE m.scope_id = s.id)""",
    "messages without session": """
        SELECT count(*) FROM message m LEFT JOIN session s ON s.row = m.session_row AND s.tenant = m.tenant
        WHERE s.row IS NULL""",
    "sessions with gaps or wrong counts": """
        SELECT count(*) FROM session s
        WHERE s.last_sequence <> (SELECT count(*) FROM message m WHERE m.session_row = s.row AND m.kind = 'message')
        OR s.last_sequence <> (SELECT coalesce(max(m.sequence), 0) FROM message m
                               WHERE m.session_row = s.row AND m.kind = 'message')
        OR s.archived <> (SELECT count(*) FROM message m WHERE m.session_row = s.row AND m.archived_at IS NOT NULL)
        OR s.archived <> (SELECT coalesce(max(m.sequence), 0) FROM message m
                          WHERE m.session_row = s.row AND m.archived_at IS NOT NULL)
        OR s.total_tokens <> (SELECT coalesce(sum(m.tokens), 0) FROM message m
                              WHERE m.session_row = s.row AND m.kind = 'message')""",
    "messages whose running total is wrong": """
        SELECT count(*) FROM message m WHERE m.kind = 'message'
        AND m.total_tokens <> (SELECT sum(o.tokens) FROM message o WHERE o.session_row = m.session_row
                               AND o.kind = 'message' AND o.sequence <= m.sequence)""",
    "sessions with two summaries": """
        SELECT count(*) FROM (SELECT session_row FROM message WHERE kind = 'summary'
                              GROUP BY session_row HAVING count(*) > 1) AS twice""",
}


async def loose_ends(app: App) -> dict[str, int]:
    """What no crash and no race may leave."""

    def look(link: Link) -> dict[str, int]:
        return {name: int(link.execute(sa.text(query)).scalar_one()) for name, query in _CHECKS.items()}

    return {name: count for name, count in (await app.parts.database.read(look)).items() if count}
