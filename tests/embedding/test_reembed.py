"""Changing the model of a store: atomic, resumable, and truthful about what it did."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

import lamina
from lamina.app import App
from lamina.database.link import Link
from lamina.embedding.reembed import Reembedding
from lamina.embedding.types import Purpose
from lamina.errors import ConfigurationError, EmbeddingFailedError
from lamina.index.tables import index_vector
from lamina.kernel.clock import SystemClock
from lamina.memory.texts import MemoryTexts
from lamina.memory.types import Identifiers, NewMemory

pytestmark = pytest.mark.anyio

TEXTS = [f"Note {number}: the {word} is in room {number}" for number, word in enumerate(["lamp", "desk", "boat"] * 200)]


class HashedWords:
    """A small real embedder: every word is a direction."""

    def __init__(self, name: str, dimensions: int, *, fail_after: int | None = None) -> None:
        self.name = name
        self.dimensions = dimensions
        self.texts = 0
        self._fail_after = fail_after

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if self._fail_after is not None and self.texts > self._fail_after:
            raise KeyboardInterrupt
        self.texts += len(texts)
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                rows_at = sum(map(ord, word)) % self.dimensions
                row[rows_at] += 1.0
        unit: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return unit

    async def aclose(self) -> None:
        """Nothing to release."""


async def _fill(app: App) -> None:
    owner = Identifiers(user_id="ann")
    await app.memory.bulk_add([NewMemory(content=text, identifiers=owner) for text in TEXTS])


def _change(app: App, embedder: HashedWords, seen: list[tuple[int, int]] | None = None) -> Reembedding:
    return Reembedding(
        database=app.parts.database,
        embedder=embedder,
        sources=[MemoryTexts()],
        clock=SystemClock(),
        progress=lambda done, total: None if seen is None else seen.append((done, total)),
    )


def _models(link: Link) -> dict[int, int]:
    counted = sa.select(index_vector.c.model_id, sa.func.count()).group_by(index_vector.c.model_id)
    return {row[0]: row[1] for row in link.execute(counted)}


async def test_every_entry_gets_a_vector_of_the_new_model_and_the_old_ones_go(store_url: str) -> None:
    progress: list[tuple[int, int]] = []
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        report = await _change(app, HashedWords("new", 48), progress).run()
        assert (report.embedded, report.resumed, report.previous, report.model) == (600, 0, "old", "new")
        assert progress[0] == (0, 600)
        assert progress[-1] == (600, 600)
        assert list((await app.parts.database.read(_models)).values()) == [600]
    async with lamina.open(store_url, embedder=HashedWords("new", 48)) as app:
        hits = await app.memory.search("the boat is in room 5", user_id="ann")
        assert hits[0].content == TEXTS[5]


async def test_an_interrupted_change_leaves_the_old_model_searchable_and_is_resumed(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        with pytest.raises(KeyboardInterrupt):
            await _change(app, HashedWords("new", 48, fail_after=400)).run()
        assert (await app.memory.search("the boat is in room 5", user_id="ann"))[0].content == TEXTS[5]
        with pytest.raises(ConfigurationError):
            await lamina.open(store_url, embedder=HashedWords("new", 48)).start()
        second = HashedWords("new", 48)
        report = await _change(app, second).run()
        assert report.resumed > 0
        assert report.embedded + report.resumed == len(TEXTS)


async def test_what_is_added_and_changed_during_the_change_is_caught_up_with(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        first = (await app.memory.list(user_id="ann", limit=1)).memories[0]

        class Busy(HashedWords):
            async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
                if len(texts) == 256:
                    await app.memory.add(f"Late arrival {self.texts}", user_id="ann")
                    await app.memory.update(first.id, content=f"Changed at {self.texts}", user_id="ann")
                return await super().embed(texts, purpose=purpose)

        await _change(app, Busy("new", 48)).run()
        total = (await app.memory.list(user_id="ann")).total_count
        assert list((await app.parts.database.read(_models)).values()) == [total]
        with pytest.raises(ConfigurationError):
            await app.memory.search("boat", user_id="ann")
        with pytest.raises(ConfigurationError):
            await app.memory.add("with the old model", user_id="ann")


async def test_changing_to_the_same_model_does_nothing(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        embedder = HashedWords("old", 32)
        report = await _change(app, embedder).run()
        assert (report.embedded, embedder.texts) == (0, 0)


async def test_another_target_drops_what_an_unfinished_change_had_done(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        with pytest.raises(KeyboardInterrupt):
            await _change(app, HashedWords("new", 48, fail_after=400)).run()
        report = await _change(app, HashedWords("other", 64)).run()
        assert (report.model, report.resumed, report.embedded) == ("other", 0, 600)
        assert list((await app.parts.database.read(_models)).values()) == [600]


class Overtaken(HashedWords):
    """While it works for one change, another one runs from start to end."""

    def __init__(self, name: str, dimensions: int, other: Reembedding) -> None:
        super().__init__(name, dimensions)
        self._other: Reembedding | None = other

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if len(texts) == 256 and self._other is not None:
            other, self._other = self._other, None
            await other.run()
        return await super().embed(texts, purpose=purpose)


async def test_a_change_that_another_one_overtook_fails_and_the_store_keeps_its_model(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        second = _change(app, HashedWords("second", 64))
        with pytest.raises(ConfigurationError, match="one change at a time"):
            await _change(app, Overtaken("first", 48, second)).run()
    async with lamina.open(store_url, embedder=HashedWords("second", 64)) as app:
        assert (await app.memory.search("the boat is in room 5", user_id="ann"))[0].content == TEXTS[5]
        assert list((await app.parts.database.read(_models)).values()) == [600]


async def test_two_changes_to_the_same_model_both_succeed(store_url: str) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        same = _change(app, HashedWords("new", 48))
        report = await _change(app, Overtaken("new", 48, same)).run()
        assert report.model == "new"
        assert list((await app.parts.database.read(_models)).values()) == [600]


class Nonsense(HashedWords):
    """Answers the shipped texts well, and the notes of the store with something else."""

    def __init__(self, spoil: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> None:
        super().__init__("nonsense", 32)
        self._spoil = spoil

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        rows = await super().embed(texts, purpose=purpose)
        return self._spoil(rows) if texts[0].startswith("Note") else rows


@pytest.mark.parametrize(
    "spoil",
    [lambda rows: rows[:-1], lambda rows: rows[:, :8], lambda rows: rows * np.float32("nan")],
    ids=["too few", "too short", "not a number"],
)
async def test_a_model_that_answers_nonsense_never_becomes_the_stores(
    store_url: str, spoil: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> None:
    async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
        await _fill(app)
        with pytest.raises(EmbeddingFailedError):
            await _change(app, Nonsense(spoil)).run()
        assert await app.memory.search("Which room is note 3 in?", user_id="ann", threshold=0.1)


async def test_vectors_of_any_length_are_compared_by_their_direction(store_url: str) -> None:
    class Long(HashedWords):
        async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
            return 50 * await super().embed(texts, purpose=purpose)

    scores: list[list[float]] = []
    for embedder in (HashedWords("unit", 32), Long("long", 32)):
        async with lamina.open(store_url, embedder=HashedWords("old", 32)) as app:
            if not scores:
                await _fill(app)
            await _change(app, embedder).run()
        async with lamina.open(store_url, embedder=embedder) as app:
            hits = await app.memory.search("Which desk is in room 7?", user_id="ann", threshold=0)
            scores.append([hit.score for hit in hits])
            await _change(app, HashedWords("old", 32)).run()
    assert scores[0] == pytest.approx(scores[1], abs=0.01)
