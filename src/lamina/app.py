"""Builds, starts and stops everything: the one place where the pieces are joined."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from lamina.config import LoadedSettings, Settings, load_settings
from lamina.database.engine import Database
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.factory import create_embedder
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.index.engine import SearchEngine
from lamina.index.store import entry_counts
from lamina.kernel.background import Periodic
from lamina.kernel.clock import Clock, SystemClock
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.retrying import RetryingProvider
from lamina.memory.service import MemoryService
from lamina.memory.sql import SqlMemoryProvider
from lamina.observability.metrics import Metrics

_STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The joined pieces of an open app, for the doors that need more than the verbs."""

    database: Database
    engine: SearchEngine
    embedder: Embedder
    provider: SqlMemoryProvider


class App:
    """An open store with everything on it. Use it as an async context manager, or `start` and `close` it."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics.collecting()
        self._owns_metrics = metrics is None
        self._clock: Clock = clock or SystemClock()
        self._given_embedder = embedder
        self._environ = os.environ if environ is None else environ
        self._parts: Parts | None = None
        self._memory: MemoryService | None = None
        self._hierarchy: Hierarchy | None = None
        self._sweeper: Periodic | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        """Open the store, creating or migrating it where needed.

        Raises ConfigurationError when store and embedder do not belong together, and for an app that is open.
        """
        if self._parts is not None:
            raise ConfigurationError("The app is open already.")
        settings = self.settings
        embedder = self._given_embedder or await create_embedder(settings.embedding, environ=self._environ)
        database = Database(settings.database)
        engine = SearchEngine(settings.index, self.metrics)
        provider = SqlMemoryProvider(
            database=database,
            engine=engine,
            embedder=embedder,
            # Looking a vector up in the store costs more than the shipped table does.
            cache=CachedEmbedder(embedder, database, self.metrics, ask_store=not isinstance(embedder, StaticEmbedder)),
            settings=settings.memory,
            clock=self._clock,
        )
        try:
            await provider.initialize()
        except BaseException:  # boundary: whatever went wrong, nothing stays open
            await provider.shutdown()
            raise
        self._parts = Parts(database=database, engine=engine, embedder=embedder, provider=provider)
        self._hierarchy = Hierarchy(database, self._clock, tenant=settings.memory.tenant)
        self._memory = MemoryService(
            provider=RetryingProvider(provider, policy=settings.retry, clock=self._clock, metrics=self.metrics),
            hierarchy=self._hierarchy,
            settings=settings.memory,
            clock=self._clock,
            metrics=self.metrics,
            tenant=settings.memory.tenant,
        )
        self.metrics.observe_storage(lambda: dict(database.read_now(lambda link: entry_counts(link, kind="memory"))))
        self._start_sweeping()
        return self

    def _start_sweeping(self) -> None:
        interval = self.settings.memory.sweep_interval_s
        if interval > 0:
            self._sweeper = Periodic(self.sweep, name="expiry", interval_s=interval, clock=self._clock)
            # A task of its own, because start and close may be called from different tasks.
            self._sweeping = asyncio.create_task(_host(self._sweeper), name="lamina expiry")

    async def close(self) -> None:
        """Finish accepted writes and close; idempotent."""
        if self._sweeper is not None and self._sweeping is not None:
            await self._sweeper.stop(_STOP_S)
            await self._sweeping
            self._sweeper = self._sweeping = None
        if self._parts is not None:
            await self._parts.provider.shutdown()
            self._parts = self._memory = self._hierarchy = None
            if self._owns_metrics:
                self.metrics.shutdown()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def memory(self) -> MemoryService:
        """Layered memory: add, search, get, update, delete, list, history."""
        if self._memory is None:
            raise _not_open()
        return self._memory

    @property
    def hierarchy(self) -> Hierarchy:
        """Which project belongs to which team, org and company."""
        if self._hierarchy is None:
            raise _not_open()
        return self._hierarchy

    @property
    def parts(self) -> Parts:
        """The pieces underneath, for doors and tools."""
        if self._parts is None:
            raise _not_open()
        return self._parts

    async def sweep(self) -> int:
        """Remove what expired, now; how many memories went."""
        return await self.parts.provider.sweep(self._clock.now())


async def _host(worker: Periodic) -> None:
    async with anyio.create_task_group() as group:
        worker.start(group)


def _not_open() -> ConfigurationError:
    return ConfigurationError("The app is not open: use `async with lamina.open(...) as app`, or `await app.start()`.")


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> App:
    """An app on a store: a file path, `:memory:`, a postgresql:// address, or a `.toml` file with settings.

    Without a target the configuration decides (`lamina.toml`, the environment), and without one `lamina.db` in the
    current folder is used. `overrides` are settings by section, such as `memory={"threshold": 0.6}`. Nothing
    happens until the app is started.
    """
    if settings is None:
        settings = resolve_settings(target, **overrides).settings
    return App(settings, embedder=embedder, clock=clock, metrics=metrics)


def resolve_settings(target: str | Path | None = None, **overrides: object) -> LoadedSettings:
    """The effective settings for a target and where each came from; arguments win over environment and file."""
    text = None if target is None else str(target)
    if text is not None and text.endswith(".toml"):
        return load_settings(Path(text), overrides=overrides)
    if text is not None:
        section = overrides.get("database")
        given = dict(section) if isinstance(section, Mapping) else {}
        overrides["database"] = {**given, "url": text}
    return load_settings(overrides=overrides)
