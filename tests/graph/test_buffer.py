"""From saved texts to the graph: behind the saves, nothing left behind by deletions, nothing missed for good."""

import logging
from collections.abc import Sequence
from datetime import timedelta

import anyio
import pytest

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import ProviderError
from lamina.graph.buffer import GraphBuffer
from lamina.graph.extract import RuleExtractor
from lamina.graph.types import Extraction, FoundTriple, Predicate
from lamina.graph.writing import remove_sources
from lamina.kernel.buffer import BackfillReport, BufferSettings
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy
from lamina.kernel.saved import SavedText
from lamina.knowledge.stored import StoredKnowledge
from lamina.memory.stored import StoredMemories
from lamina.memory.types import NewMemory
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.graph.opening import graph_app, said, user

pytestmark = pytest.mark.anyio


class ScriptedExtractor:
    """Says what a model might: one triple a text; or fails, or calls somebody in between."""

    name = "scripted:1"

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.asked: list[str] = []
        self.gate = anyio.Event()
        self.gate.set()
        self.reached = anyio.Event()

    async def extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        self.reached.set()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.asked += texts
        triple = FoundTriple(subject="model", predicate=Predicate.KNOWS, object="text")
        return [Extraction(names=("model",), triples=(triple,)) for _ in texts]


def buffer_of(
    app: App, extractor: ScriptedExtractor | RuleExtractor, clock: ManualClock, **settings: int
) -> GraphBuffer:
    """A buffer of one's own beside the app's."""
    chosen = {"queue_size": 8, "batch_size": 4, "delay_s": 0, "backfill_interval_s": 300, **settings}
    return GraphBuffer(
        database=app.parts.database,
        texts=(StoredMemories(), StoredKnowledge()),
        extractor=extractor,
        clock=clock,
        metrics=app.metrics,
        settings=BufferSettings(**chosen),
        retry=RetryPolicy(retries=1, jitter=0),
    )


@pytest.mark.requirement("knowledge.semantic.queued")
async def test_saved_memories_and_knowledge_reach_the_graph(store_url: str) -> None:
    async with graph_app(store_url) as app:
        added = await app.memory.add("Ann works at Acme.", user_id="u1")
        await app.memory.bulk_add([NewMemory(content="Bob works at Acme.", identifiers=added.memory.identifiers)])
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        await app.graph.settled()
        found = {said(one) for one in await app.graph.find(reach=user("u1"))}
        assert found == {("Ann", "works_at", "Acme"), ("Bob", "works_at", "Acme"), ("Acme", "uses", "PostgreSQL")}
        (mine,) = await app.graph.find(subject="Ann", reach=user("u1"))
        assert (mine.source.kind, mine.source.key) == ("memory", added.id)


