"""Spares the embedder what it has embedded before.

Two caches, asked in turn: recent texts in memory, and, for an embedder whose call costs more than a query, the
vectors the store already holds (`lamina.index.store.stored_vectors`). Keys are the model, which implies its
dimensions, and the full hash of the text; stored vectors are found only within one tenant.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.embedding.types import Embedder, Purpose
from lamina.embedding.vectors import answered
from lamina.index.store import stored_vectors, unpack_vector
from lamina.kernel.text import content_hash
from lamina.observability.metrics import Metrics

Vector = NDArray[np.float32]
_Key = tuple[Purpose, str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedVector:
    """A vector, None for a text with nothing to embed, and whether the embedder was spared."""

    vector: Vector | None
    hit: bool


class CachedEmbedder:
    """An embedder behind both caches."""

    def __init__(
        self, embedder: Embedder, database: Database, metrics: Metrics, *, ask_store: bool, recent: int = 4096
    ) -> None:
        self._embedder = embedder
        self._database = database
        self._metrics = metrics
        self._recent: OrderedDict[_Key, Vector | None] = OrderedDict()
        self._room = recent
        self._ask_store = ask_store

    async def embed(
        self, texts: Sequence[str], *, purpose: Purpose, tenant: str, model_id: int
    ) -> tuple[CachedVector, ...]:
        """A vector a text, in order; equal texts are embedded once."""
        keys: list[_Key] = [(purpose, tenant, content_hash(text)) for text in texts]
        known = {key: self._recent[key] for key in keys if key in self._recent}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing and self._ask_store and purpose == "document":
            known.update(await self._stored(list(missing), tenant, model_id))
            missing = {key: text for key, text in missing.items() if key not in known}
        fresh = await self._compute(missing, purpose) if missing else {}
        self._remember({**known, **fresh})
        misses = sum(key in fresh for key in keys)
        self._metrics.embedding_cache(hits=len(keys) - misses, misses=misses)
        return tuple(
            CachedVector(vector=fresh[key], hit=False) if key in fresh else CachedVector(vector=known[key], hit=True)
            for key in keys
        )

    async def _stored(self, keys: Sequence[_Key], tenant: str, model_id: int) -> dict[_Key, Vector | None]:
        hashes = {key[2]: key for key in keys}

        def look(link: Link) -> dict[bytes, bytes | None]:
            return stored_vectors(link, tenant=tenant, model_id=model_id, hashes=list(hashes))

        found = await self._database.read(look)
        return {hashes[digest]: unpack_vector(blob) for digest, blob in found.items()}

    async def _compute(self, missing: dict[_Key, str], purpose: Purpose) -> dict[_Key, Vector | None]:
        embedder = self._embedder
        answer = await embedder.embed(list(missing.values()), purpose=purpose)
        self._metrics.embedded(len(missing))
        vectors = answered(embedder.name, answer, rows=len(missing), dimensions=embedder.dimensions)
        return {key: vector if vector.any() else None for key, vector in zip(missing, vectors, strict=True)}

    def _remember(self, vectors: dict[_Key, Vector | None]) -> None:
        recent = self._recent
        for key, vector in vectors.items():
            recent[key] = vector
            recent.move_to_end(key)
        while len(recent) > self._room:
            recent.popitem(last=False)
