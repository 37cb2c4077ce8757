"""Late vectors: batches, drops, failures, the back-fill, and what changes meanwhile, on both engines."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import pytest
import sqlalchemy as sa

import lamina
from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.embedding.buffer import EmbeddingBuffer
from lamina.embedding.cached import CachedEmbedder
from lamina.embedding.job import EmbeddingJob
from lamina.errors import ConfigurationError, EmbeddingFailedError, ProviderError
from lamina.index.late import put_terms
from lamina.index.store import ScopeKey, bury, forget, indexable, touch
from lamina.index.tables import index_vector
from lamina.kernel.buffer import BufferSettings
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy
from lamina.knowledge.rows import knowledge_scope, searched_text
from lamina.knowledge.tables import knowledge
from lamina.knowledge.texts import knowledge_texts
from lamina.memory.sql import SqlMemoryProvider
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.stores import CountingEmbedder, sql_provider

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A store with late entries, and the buffer that follows them."""

    provider: SqlMemoryProvider
    embedder: CountingEmbedder
    buffer: EmbeddingBuffer
    metrics: Metrics
    clock: ManualClock

    async def save(self, key: str, content: str, *, tenant: str = "t", announce: bool = True) -> int:
        """Store an entry with its words, as a room does, and queue its vector."""
        text = searched_text(key, content)
        row = await self.provider._database.write(lambda link: _insert(link, tenant, key, content, self.clock))
        if announce:
            self.buffer.submit(EmbeddingJob(scope_key=knowledge_scope(tenant), entry=row, text=text))
        return row

    async def embedded(self) -> set[int]:
        """The entries that have a vector."""
        rows = sa.select(index_vector.c.entry)
        return await self.provider._database.read(lambda link: set(link.execute(rows).scalars()))


def _insert(link: Link, tenant: str, key: str, content: str, clock: ManualClock) -> int:
    place = touch(link, knowledge_scope(tenant), added=1)
    moment = to_micros(clock.now())
    values = {"tenant": tenant, "key": key, "category": "fact", "content": content, "origin": "user", "version": 1}
    values |= {"relevance": 1.0, "use_count": 0, "created_at": moment, "updated_at": moment}
    values |= {"scope_id": place.scope_id, "indexed": place.version}
    values["tags"] = "[]" if link.name == "sqlite" else []
    row = int(link.execute(sa.insert(knowledge).values(values).returning(knowledge.c.row)).scalar_one())
    put_terms(link, place, tenant=tenant, rows=[(row, indexable(searched_text(key, content), None))])
    return row


@asynccontextmanager
async def bench(url: str, *, running: bool = True, queue_size: int = 64, batch_size: int = 8) -> AsyncIterator[Bench]:
    clock, embedder, metrics = ManualClock(), CountingEmbedder(), Metrics.collecting()
    provider = sql_provider(url, embedder=embedder, clock=clock)
    await provider.initialize()
    embedder.texts.clear()
    buffer = EmbeddingBuffer(
        database=provider._database,
        cache=CachedEmbedder(embedder, provider._database, metrics, ask_store=True),
        model_id=provider.model.id,
        texts={"knowledge": knowledge_texts()},
        clock=clock,
        metrics=metrics,
        settings=BufferSettings(queue_size=queue_size, batch_size=batch_size, delay_s=1, backfill_interval_s=300),
        retry=RetryPolicy(retries=1, jitter=0),
    )
    try:
        async with anyio.create_task_group() as group:
            if running:
                buffer.start(group)
            yield Bench(provider=provider, embedder=embedder, buffer=buffer, metrics=metrics, clock=clock)
            await buffer.stop(10)
    finally:
        metrics.shutdown()
        await provider.shutdown()


async def test_saved_texts_get_their_vectors_in_batches(store_url: str) -> None:
    async with bench(store_url) as made:
        rows = [await made.save(f"key-{number}", f"fact number {number}") for number in range(10)]
        await made.buffer.drain()
        assert await made.embedded() == set(rows)
        assert made.buffer.dropped_count == 0
        calls = render_prometheus(made.metrics)
        assert "embedding_requests_total 2.0" in calls


@pytest.mark.requirement("knowledge.semantic.queued")
async def test_a_saved_entry_is_found_by_its_words_at_once_and_by_its_vector_behind_the_save(store_url: str) -> None:
    async with (
        bench(store_url) as made,
        lamina.open(store_url, embedder=made.embedder, clock=made.clock, knowledge={"enabled": True}) as app,
    ):
        service = replace(app.knowledge, embeddings=made.buffer)
        await service.save("theme", "Alice prefers a dark screen", category="preference")
        assert (await made.embedded(), made.buffer.pending_count) == (set(), 1)
        (by_words,) = await service.search("dark screen", threshold=0)
        assert by_words.explain["vector"] == 0
        await made.buffer.drain()
        assert len(await made.embedded()) == 1
        (by_both,) = await service.search("dark screen", threshold=0)
        assert by_both.explain["vector"] > 0


@pytest.mark.requirement("knowledge.semantic.queued")
async def test_stopping_drains_what_waits(store_url: str) -> None:
    async with bench(store_url) as made:
        row = await made.save("a", "alpha")
        assert await made.buffer.stop(10) == 0
        assert await made.embedded() == {row}


