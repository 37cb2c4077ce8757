"""The pieces under every room: the store, the index over it, and the embedder."""

from dataclasses import dataclass

from lamina.config import Settings
from lamina.database.engine import Database
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.shared_query import SharedQueryEmbedder
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder
from lamina.graph.writing import remove_sources
from lamina.index.engine import SearchEngine
from lamina.kernel.clock import Clock
from lamina.memory.sql import SqlMemoryProvider
from lamina.observability.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The joined pieces of an open app, for the doors that need more than the verbs."""

    database: Database
    engine: SearchEngine
    embedder: Embedder
    questions: SharedQueryEmbedder
    """The embedder, asked once for a question that several rooms have."""
    cache: CachedEmbedder
    provider: SqlMemoryProvider


def build_parts(settings: Settings, embedder: Embedder, clock: Clock, metrics: Metrics) -> Parts:
    """The pieces under every room; nothing is opened yet."""
    database = Database(settings.database)
    engine = SearchEngine(settings.index, metrics)
    shipped = isinstance(embedder, StaticEmbedder)
    questions = SharedQueryEmbedder(embedder, at_once=shipped)
    # Looking a vector up in the store costs more than the shipped table does.
    cache = CachedEmbedder(questions, database, metrics, ask_store=not shipped)
    provider = SqlMemoryProvider(
        database=database,
        engine=engine,
        embedder=embedder,
        cache=cache,
        settings=settings.memory,
        clock=clock,
        on_removed=remove_sources,
    )
    return Parts(
        database=database, engine=engine, embedder=embedder, questions=questions, cache=cache, provider=provider
    )