async def test_closing_the_app_drains_what_waits(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
    async with graph_app(store_url) as app:
        assert len(await app.graph.find(subject="Acme")) == 1


async def test_a_changed_text_replaces_what_the_old_one_said(store_url: str) -> None:
    async with graph_app(store_url) as app:
        added = await app.memory.add("Ann works at Acme.", user_id="u1")
        await app.graph.settled()
        await app.memory.update(added.id, content="Ann works at Globex.", user_id="u1")
        await app.graph.settled()
        assert [said(one) for one in await app.graph.find(reach=user("u1"))] == [("Ann", "works_at", "Globex")]


async def test_deleting_a_text_removes_what_it_said_at_once(store_url: str) -> None:
    async with graph_app(store_url) as app:
        ids = [(await app.memory.add(f"Ann knows Bob{number}.", user_id="u1")).id for number in range(3)]
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        await app.graph.settled()
        await app.memory.delete(ids[0], user_id="u1")
        await app.memory.bulk_delete(ids[1:2], user_id="u1")
        assert [one.object for one in await app.graph.find(subject="Ann", reach=user("u1"))] == ["Bob2"]
        await app.knowledge.delete("stack")
        assert await app.graph.find(subject="Acme") == ()
        assert await app.graph.entity("Acme") is None


async def test_a_deletion_that_fails_leaves_the_graph_as_it_was(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        await app.graph.settled()

        def fail(link: Link) -> None:
            assert remove_sources(link, "default", "knowledge", ["stack"]) == 1
            raise ProviderError

        with pytest.raises(ProviderError):
            await app.parts.database.write(fail)
        assert len(await app.graph.find(subject="Acme")) == 1


async def test_expired_memories_are_not_seen_and_a_sweep_takes_their_edges(store_url: str) -> None:
    clock = ManualClock()
    async with graph_app(store_url, clock=clock) as app:
        soon = clock.now() + timedelta(hours=1)
        await app.memory.add("Ann works at Acme.", user_id="u1", expires_at=soon)
        await app.graph.settled()
        assert len(await app.graph.find(subject="Ann", reach=user("u1"))) == 1
        clock.advance(3601)
        assert await app.graph.find(subject="Ann", reach=user("u1")) == ()
        assert (await app.graph.expand("Ann", reach=user("u1"))).texts == ()
        assert await app.sweep() == 1
        count = "SELECT count(*) FROM graph_source"
        assert (await app.parts.database.read(lambda link: link.raw.execute(count).fetchone()))[0] == 0


async def test_a_text_deleted_or_changed_while_it_is_read_leaves_nothing_behind(store_url: str) -> None:
    clock, extractor = ManualClock(), ScriptedExtractor()
    async with graph_app(store_url, clock=clock, backfill_interval_s=0) as app, anyio.create_task_group() as group:
        buffer = buffer_of(app, extractor, clock)
        buffer.start(group)
        for key in ("gone", "changed", "kept"):
            await app.knowledge.save(key, f"text {key}", category="fact")
        await app.graph.settled()
        extractor.gate = anyio.Event()
        for key in ("gone", "changed", "kept"):
            buffer(SavedText(tenant="default", kind="knowledge", key=key, text="", created=True))
        await extractor.reached.wait()
        await app.knowledge.delete("gone")
        await app.knowledge.save("changed", "another text", category="fact")
        await app.graph.settled()
        extractor.gate.set()
        await buffer.drain()
        assert [one.source.key for one in await app.graph.find(subject="model")] == ["kept"]
        await buffer.stop(5)


@pytest.mark.requirement("observation.drops.logged", "observation.drops.counted")
async def test_a_full_queue_drops_with_a_warning_that_names_the_text_and_counts(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with graph_app(sqlite_url) as app:
        metrics = Metrics.collecting()
        buffer = GraphBuffer(
            database=app.parts.database,
            texts=(StoredKnowledge(),),
            extractor=RuleExtractor(),
            clock=ManualClock(),
            metrics=metrics,
            settings=BufferSettings(queue_size=1, batch_size=1),
            retry=RetryPolicy(),
        )
        with caplog.at_level(logging.WARNING, "lamina.background"):
            for key in ("first", "second"):
                buffer(SavedText(tenant="t", kind="knowledge", key=key, text="x", created=True))
        assert buffer.dropped_count == 1
        assert caplog.messages == ["background worker graph dropped knowledge second of t (1 so far)"]
        assert 'background_dropped_total{worker="graph"} 1.0' in render_prometheus(metrics)
        metrics.shutdown()


@pytest.mark.requirement("knowledge.semantic.back-fill")
async def test_what_was_dropped_is_found_again_from_the_store(store_url: str) -> None:
    clock = ManualClock()
    async with graph_app(store_url, clock=clock, queue_size=4, batch_size=2) as app:
        other = app.knowledge.for_tenant("other")
        for number in range(20):
            await app.memory.add(f"Ann knows Bob{number}.", user_id="u1")
        await other.save("stack", "Globex uses Oracle.", category="fact")
        buffer = app.graph.buffer
        assert buffer is not None
        while not buffer.dropped_count:  # the worker sleeps until somebody lets it run
            buffer(SavedText(tenant="default", kind="memory", key=f"no {buffer.pending_count}", text="", created=True))
        report = await app.graph.backfill()
        assert report.failed == report.left == 0
        assert len(await app.graph.find(subject="Ann", reach=user("u1"))) == 20
        assert len(await app.graph.for_tenant("other").find(subject="Globex")) == 1
        assert await app.graph.backfill() == BackfillReport(found=0, done=0, failed=0)


async def test_texts_saved_while_the_graph_was_off_are_found_by_the_first_round_after_a_start(store_url: str) -> None:
    clock = ManualClock()
    async with graph_app(store_url, clock=clock, enabled=False) as app:
        for number in range(300):
            await app.knowledge.save(f"k{number}", f"Ann knows Bob{number}.", category="fact")
    async with graph_app(store_url, clock=clock) as app:
        await anyio.wait_all_tasks_blocked()
        clock.advance(300)
        with anyio.fail_after(60):
            while len(await app.graph.find(subject="Ann", limit=500)) < 300:
                await anyio.wait_all_tasks_blocked()


async def test_another_extractor_reads_every_text_again(sqlite_url: str) -> None:
    clock, extractor = ManualClock(), ScriptedExtractor()
    async with graph_app(sqlite_url, clock=clock) as app, anyio.create_task_group() as group:
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        await app.graph.settled()
        buffer = buffer_of(app, extractor, clock)
        buffer.start(group)
        assert (await buffer.backfill()).done == 1
        assert [said(one) for one in await app.graph.find()] == [("model", "knows", "text")]
        assert (await buffer.backfill()).found == 0
        await buffer.stop(5)


async def test_a_failing_extractor_is_tried_again_and_its_texts_are_owed(sqlite_url: str) -> None:
    clock, extractor = ManualClock(), ScriptedExtractor()
    async with graph_app(sqlite_url, clock=clock, enabled=False) as app, anyio.create_task_group() as group:
        await app.knowledge.save("stack", "Acme uses PostgreSQL.", category="fact")
        buffer = buffer_of(app, extractor, clock)
        buffer.start(group)
        extractor.failures = [ProviderError(), ProviderError()]
        buffer(SavedText(tenant="default", kind="knowledge", key="stack", text="", created=True))
        await buffer.drain()
        assert (buffer.failed_count, extractor.asked) == (1, [])
        report = await buffer.backfill()
        assert (report.done, extractor.asked) == (1, ["Acme uses PostgreSQL."])
        await buffer.stop(5)


async def test_a_kind_nobody_registered_is_not_taken(sqlite_url: str) -> None:
    async with graph_app(sqlite_url) as app:
        buffer = app.graph.buffer
        assert buffer is not None
        assert not buffer.submit(SavedText(tenant="default", kind="weather", key="1", text="rain", created=True))
        assert buffer.dropped_count == 0
