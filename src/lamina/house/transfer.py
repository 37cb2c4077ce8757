"""A whole tenant out of a store and into it, as JSON Lines: what every room has, in an order in which it can be stored.

The first line is a header with the number of records of each kind. A memory is a line of its own fields; every other
line has one field, whose name is the kind of its record. All lines of an export are of one moment. Keys, receipts, the
audit log and what was counted for limits stay behind: they are about a store, not about what a tenant knows. Vectors
stay behind as well, because the store that a text arrives in embeds it, and so does what the graph read from texts.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from lamina.database.engine import Database, View
from lamina.embedding.query import QueryEmbedder
from lamina.errors import InvalidInputError
from lamina.index.store import indexable
from lamina.kernel.checks import refuse
from lamina.memory.parsing import FORMAT as MEMORIES_ONLY
from lamina.memory.parsing import parse_record
from lamina.memory.reading import count_memories
from lamina.memory.transfer import MemoryImport, Progress, Transfer, read_links, read_memories
from lamina.transfer.lines import dump_line, each_line, in_line, load_line
from lamina.transfer.port import Batch, Carried, Carrier, OnConflict, Outcome

FORMAT: Final = 2
"""The version of the export's form, in its header; files of the first one, with memories only, are read as well."""
MEMORIES: Final = "memories"
_PAGE = 100
_BATCH = 500
_BATCH_BYTES = 4 * 1024 * 1024
_INLINE_BYTES = 10_000


