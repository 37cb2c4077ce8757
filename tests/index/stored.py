"""Scopes in a real store, written and searched without any room above the index."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import numpy as np
from numpy.typing import NDArray

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.index.engine import SearchEngine
from lamina.index.models import StoredModel, active_model, add_model
from lamina.index.query import prepare_query
from lamina.index.ranking import Ranked, RankingModel
from lamina.index.settings import IndexSettings
from lamina.index.store import Indexable, ScopeKey, bury, drop_tombstones, forget, indexable, put, reschedule, touch
from lamina.observability.metrics import Metrics

DIMENSIONS = 64
WORDS = ("harbour", "kitchen", "garden", "library", "station", "market", "river", "tower", "bridge", "school", "forest")


def key(name: str, tenant: str = "t") -> ScopeKey:
    return ScopeKey(tenant=tenant, kind="test", key=name, label="test")


def vector(seed: int) -> NDArray[np.float32]:
    """Whole quarters: exact in half precision and in every order of summation."""
    return np.random.default_rng(seed).integers(-2, 3, DIMENSIONS).astype(np.float32) / np.float32(4)


def talk(number: int) -> Indexable:
    """An entry that has everything ranking looks at."""
    random = Random(number)
    return indexable(
        " ".join(random.choice(WORDS) for _ in range(random.randint(1, 30))) + f" number{number}",
        None if number % 17 == 0 else vector(number),
        conversation=f"c{number % 5}" if number % 3 else None,
        sequence=number,
        author=random.choice(["Ann", "Bob", "Cem"]),
        said_at=datetime(2024, 1 + number % 12, 1, tzinfo=UTC),
        expires_at=datetime(2025, 1, 1, tzinfo=UTC) if number % 11 == 0 else None,
    )


@dataclass
class Stored:
    """A store with an index of its own, as one process has it."""

    database: Database
    engine: SearchEngine
    metrics: Metrics
    model: StoredModel
    indexed: dict[int, int] = field(default_factory=dict)

    async def add(self, name: str, rows: Sequence[tuple[int, Indexable]], tenant: str = "t") -> int:
        """Write new entries in one transaction; the scope's version."""

        def write(link: Link) -> int:
            place = touch(link, key(name, tenant), added=len(rows))
            put(link, place, tenant=tenant, model=self.model.name, model_id=self.model.id, rows=rows)
            return place.version

        version = await self.database.write(write)
        self.indexed.update({entry: version for entry, _ in rows})
        return version

    async def change(self, name: str, entry: int, row: Indexable) -> None:
        def write(link: Link) -> int:
            place = touch(link, key(name), added=0)
            bury(link, tenant="t", scope_id=place.scope_id, rows=[(entry, self.indexed[entry])])
            put(link, place, tenant="t", model=self.model.name, model_id=self.model.id, rows=[(entry, row)])
            return place.version

        self.indexed[entry] = await self.database.write(write)

    async def remove(self, name: str, entries: Sequence[int]) -> None:
        def write(link: Link) -> None:
            place = touch(link, key(name), added=-len(entries))
            rows = [(entry, self.indexed[entry]) for entry in entries]
            forget(link, tenant="t", scope_id=place.scope_id, version=place.version, rows=rows)

        await self.database.write(write)

    async def expire(self, name: str, entry: int, moment: float | None) -> None:
        def write(link: Link) -> int:
            place = touch(link, key(name), added=0)
            where = {"scope_id": place.scope_id, "indexed": self.indexed[entry], "version": place.version}
            reschedule(link, tenant="t", entry=entry, expires_at=moment, **where)
            return place.version

        self.indexed[entry] = await self.database.write(write)

    async def drop_tombstones(self) -> int:
        return await self.database.write(lambda link: drop_tombstones(link, tenant="t"))

    async def search(
        self,
        name: str,
        text: str,
        seed: int | None = None,
        *,
        tenant: str = "t",
        limit: int = 10_000,
        threshold: float = 0.0,
        now: float = 0.0,
        allowed: Sequence[int] | None = None,
    ) -> Ranked | None:
        query = prepare_query(text, None if seed is None else vector(seed))
        within: Callable[[Link, int], NDArray[np.int64]] | None = None
        if allowed is not None:
            chosen = np.array(allowed, np.int64)
            within = lambda link, scope_id: chosen  # noqa: E731
        return await self.database.read(
            lambda link: self.engine.rank(
                link, key(name, tenant), query, limit=limit, threshold=threshold, now=now, allowed=within
            )
        )

    async def found(self, name: str, text: str, *, tenant: str = "t", now: float = 0.0) -> set[int]:
        """Every entry there is to find."""
        ranked = await self.search(name, text, tenant=tenant, now=now)
        return set() if ranked is None else set(ranked.entries.tolist())


@asynccontextmanager
async def stored(url: str, *, memory_limit_mb: int = 1024) -> AsyncIterator[Stored]:
    """An open store; several on one address are as several processes."""
    database = Database(DatabaseSettings(url=url))
    await database.open()

    def choose(link: Link) -> StoredModel:
        return active_model(link) or add_model(link, name="m", dimensions=DIMENSIONS, state="active", now=0)

    metrics = Metrics.collecting()
    engine = SearchEngine(IndexSettings(memory_limit_mb=memory_limit_mb), metrics)
    model = await database.write(choose)
    engine.use(model, RankingModel())
    try:
        yield Stored(database, engine, metrics, model)
    finally:
        await database.close()
        metrics.shutdown()
