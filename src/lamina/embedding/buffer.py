"""Vectors that follow the texts they belong to: saves return at once, and the embedder is asked in batches.

An entry is found by its words from the moment it is saved; its vector is added when its batch is done. What the queue
drops, or a failing embedder leaves undone, is an entry without a vector, and a back-fill finds those.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from anyio.abc import TaskGroup

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.job import EmbeddingJob
from lamina.embedding.reembed import PendingText, TextSource
from lamina.errors import ConfigurationError
from lamina.index.late import LateOwner, add_vectors
from lamina.index.store import pack_vector
from lamina.kernel.buffer import BackfillReport, Buffer, BufferSettings
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy
from lamina.kernel.text import content_hash
from lamina.observability.metrics import Metrics

_PAGE = 256


class LateTexts(TextSource, LateOwner, Protocol):
    """A room's texts, with and without vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """An entry that waits for its vector."""

    kind: str
    tenant: str
    entry: int
    text: str


class EmbeddingBuffer:
    """An `EmbeddingSink`: gives late entries their vectors, in the background and in batches."""

    def __init__(
        self,
        *,
        database: Database,
        cache: CachedEmbedder,
        model_id: int,
        texts: Mapping[str, LateTexts],
        clock: Clock,
        metrics: Metrics,
        settings: BufferSettings,
        retry: RetryPolicy,
    ) -> None:
        """`texts` are the rooms whose vectors come late, by the kind of their scopes."""
        self._database = database
        self._cache = cache
        self._model_id = model_id
        self._texts = texts
        self._buffer: Buffer[_Waiting] = Buffer(
            self._embed,
            self._missing,
            name="embedding",
            clock=clock,
            settings=settings,
            retry=retry,
            label=lambda item: f"{item.kind} {item.entry} of {item.tenant}",
            key=lambda item: (item.kind, item.tenant, item.entry),
            on_drop=lambda: metrics.background_dropped("embedding"),
        )

    @property
    def dropped_count(self) -> int:
        """Jobs refused because the queue was full or the buffer was stopping."""
        return self._buffer.dropped_count

    @property
    def failed_count(self) -> int:
        """Jobs whose vectors could not be made or stored."""
        return self._buffer.failed_count

    @property
    def pending_count(self) -> int:
        """Jobs that still wait."""
        return self._buffer.pending_count

    def submit(self, job: EmbeddingJob) -> bool:
        """Queue a job and return at once; False when it was dropped.

        Raises ConfigurationError for a kind of scope that was not registered: nothing could ever make it good.
        """
        kind = job.scope_key.kind
        if kind not in self._texts:
            raise ConfigurationError(f"No texts of kind {kind!r} are known to the embedding buffer.")
        return self._buffer.submit(_Waiting(kind=kind, tenant=job.scope_key.tenant, entry=job.entry, text=job.text))

    async def drain(self) -> None:
        """Wait until every accepted job has been done or has failed."""
        await self._buffer.drain()

    async def backfill(self) -> BackfillReport:
        """Give a vector to every entry that has none."""
        return await self._buffer.backfill()

    def start(self, task_group: TaskGroup) -> None:
        """Begin to work in the given group; call `stop` before the group ends."""
        self._buffer.start(task_group)

    async def stop(self, deadline_s: float) -> int:
        """Embed what waits for `deadline_s` seconds of real time; the number of jobs left undone."""
        return await self._buffer.stop(deadline_s)

    async def _embed(self, batch: Sequence[_Waiting]) -> None:
        ordered = sorted(batch, key=_room)
        for (kind, tenant), members in groupby(ordered, key=_room):
            await self._embed_room(self._texts[kind], tenant, list(members))

    async def _embed_room(self, owner: LateTexts, tenant: str, items: list[_Waiting]) -> None:
        found = await self._cache.embed(
            [item.text for item in items], purpose="document", tenant=tenant, model_id=self._model_id
        )
        vectors = {
            item.entry: (content_hash(item.text), pack_vector(one.vector))
            for item, one in zip(items, found, strict=True)
        }

        def store(link: Link) -> int:
            return add_vectors(link, owner, tenant=tenant, model_id=self._model_id, vectors=vectors)

        await self._database.write(store)

    async def _missing(self) -> AsyncIterator[_Waiting]:
        for kind, source in self._texts.items():
            after = -1
            while page := await self._page(source, after):
                after = page[-1].entry
                for item in page:
                    yield _Waiting(kind=kind, tenant=item.tenant, entry=item.entry, text=item.text)

    async def _page(self, source: LateTexts, after: int) -> list[PendingText]:
        return await self._database.read(lambda link: source.pending(link, self._model_id, after=after, limit=_PAGE))


def _room(item: _Waiting) -> tuple[str, str]:
    return item.kind, item.tenant