@pytest.mark.requirement("observation.drops.logged", "observation.drops.counted")
async def test_a_full_queue_drops_with_a_warning_that_names_the_request_and_counts(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench(sqlite_url, running=False, queue_size=2, batch_size=2) as made:
        with caplog.at_level(logging.WARNING, "lamina.background"):
            rows = [await made.save(f"key-{number}", f"fact number {number}") for number in range(4)]
        assert made.buffer.dropped_count == 2
        assert caplog.messages == [
            f"background worker embedding dropped knowledge {rows[2]} of t (1 so far)",
            f"background worker embedding dropped knowledge {rows[3]} of t (2 so far)",
        ]
        assert {record.levelname for record in caplog.records} == {"WARNING"}
        assert 'background_dropped_total{worker="embedding"} 2.0' in render_prometheus(made.metrics)


@pytest.mark.requirement("knowledge.semantic.back-fill")
async def test_what_was_dropped_is_found_again_from_the_store(store_url: str) -> None:
    async with bench(store_url, queue_size=2, batch_size=2) as made:
        rows = [await made.save(f"key-{number}", f"fact number {number}", announce=False) for number in range(9)]
        rows.append(await made.save("elsewhere", "another tenant's fact", tenant="other", announce=False))
        for row in rows:
            job = EmbeddingJob(scope_key=knowledge_scope("t"), entry=row, text=f"{row}")
            made.buffer.submit(job)
        assert made.buffer.dropped_count > 0
        await made.buffer.drain()
        made.clock.advance(300)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(30):
            while await made.embedded() != set(rows):
                await anyio.wait_all_tasks_blocked()
        assert (await made.buffer.backfill()).found == 0


async def test_entries_a_killed_process_left_without_vectors_are_found(store_url: str) -> None:
    async with bench(store_url) as made:
        rows = [await made.save(f"key-{number}", f"fact number {number}", announce=False) for number in range(600)]
        report = await made.buffer.backfill()
        assert (report.found, report.done, report.failed) == (600, 600, 0)
        assert await made.embedded() == set(rows)


async def test_a_vector_for_a_text_that_changed_or_went_meanwhile_is_not_stored(store_url: str) -> None:
    async with bench(store_url) as made:
        changed = await made.save("changed", "old text", announce=False)
        gone = await made.save("gone", "text", announce=False)
        database = made.provider._database

        def change(link: Link) -> None:
            place = touch(link, knowledge_scope("t"), added=-1)
            indexed = {row.row: row.indexed for row in link.execute(sa.select(knowledge.c.row, knowledge.c.indexed))}
            bury(link, tenant="t", scope_id=place.scope_id, rows=[(changed, indexed[changed])])
            forget(link, tenant="t", scope_id=place.scope_id, version=place.version, rows=[(gone, indexed[gone])])
            put_terms(link, place, tenant="t", rows=[(changed, indexable("changed new text", None))])
            link.execute(sa.delete(knowledge).where(knowledge.c.row == gone))
            update = sa.update(knowledge).where(knowledge.c.row == changed)
            link.execute(update.values(content="new text", indexed=place.version))

        await database.write(change)
        for row, text in ((changed, "changed\nold text"), (gone, "gone\ntext")):
            made.buffer.submit(EmbeddingJob(scope_key=knowledge_scope("t"), entry=row, text=text))
        await made.buffer.drain()
        assert await made.embedded() == set()
        assert (await made.buffer.backfill()).done == 1
        assert await made.embedded() == {changed}


async def test_a_failing_embedder_is_tried_again_and_a_failed_batch_does_not_end_the_buffer(sqlite_url: str) -> None:
    async with bench(sqlite_url) as made:
        made.embedder.failures = [ProviderError(), ProviderError(), ProviderError()]
        lost = await made.save("a", "alpha")
        await made.buffer.drain()
        assert (made.buffer.failed_count, await made.embedded()) == (1, set())
        row = await made.save("b", "beta")
        await made.buffer.drain()
        assert await made.embedded() == {row}
        assert (await made.buffer.backfill()).done == 1
        assert await made.embedded() == {row, lost}


async def test_one_text_the_embedder_cannot_take_leaves_the_others_alone(sqlite_url: str) -> None:
    async with bench(sqlite_url) as made:
        good = CountingEmbedder.embed

        async def picky(texts: Sequence[str], *, purpose: str) -> object:
            if any("poison" in text for text in texts):
                raise EmbeddingFailedError
            return await good(made.embedder, texts, purpose="document")

        made.embedder.embed = picky  # type: ignore[assignment]
        rows = [await made.save(key, key) for key in ("a", "b", "poison", "c", "d")]
        await made.buffer.drain()
        assert await made.embedded() == set(rows) - {rows[2]}
        assert made.buffer.failed_count == 1


async def test_a_kind_nobody_registered_is_refused(sqlite_url: str) -> None:
    async with bench(sqlite_url) as made:
        key = ScopeKey(tenant="t", kind="weather", key="all", label="weather")
        with pytest.raises(ConfigurationError, match="weather"):
            made.buffer.submit(EmbeddingJob(scope_key=key, entry=1, text="rain"))
