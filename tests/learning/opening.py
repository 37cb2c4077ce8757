"""Opens apps that learn and looks into their tables."""

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from lamina.app import App
from lamina.config import Settings
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.knowledge.settings import KnowledgeSettings
from lamina.learning.settings import LearningSettings
from lamina.observability.metrics import Metrics
from tests.stores import static_embedder

TABLES = ("learning", "audit_log", "rate_slot", "scope", "index_entry", "index_vector")


def learning_app(
    url: str,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    metrics: Metrics | None = None,
    learning: LearningSettings | None = None,
    **knowledge: Any,
) -> App:
    """An app that reads neither files nor the environment, with knowledge switched on."""
    settings = Settings(
        database=DatabaseSettings(url=url),
        knowledge=KnowledgeSettings(**{"enabled": True, **knowledge}),
        learning=learning or LearningSettings(),
    )
    return App(settings, embedder=embedder or static_embedder(), clock=clock, metrics=metrics, environ={})


async def stored_rows(app: App) -> str:
    """Everything in the tables that learning writes to, as one text."""

    def read(link: Link) -> str:
        return "\n".join(str(row) for name in TABLES for row in link.execute(sa.text(f"SELECT * FROM {name}")))

    return await app.parts.database.read(read)


def stored_bytes(path: Path) -> bytes:
    """Every byte of a SQLite store, its write-ahead log included."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*")))


def close_log(path: Path) -> None:
    """Bring what the write-ahead log holds into the file."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


async def loose_ends(app: App) -> dict[str, int]:
    """What no race may leave: learnings without index row, index rows without learning, wrong counts."""
    checks = {
        "learnings without index row": """
            SELECT count(*) FROM learning k LEFT JOIN index_entry e
            ON e.scope_id = k.scope_id AND e.version = k.indexed AND e.entry = k.row WHERE e.entry IS NULL""",
        "index rows without learning": """
            SELECT count(*) FROM index_entry e JOIN scope s ON s.id = e.scope_id AND s.kind = 'learning'
            LEFT JOIN learning k ON k.row = e.entry AND k.indexed = e.version
            WHERE k.row IS NULL AND e.terms IS NOT NULL""",
        "vectors without learning": """
            SELECT count(*) FROM index_vector v JOIN scope s ON s.id = v.scope_id AND s.kind = 'learning'
            LEFT JOIN learning k ON k.row = v.entry WHERE k.row IS NULL""",
        "learnings without vector": """
            SELECT count(*) FROM learning k LEFT JOIN index_vector v
            ON v.scope_id = k.scope_id AND v.entry = k.row WHERE v.entry IS NULL""",
        "scopes that miscount": """
            SELECT count(*) FROM scope s WHERE s.kind = 'learning'
            AND s.entries <> (SELECT count(*) FROM learning k WHERE k.scope_id = s.id)""",
    }

    def look(link: Link) -> dict[str, int]:
        return {name: int(link.execute(sa.text(query)).scalar_one()) for name, query in checks.items()}

    return {name: count for name, count in (await app.parts.database.read(look)).items() if count}
