"""Opens apps with knowledge switched on and looks into their tables."""

from typing import Any

import sqlalchemy as sa

import lamina.knowledge.tables
import lamina.memory.tables  # noqa: F401 -- every table declared
from lamina.app import App
from lamina.config import Settings
from lamina.database.link import Link
from lamina.database.schema import metadata
from lamina.database.settings import DatabaseSettings
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.knowledge.settings import KnowledgeSettings
from lamina.observability.metrics import Metrics
from tests.stores import static_embedder

ROOM = ("knowledge", "knowledge_version", "external_reference", "rate_slot", "audit_log", "index_entry", "index_vector")


def knowing_app(
    url: str,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> App:
    """An app that reads neither files nor the environment; `settings` are those of knowledge."""
    chosen = Settings(database=DatabaseSettings(url=url), knowledge=KnowledgeSettings(**{"enabled": True, **settings}))
    return App(chosen, embedder=embedder or static_embedder(), clock=clock, metrics=metrics, environ={})


async def row_counts(app: App, *tables: str) -> dict[str, int]:
    """How many rows the tables hold, over all tenants; tombstones do not count."""

    def count(link: Link) -> dict[str, int]:
        found = {}
        for name in tables or ROOM:
            table = metadata.tables[name]
            living = table.c.terms.is_not(None) if name == "index_entry" else sa.true()
            found[name] = link.execute(sa.select(sa.func.count()).select_from(table).where(living)).scalar_one()
        return found

    return await app.parts.database.read(count)


async def stored_text(app: App) -> str:
    """Everything the room keeps, as one text."""

    def read(link: Link) -> str:
        names = ("knowledge", "knowledge_version", "external_reference", "audit_log")
        return "\n".join(str(row) for name in names for row in link.execute(sa.select(metadata.tables[name])))

    return await app.parts.database.read(read)


async def loose_ends(app: App) -> dict[str, int]:
    """What no crash and no race may leave: entries without index row, index rows without entry, wrong counts."""
    checks = {
        "entries without index row": """
            SELECT count(*) FROM knowledge k LEFT JOIN index_entry e
            ON e.scope_id = k.scope_id AND e.version = k.indexed AND e.entry = k.row WHERE e.entry IS NULL""",
        "index rows without entry": """
            SELECT count(*) FROM index_entry e JOIN scope s ON s.id = e.scope_id AND s.kind = 'knowledge'
            LEFT JOIN knowledge k ON k.row = e.entry AND k.indexed = e.version
            WHERE k.row IS NULL AND e.terms IS NOT NULL""",
        "vectors without entry": """
            SELECT count(*) FROM index_vector v JOIN scope s ON s.id = v.scope_id AND s.kind = 'knowledge'
            LEFT JOIN knowledge k ON k.row = v.entry WHERE k.row IS NULL""",
        "versions without entry": """
            SELECT count(*) FROM knowledge_version v LEFT JOIN knowledge k ON k.row = v.knowledge_row
            WHERE k.row IS NULL""",
        "entries whose versions have gaps": """
            SELECT count(*) FROM knowledge k
            WHERE k.version <> (SELECT count(*) FROM knowledge_version v WHERE v.knowledge_row = k.row)""",
        "scopes that miscount": """
            SELECT count(*) FROM scope s WHERE s.kind = 'knowledge'
            AND s.entries <> (SELECT count(*) FROM knowledge k WHERE k.scope_id = s.id)""",
    }

    def look(link: Link) -> dict[str, int]:
        return {name: int(link.execute(sa.text(query)).scalar_one()) for name, query in checks.items()}

    return {name: count for name, count in (await app.parts.database.read(look)).items() if count}
