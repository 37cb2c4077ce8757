"""Stores to measure on: filled once through the public verbs, kept open, shared by the benchmarks of one engine."""

import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Language, Turn, questions
from benchmarks.floors import Fts5Floor, InsertFloor
from benchmarks.timing import Call
from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.index.settings import IndexSettings
from lamina.memory.types import NewMemory

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of everything."""

    small: int = 10_000
    large: int = 100_000
    crowd: int = 1_000_000
    """Entries in all around a scope of `small`."""
    crowd_users: int = 990
    corner: int = 1_000
    """A small scope in a large store."""
    searches: int = 200
    adds: int = 300
    bulk: int = 20_000
    rounds: int = 6
    opens: int = 5
    bounded_mb: int = 16
    talk: int = 50_000
    """Messages of one conversation."""
    talks: int = 2_000
    talk_each: int = 50

    @classmethod
    def quick(cls) -> Self:
        return cls(
            crowd=100_000, crowd_users=90, searches=60, adds=120, bulk=8_000, rounds=3, opens=3, talk=5_000, talks=200
        )

    @classmethod
    def tiny(cls) -> Self:
        """Only to see that everything runs."""
        return cls(
            small=200,
            large=400,
            crowd=600,
            crowd_users=4,
            corner=50,
            searches=4,
            adds=4,
            bulk=1_000,
            rounds=1,
            opens=1,
            bounded_mb=1,
            talk=120,
            talks=4,
            talk_each=40,
        )


class Engine(Protocol):
    """A place for stores, and the floors that exist there."""

    @property
    def name(self) -> str: ...

    @property
    def word_floor(self) -> str:
        """The name of the floor that searches by words."""

    def new_store(self, name: str) -> str:
        """The address of an empty store."""

    def search_floors(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        asked: Sequence[str],
        asked_vectors: NDArray[np.float32],
    ) -> dict[str, Call]:
        """Bare searches over the same entries."""

    def insert_floor(self, texts: Sequence[str]) -> Call:
        """A bare durable insert."""

    def store_bytes(self, url: str) -> int:
        """What a store takes."""

    def settle(self) -> None:
        """Let the engine finish what a large load left behind, so that it does not disturb a measurement."""

    def close(self) -> None: ...


class SqliteEngine:
    """Files in a folder."""

    name = "sqlite"
    word_floor = "FTS5"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: list[Fts5Floor | InsertFloor] = []

    def new_store(self, name: str) -> str:
        return str(self._folder / f"{name}.db")

    def search_floors(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        asked: Sequence[str],
        asked_vectors: NDArray[np.float32],
    ) -> dict[str, Call]:
        floor = Fts5Floor(self._folder / f"floor-{len(self._open)}.db", texts, asked)
        self._open.append(floor)
        return {"FTS5": floor.search}

    def insert_floor(self, texts: Sequence[str]) -> Call:
        floor = InsertFloor(self._folder / f"floor-{len(self._open)}.db", texts)
        self._open.append(floor)
        return floor.add

    def store_bytes(self, url: str) -> int:
        with closing(sqlite3.connect(url)) as connection:
            (pages,), (size,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
            )
        return int(pages * size)

    def settle(self) -> None:
        """Nothing runs behind a file."""

    def close(self) -> None:
        for floor in self._open:
            floor.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """An open store with one person's turns in it, and perhaps others'."""

    app: App
    url: str
    user_id: str
    turns: list[Turn]

    def ask(self, count: int, *, seed: int) -> list[str]:
        """Questions about these turns; another seed gives others, so that no cache knows them."""
        return questions(self.turns, count, seed=seed)


class World:
    """The stores of one engine."""

    def __init__(self, engine: Engine, sizes: Sizes, stack: AsyncExitStack) -> None:
        self.engine = engine
        self.sizes = sizes
        self.language = Language()
        self._stack = stack
        self._alone: dict[int, Filled] = {}

    async def open(self, name: str, *, memory_limit_mb: int | None = None) -> tuple[App, str]:
        """A new, empty store with default settings, open until the world ends."""
        url = self.engine.new_store(name)
        index = IndexSettings() if memory_limit_mb is None else IndexSettings(memory_limit_mb=memory_limit_mb)
        app = App(Settings(database=DatabaseSettings(url=url), index=index))
        return await self._stack.enter_async_context(app), url

    async def alone(self, size: int) -> Filled:
        """A store with one scope of `size` entries, and a corner: a scope of its own for who opens the store anew."""
        if size not in self._alone:
            app, url = await self.open(f"alone-{size}")
            turns = self.language.turns(size, seed=size)
            await fill(app, [turn.memory("owner") for turn in turns])
            if size > self.sizes.corner:
                corner = self.language.turns(self.sizes.corner, seed=1)
                await fill(app, [turn.memory("corner") for turn in corner])
            self.engine.settle()
            self._alone[size] = Filled(app=app, url=url, user_id="owner", turns=turns)
        return self._alone[size]

    async def crowded(self) -> Filled:
        """The scope of `alone(small)` once more, its entries strewn among everybody else's."""
        sizes = self.sizes
        app, url = await self.open("crowded")
        turns = (await self.alone(sizes.small)).turns
        others = self.language.notes(sizes.crowd - sizes.small, seed=2)
        step = max(len(others) // max(len(turns) // 50, 1), 1)
        for number, start in enumerate(range(0, len(others), step)):
            users = range(start, min(start + step, len(others)))
            strangers = (Turn(content=others[at], source=None).memory(f"user-{_owner(at, sizes)}") for at in users)
            mine = (turn.memory("owner") for turn in turns[number * 50 : (number + 1) * 50])
            await app.memory.bulk_add([*strangers, *mine])
        self.engine.settle()
        return Filled(app=app, url=url, user_id="owner", turns=turns)


def _owner(at: int, sizes: Sizes) -> int:
    """Whose memory it is: runs of neighbours belong to one person, and everybody has several runs."""
    return at // 250 % sizes.crowd_users


async def fill(app: App, memories: Sequence[NewMemory]) -> None:
    """Add in batches."""
    for start in range(0, len(memories), BATCH):
        await app.memory.bulk_add(memories[start : start + BATCH])