@dataclass(slots=True, kw_only=True)
class TransferReport:
    """What an import did. `expected` is what the header announced, `kinds` what was stored or replaced of each."""

    stored: int = 0
    replaced: int = 0
    skipped: int = 0
    expired: int = 0
    apart: int = 0
    """Messages left out because their conversation went another way here."""
    expected: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The records dealt with."""
        return self.stored + self.replaced + self.skipped + self.expired + self.apart

    def add(self, kind: str, outcome: Outcome, *, expired: int = 0) -> None:
        """Count what became of a batch."""
        self.stored += outcome.stored
        self.replaced += outcome.replaced
        self.skipped += outcome.skipped
        self.apart += outcome.apart
        self.expired += expired
        if taken := outcome.stored + outcome.replaced:
            self.kinds[kind] = self.kinds.get(kind, 0) + taken


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantTransfer:
    """Moves everything that a tenant knows."""

    database: Database
    memories: Transfer
    embedder: QueryEmbedder
    carriers: Callable[[], Mapping[str, Sequence[Carrier]]]
    """New carriers of every room by the name of what they carry, in the order in which their records are stored."""
    on_imported: Callable[[str, str, TransferReport], Awaitable[None]]
    """Told tenant, actor and what was done when an import ends, also where an error ended it."""

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.memories.tenant

    @property
    def parts(self) -> tuple[str, ...]:
        """What can be exported by itself."""
        return (MEMORIES, *self.carriers())

    def chosen(self, only: Collection[str] | None) -> tuple[str, ...]:
        """The parts to export; raises InvalidInputError for one there is not."""
        parts = self.parts
        if unknown := sorted(set(only or ()) - set(parts)):
            refuse(
                f"There is no {unknown[0][:80]!a} to export; choose of {', '.join(parts)}.",
                "export",
                field="only",
                known=list(parts),
            )
        return parts if only is None else tuple(part for part in parts if part in only)

    async def export_lines(
        self, progress: Progress = lambda done, total: None, *, only: Collection[str] | None = None
    ) -> AsyncGenerator[bytes]:
        """The export of everything, or of some parts only, line by line, each with its end; all of one moment.

        Raises InvalidInputError for a part there is not.
        """
        chosen = self.chosen(only)
        rooms = self.carriers()
        carriers = [carrier for part in chosen for carrier in rooms.get(part, ())]
        async with self.database.view() as view:
            counts = {carrier.kind: await view.read(_counting(carrier, self.tenant)) for carrier in carriers}
            now = self.memories.clock.now()
            if MEMORIES in chosen:
                number = await view.read(lambda link: count_memories(link, self.tenant, now))
                counts = {"memory": number, **counts}
            total, done = sum(counts.values()), 0
            yield dump_line({"lamina_export": FORMAT, "records": counts})
            progress(0, total)
            if MEMORIES in chosen:
                for record in await view.read(lambda link: read_links(link, self.tenant)):
                    yield dump_line(record)
            pages = [self._memory_pages(view, now)] if MEMORIES in chosen else []
            pages += [self._pages(view, carrier) for carrier in carriers]
            for each in pages:
                async for lines in each:
                    for line in lines:
                        yield line
                    done += len(lines)
                    progress(done, total)

    async def _memory_pages(self, view: View, now: datetime) -> AsyncIterator[list[bytes]]:
        after = -1
        while True:
            start = after
            page = await view.read(lambda link: read_memories(link, self.tenant, start, _PAGE, now))  # noqa: B023
            yield [dump_line(record) for _, record in page]
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    async def _pages(self, view: View, carrier: Carrier) -> AsyncIterator[list[bytes]]:
        after: Any = None
        while True:
            start = after
            page = await view.read(lambda link: carrier.read(link, self.tenant, start, _PAGE))  # noqa: B023
            yield [dump_line({carrier.kind: record}) for _, record in page]
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    async def import_lines(
        self,
        lines: Iterable[bytes] | AsyncIterable[bytes],
        *,
        on_conflict: OnConflict = "skip",
        progress: Progress = lambda done, total: None,
        actor: str = "owner",
    ) -> TransferReport:
        """Store what the lines say, a batch a transaction.

        What is there already is skipped, replaced or an error; conversations and their notes are never replaced. Raises
        InvalidInputError (or a kind of it) that names the line: nothing of its batch is stored, and `details["done"]`
        counts what was dealt with before it. Run again, an import goes on where it ended. The audit log names `actor`.
        """
        run = _Import(self, on_conflict, progress)
        try:
            number = 0
            async for raw in each_line(lines):
                number += 1
                if raw.strip():
                    await run.take(number, raw)
            await run.flush()
        except InvalidInputError as error:
            error.details["done"] = run.report.done
            raise
        finally:
            if run.report.stored + run.report.replaced:
                await self.on_imported(self.tenant, actor, run.report)
        return run.report


class _Import:
    """An import under way: records of one kind wait for company."""

    def __init__(self, transfer: TenantTransfer, on_conflict: OnConflict, progress: Progress) -> None:
        self.report = TransferReport()
        self._transfer = transfer
        self._on_conflict = on_conflict
        self._progress = progress
        self._carriers = {one.kind: one for room in transfer.carriers().values() for one in room}
        self._memories = MemoryImport(
            transfer=transfer.memories, on_conflict=on_conflict, progress=lambda done, total: None
        )
        self._carrier: Carrier | None = None
        self._waiting: dict[str, Carried] = {}
        self._bytes = 0

    async def take(self, number: int, raw: bytes) -> None:
        """Take a line; one that fills the batch stores it."""
        with in_line(number):
            record = load_line(raw)
            if "lamina_export" in record:
                self._header(record, first=number == 1)
                return
            carrier = self._carriers.get(next(iter(record))) if len(record) == 1 else None
        if carrier is not self._carrier:
            await self.flush()
        self._carrier = carrier
        self._bytes += len(raw)
        await (self._take_memory(number, record) if carrier is None else self._take(number, record, carrier, len(raw)))
        if len(self._waiting) >= _BATCH or self._bytes >= _BATCH_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Store what was taken so far."""
        self._bytes = 0
        if self._carrier is None:
            await self._memories.flush()
            self._count_memories()
        elif self._waiting:
            items, self._waiting = list(self._waiting.values()), {}
            self.report.add(self._carrier.kind, await self._put(self._carrier, items))
        self._progress(self.report.done, self.report.expected)

    def _header(self, record: Mapping[str, Any], *, first: bool) -> None:
        if not first:
            refuse("A header may only be the first line.", None, field="lamina_export")
        counts = record.get("records")
        if record["lamina_export"] == MEMORIES_ONLY:
            counts = {"memory": record.get("memories")}
        elif record["lamina_export"] != FORMAT:
            refuse(
                f"The export has another form than this Lamina reads ({FORMAT}); upgrade Lamina.",
                None,
                field="lamina_export",
            )
        numbers = [one for one in counts.values() if isinstance(one, int)] if isinstance(counts, dict) else []
        self.report.expected = sum(numbers) if numbers else None

    async def _take_memory(self, number: int, record: Mapping[str, Any]) -> None:
        memories, now = self._transfer.memories, self._memories.now
        with in_line(number):
            item = parse_record(number, record, tenant=memories.tenant, settings=memories.settings, now=now)
        await self._memories.take(item)
        self._count_memories()

    def _count_memories(self) -> None:
        """Count what the memories' own import has stored meanwhile."""
        done = self._memories.report
        self._memories.report = type(done)()
        self.report.add(
            "memory",
            Outcome(stored=done.stored, replaced=done.replaced, skipped=done.skipped),
            expired=done.expired,
        )

    async def _take(self, number: int, record: Mapping[str, Any], carrier: Carrier, size: int) -> None:
        given = record[carrier.kind]
        with in_line(number):
            # What is long would hold up the event loop.
            item = carrier.parse(given) if size < _INLINE_BYTES else await asyncio.to_thread(carrier.parse, given)
        if item.key in self._waiting:  # the same key again must meet the first one in the store
            await self.flush()
        self._waiting[item.key] = replace(item, line=number)

    async def _put(self, carrier: Carrier, items: Sequence[Carried]) -> Outcome:
        searched = [item for item in items if item.text is not None]
        embedder, tenant = self._transfer.embedder, self._transfer.tenant
        vectors = (
            await embedder.cache.embed(
                [item.text for item in searched if item.text is not None],
                purpose="document",
                tenant=tenant,
                model_id=embedder.model_id,
            )
            if searched
            else ()
        )
        found = {item.key: one.vector for item, one in zip(searched, vectors, strict=True)}

        def analyse() -> list[Carried]:
            return [
                item if item.text is None else replace(item, terms=indexable(item.text, found[item.key], **item.about))
                for item in items
            ]

        batch = Batch(
            tenant=tenant,
            items=await asyncio.to_thread(analyse),
            on_conflict=self._on_conflict,
            model_id=embedder.model_id,
        )
        return await self._transfer.database.write(lambda link: carrier.put(link, batch))


def _counting(carrier: Carrier, tenant: str) -> Any:
    return lambda link: carrier.count(link, tenant)
