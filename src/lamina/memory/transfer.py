"""A tenant's memories with their history, and its hierarchy, out of a store and into it as JSON Lines.

The first line is a header; then come the links of the hierarchy and the memories, oldest first. Exporting what was
imported gives the same bytes again, on either engine. Both directions stream in batches; an import that stopped is
resumed by running it again, because what is there already is skipped. Vectors do not travel: content is embedded
by the store it arrives in.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.errors import InvalidInputError
from lamina.kernel.clock import Clock
from lamina.memory.parsing import FORMAT, Header, HierarchyLink, ImportedMemory, parse_line
from lamina.memory.provider import AddRequest, EmbedRequest
from lamina.memory.reading import count_memories, memories_after
from lamina.memory.records import entry_record, revision_record
from lamina.memory.settings import MemorySettings
from lamina.memory.sql import SqlMemoryProvider, prepare_memories
from lamina.memory.transfer_rows import hierarchy_links, put_links, put_memories
from lamina.transfer.lines import dump_line, each_line
from lamina.transfer.port import OnConflict

Progress = Callable[[int, int | None], None]
"""Called with the memories done and the memories there are, where that is known."""

BATCH = 500


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What an import did. `expected` is what the header announced."""

    stored: int = 0
    replaced: int = 0
    skipped: int = 0
    expired: int = 0
    expected: int | None = None

    @property
    def done(self) -> int:
        """The memories dealt with."""
        return self.stored + self.replaced + self.skipped + self.expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Moves the memories of a tenant; `lamina.house.transfer` moves all it has."""

    database: Database
    provider: SqlMemoryProvider
    settings: MemorySettings
    clock: Clock
    tenant: str

    async def export_lines(self, progress: Progress = lambda done, total: None) -> AsyncIterator[bytes]:
        """The export, line by line, each with its end. What is added meanwhile may or may not be in it."""
        now = self.clock.now()
        total, links = await self.database.read(
            lambda link: (count_memories(link, self.tenant, now), read_links(link, self.tenant))
        )
        yield dump_line({"lamina_export": FORMAT, "memories": total})
        for link_record in links:
            yield dump_line(link_record)
        done, after = 0, -1
        while True:
            start = after
            batch = await self.database.read(lambda link: read_memories(link, self.tenant, start, BATCH, now))  # noqa: B023
            for row, record in batch:
                after = row
                yield dump_line(record)
            done += len(batch)
            progress(done, max(done, total))
            if len(batch) < BATCH:
                return

    async def import_lines(
        self,
        lines: Iterable[bytes] | AsyncIterable[bytes],
        *,
        on_conflict: OnConflict = "skip",
        progress: Progress = lambda done, total: None,
    ) -> ImportReport:
        """Store what the lines say, a batch a transaction.

        Raises InvalidInputError (or a kind of it) that names the line: nothing of its batch is stored, and
        `details["done"]` counts what was dealt with before it. Lines that expired meanwhile are left out.
        """
        run = MemoryImport(transfer=self, on_conflict=on_conflict, progress=progress)
        try:
            number = 0
            async for raw in each_line(lines):
                number += 1
                await run.take(parse_line(number, raw, tenant=self.tenant, settings=self.settings, now=run.now))
            await run.flush()
        except InvalidInputError as error:
            error.details["done"] = run.report.done
            raise
        return run.report


@dataclass(slots=True, kw_only=True)
class MemoryImport:
    """An import under way."""

    transfer: Transfer
    on_conflict: OnConflict
    progress: Progress
    report: ImportReport = field(default_factory=ImportReport)
    now: datetime = field(init=False)
    _memories: dict[str, ImportedMemory] = field(default_factory=dict)
    _links: list[HierarchyLink] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = self.transfer.clock.now()

    async def take(self, item: Header | HierarchyLink | ImportedMemory | None) -> None:
        match item:
            case Header():
                self.report.expected = item.memories
            case HierarchyLink():
                self._links.append(item)
            case ImportedMemory():
                if item.entry.id in self._memories:  # the same id again must meet the first one in the store
                    await self.flush()
                self._memories[item.entry.id] = item
        if len(self._memories) + len(self._links) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        """Store what was taken so far, in one transaction."""
        links, memories = self._links, list(self._memories.values())
        self._links, self._memories = [], {}
        tenant, database = self.transfer.tenant, self.transfer.database
        live = [item for item in memories if item.entry.expires_at is None or item.entry.expires_at > self.now]
        requests = await self._requests(live)
        prepared = await asyncio.to_thread(prepare_memories, requests)
        model = self.transfer.provider.model
        pairs = list(zip(live, prepared, strict=True))

        def store(link: Link) -> tuple[int, int]:
            put_links(link, tenant, links, self.on_conflict)
            return put_memories(link, model, tenant, pairs, self.on_conflict, self.transfer.provider.on_removed)

        stored, replaced = await database.write(store)
        self.report.stored += stored
        self.report.replaced += replaced
        self.report.skipped += len(live) - stored - replaced
        self.report.expired += len(memories) - len(live)
        self.progress(self.report.done, self.report.expected)

    async def _requests(self, memories: Sequence[ImportedMemory]) -> list[AddRequest]:
        if not memories:
            return []
        texts = tuple(item.entry.content for item in memories)
        request = EmbedRequest(tenant=self.transfer.tenant, texts=texts, purpose="document")
        embeddings = await self.transfer.provider.generate_embedding(request)
        return [
            AddRequest(scope=item.scope, entry=item.entry, embedding=embedding)
            for item, embedding in zip(memories, embeddings, strict=True)
        ]


def read_links(link: Link, tenant: str) -> list[dict[str, object]]:
    """The hierarchy, as the objects of lines."""
    links = hierarchy_links(link, tenant)
    return [{"hierarchy": {"kind": one.kind, "id": one.id, "parent_id": one.parent_id}} for one in links]


def read_memories(
    link: Link, tenant: str, after: int, limit: int, now: datetime
) -> list[tuple[int, dict[str, object]]]:
    """The next memories above a row, as the objects of lines, each with its row."""
    return [
        (row, {**entry_record(entry), "revisions": [revision_record(state) for state in revisions]})
        for row, entry, revisions in memories_after(link, tenant, after, limit, now)
    ]
