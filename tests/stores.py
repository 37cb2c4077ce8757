"""Providers and apps on a given store, with one embedder for the whole session."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lamina.app import App
from lamina.config import Settings
from lamina.database.engine import Database
from lamina.database.settings import DatabaseSettings
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder, Purpose
from lamina.index.engine import SearchEngine
from lamina.index.settings import IndexSettings
from lamina.kernel.clock import Clock, ManualClock
from lamina.memory.settings import MemorySettings
from lamina.memory.sql import SqlMemoryProvider
from lamina.observability.metrics import Metrics


@cache
def static_embedder() -> StaticEmbedder:
    """The shipped embedder, loaded once."""
    return StaticEmbedder()


def sql_provider(url: str, *, embedder: Embedder | None = None, clock: Clock | None = None) -> SqlMemoryProvider:
    """A provider on a store, as the app would join it."""
    chosen = embedder or static_embedder()
    metrics = Metrics()
    database = Database(DatabaseSettings(url=url))
    return SqlMemoryProvider(
        database=database,
        engine=SearchEngine(IndexSettings(), metrics),
        embedder=chosen,
        cache=CachedEmbedder(chosen, database, metrics, ask_store=embedder is not None),
        settings=MemorySettings(),
        clock=clock or ManualClock(),
    )


class CountingEmbedder:
    """The shipped vectors under another name, counting what it was asked for; fails on demand."""

    def __init__(self, *, name: str = "counting:1") -> None:
        self.name = name
        self.dimensions = static_embedder().dimensions
        self.texts: list[str] = []
        self.failures: list[Exception] = []

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if self.failures:
            raise self.failures.pop(0)
        self.texts += texts
        return await static_embedder().embed(texts, purpose=purpose)

    async def aclose(self) -> None:
        pass


def app_on(
    url: str,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    metrics: Metrics | None = None,
    memory: MemorySettings | None = None,
    index: IndexSettings | None = None,
) -> App:
    """An app that reads neither files nor the environment."""
    settings = Settings(
        database=DatabaseSettings(url=url), memory=memory or MemorySettings(), index=index or IndexSettings()
    )
    return App(settings, embedder=embedder or static_embedder(), clock=clock, metrics=metrics, environ={})
