"""Reads saved texts into the graph, behind the saves.

A job is only the name of a text. When its turn comes, the text is read from its room, its relations are extracted
outside of any transaction, and they are stored only if the room still has exactly that text: what was deleted or
changed meanwhile leaves nothing behind. Texts that were missed are those whose room's text differs from what the
graph last read, and a back-fill finds them.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import sqlalchemy as sa
from anyio.abc import TaskGroup

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.texts import StoredText, StoredTexts
from lamina.graph.extract import TripleExtractor
from lamina.graph.tables import graph_source
from lamina.graph.types import Extraction, Source
from lamina.graph.writing import Reading, replace_source
from lamina.kernel.buffer import BackfillReport, Buffer, BufferSettings
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy
from lamina.kernel.saved import SavedText
from lamina.kernel.text import content_hash
from lamina.observability.metrics import Metrics

_PAGE = 256
_State = tuple[bytes | None, str | None, str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    tenant: str
    kind: str
    key: str
    session_key: str | None = None


class GraphBuffer:
    """A `SavedListener` that takes texts into the graph, in the background and in batches."""

    def __init__(
        self,
        *,
        database: Database,
        texts: Sequence[StoredTexts],
        extractor: TripleExtractor,
        clock: Clock,
        metrics: Metrics,
        settings: BufferSettings,
        retry: RetryPolicy,
        respected: Collection[str] = (),
    ) -> None:
        """`texts` are the rooms whose texts the graph is made from.

        What an extractor of a `respected` name has read is not read again by this one.
        """
        self._database = database
        self._texts: Mapping[str, StoredTexts] = {source.kind: source for source in texts}
        self._extractor = extractor
        self._respected = respected
        self._clock = clock
        self._buffer: Buffer[_Job] = Buffer(
            self._take,
            self._missing,
            name="graph",
            clock=clock,
            settings=settings,
            retry=retry,
            label=lambda job: f"{job.kind} {job.key} of {job.tenant}",
            key=lambda job: (job.tenant, job.kind, job.key),
            on_drop=lambda: metrics.background_dropped("graph"),
        )

    def __call__(self, saved: SavedText) -> None:
        """Hear of a saved text."""
        self.submit(saved)

    def submit(self, saved: SavedText) -> bool:
        """Queue a saved text and return at once; False when it was dropped, or is of a kind nobody registered."""
        if saved.kind not in self._texts:
            return False
        job = _Job(tenant=saved.tenant, kind=saved.kind, key=saved.key, session_key=saved.session_key)
        return self._buffer.submit(job)

    @property
    def dropped_count(self) -> int:
        """Texts refused because the queue was full or the buffer was stopping."""
        return self._buffer.dropped_count

    @property
    def failed_count(self) -> int:
        """Texts that could not be read or stored."""
        return self._buffer.failed_count

    @property
    def pending_count(self) -> int:
        """Texts that still wait."""
        return self._buffer.pending_count

    async def drain(self) -> None:
        """Wait until every accepted text has been read or has failed."""
        await self._buffer.drain()

    async def backfill(self) -> BackfillReport:
        """Read every text that the graph has not read as it is now."""
        return await self._buffer.backfill()

    def owe(self) -> None:
        """Say that texts were stored which nobody announced: the next round looks for them."""
        self._buffer.owe()

    def start(self, task_group: TaskGroup) -> None:
        """Begin to work in the given group; call `stop` before the group ends."""
        self._buffer.start(task_group)

    async def stop(self, deadline_s: float) -> int:
        """Read what waits for `deadline_s` seconds of real time; the number of texts left."""
        return await self._buffer.stop(deadline_s)

    async def _take(self, batch: Sequence[_Job]) -> None:
        for (tenant, kind), jobs in groupby(sorted(batch, key=_room), key=_room):
            await self._take_room(tenant, self._texts[kind], {job.key: job for job in jobs})

    async def _take_room(self, tenant: str, source: StoredTexts, jobs: Mapping[str, _Job]) -> None:
        stored = await self._database.read(lambda link: source.read(link, tenant, list(jobs)))
        if not stored:
            return
        extracted = await self._extractor.extract([one.text for one in stored])
        pairs = {one.key: (one, found) for one, found in zip(stored, extracted, strict=True)}

        def store(link: Link) -> bool:
            held = {one.key: one for one in source.read(link, tenant, list(pairs), hold=True)}
            for key, (one, found) in sorted(pairs.items()):
                if held.get(key) == one:
                    replace_source(link, tenant, self._reading(one, found, jobs[key]), self._clock.now())
            # What somebody else is changing at this moment is passed over, not gone.
            passed = [key for key in pairs if key not in held]
            return bool(passed) and bool(source.read(link, tenant, passed))

        if await self._database.write(store) or any(found.read_by for _, found in pairs.values()):
            self._buffer.owe()

    def _reading(self, stored: StoredText, found: Extraction, job: _Job) -> Reading:
        return Reading(
            source=Source(kind=job.kind, key=stored.key, session_key=job.session_key, scope=stored.scope),
            extraction=found,
            content_hash=content_hash(stored.text),
            extractor=found.read_by or self._extractor.name,
            expires_at=stored.expires_at,
        )

    async def _missing(self) -> AsyncIterator[_Job]:
        for source in self._texts.values():
            after = -1
            while page := await self._page(source, after):
                after = page[0]
                for job in page[1]:
                    yield job

    async def _page(self, source: StoredTexts, after: int) -> tuple[int, list[_Job]] | None:
        """The next texts, as their last row and those of them that were not read as they are; None at the end."""

        def look(link: Link) -> tuple[int, list[_Job]] | None:
            stored = source.after(link, after, limit=_PAGE)
            if not stored:
                return None
            known = _states(link, source.kind, stored)
            jobs = [
                _Job(tenant=one.tenant, kind=source.kind, key=one.key)
                for one in stored
                if not self._was_read(one, known.get((one.tenant, one.key)))
            ]
            return stored[-1].row, jobs

        return await self._database.read(look)

    def _was_read(self, stored: StoredText, known: _State | None) -> bool:
        names = (self._extractor.name, *self._respected)
        now = (content_hash(stored.text), stored.scope, stored.expires_at)
        return known is not None and known[1] in names and (known[0], *known[2:]) == now


def _states(link: Link, kind: str, stored: Sequence[StoredText]) -> dict[tuple[str, str], _State]:
    """What the graph last read of these texts."""
    columns = graph_source.c
    tenants = sorted({one.tenant for one in stored})
    rows = link.execute(
        sa.select(
            columns.tenant,
            columns.key,
            columns.content_hash,
            columns.extractor,
            columns.scope,
            columns.expires_at,
        ).where(columns.tenant.in_(tenants), columns.kind == kind, columns.key.in_([one.key for one in stored]))
    )
    return {(row[0], row[1]): (row[2] and bytes(row[2]), row[3], row[4], row[5]) for row in rows}


def _room(job: _Job) -> tuple[str, str]:
    return job.tenant, job.kind
