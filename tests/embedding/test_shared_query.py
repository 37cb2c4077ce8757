"""A question is embedded once, however many ask."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from lamina.embedding.shared_query import SharedQueryEmbedder
from lamina.embedding.types import Purpose
from lamina.errors import EmbeddingFailedError

pytestmark = pytest.mark.anyio


class SlowEmbedder:
    """Answers when it is told to."""

    name = "slow:1"
    dimensions = 2

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        self.asked.append(tuple(texts))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return np.ones((len(texts), 2), np.float32)

    async def aclose(self) -> None:
        self.asked.append(("closed",))


async def test_those_who_ask_at_the_same_time_share_one_call() -> None:
    inner = SlowEmbedder()
    shared = SharedQueryEmbedder(inner)
    asking = [asyncio.ensure_future(shared.embed(["q"], purpose="query")) for _ in range(5)]
    await asyncio.sleep(0)
    inner.go.set()
    assert [(await one).tolist() for one in asking] == [[[1.0, 1.0]]] * 5
    await shared.embed(["q"], purpose="query")
    assert inner.asked == [("q",)]


async def test_one_that_gives_up_does_not_take_the_vector_from_the_others() -> None:
    inner = SlowEmbedder()
    shared = SharedQueryEmbedder(inner)
    hasty, patient = (asyncio.ensure_future(shared.embed(["q"], purpose="query")) for _ in range(2))
    await asyncio.sleep(0)
    hasty.cancel()
    await asyncio.sleep(0)
    inner.go.set()
    assert (await patient).shape == (1, 2)
    assert hasty.cancelled()


async def test_a_failure_reaches_everybody_and_is_not_remembered() -> None:
    inner = SlowEmbedder()
    inner.error = EmbeddingFailedError()
    inner.go.set()
    shared = SharedQueryEmbedder(inner)
    answers = await asyncio.gather(*(shared.embed(["q"], purpose="query") for _ in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [EmbeddingFailedError] * 3
    inner.error = None
    assert (await shared.embed(["q"], purpose="query")).shape == (1, 2)
    assert inner.asked == [("q",), ("q",)]


async def test_texts_to_be_stored_pass_through() -> None:
    inner = SlowEmbedder()
    inner.go.set()
    shared = SharedQueryEmbedder(inner)
    for _ in range(2):
        await shared.embed(["a"], purpose="document")
    await shared.embed(["a", "b"], purpose="query")
    await shared.aclose()
    assert inner.asked == [("a",), ("a",), ("a", "b"), ("closed",)]
    assert (shared.name, shared.dimensions) == ("slow:1", 2)


async def test_only_recent_questions_are_remembered() -> None:
    inner = SlowEmbedder()
    inner.go.set()
    shared = SharedQueryEmbedder(inner, recent=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await shared.embed([text], purpose="query")
    assert inner.asked == [("a",), ("b",), ("c",), ("b",)]
