"""Embeds a question once, however many rooms ask for its vector at the same time or right after one another."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.embedding.types import Embedder, Purpose


class SharedQueryEmbedder:
    """An embedder that remembers recent questions; texts to be stored pass through."""

    def __init__(self, inner: Embedder, *, recent: int = 256, at_once: bool = False) -> None:
        """Remember `recent` questions. `at_once`: the embedder answers without waiting, so nobody can ask meanwhile."""
        self._inner = inner
        self._at_once = at_once
        self._room = recent
        self._recent: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[NDArray[np.float32]]] = {}

    @property
    def name(self) -> str:
        """The identity of the embedder behind."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """What the embedder behind gives. Raises what it raises; a failure is not remembered."""
        if purpose != "query" or len(texts) != 1:
            return await self._inner.embed(texts, purpose=purpose)
        text = texts[0]
        known = self._recent.get(text)
        if known is not None:
            self._recent.move_to_end(text)
            return known
        if self._at_once:
            vector = await self._inner.embed(texts, purpose=purpose)
            self._keep(text, vector)
            return vector
        return await self._ask(text)

    async def _ask(self, text: str) -> NDArray[np.float32]:
        task = self._asked.get(text)
        if task is None:
            task = self._asked[text] = asyncio.ensure_future(self._inner.embed([text], purpose="query"))
            task.add_done_callback(lambda done: self._remember(text, done))
        # Shielded: one caller that gives up must not take the vector from the others.
        return await asyncio.shield(task)

    def _remember(self, text: str, done: "asyncio.Task[NDArray[np.float32]]") -> None:
        self._asked.pop(text, None)
        if done.cancelled() or done.exception() is not None:
            return
        self._keep(text, done.result())

    def _keep(self, text: str, vector: NDArray[np.float32]) -> None:
        self._recent[text] = vector
        while len(self._recent) > self._room:
            self._recent.popitem(last=False)

    async def aclose(self) -> None:
        """Close the embedder behind."""
        await self._inner.aclose()
