"""How texts get their vectors: during the save, later through a buffer, or when the model changes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lamina.app import App
from lamina.embedding.job import EmbeddingJob
from lamina.embedding.reembed import Reembedding
from lamina.errors import ConfigurationError, EmbeddingFailedError
from lamina.index.late import add_vectors
from lamina.index.store import pack_vector
from lamina.kernel.clock import ManualClock
from lamina.kernel.text import content_hash
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.texts import NamedTexts, knowledge_texts, reference_texts
from tests.knowledge.opening import knowing_app, loose_ends, row_counts
from tests.stores import CountingEmbedder, static_embedder

pytestmark = pytest.mark.anyio


class Sink:
    """Keeps the jobs; drops them on demand."""

    def __init__(self) -> None:
        self.jobs: list[EmbeddingJob] = []

    def submit(self, job: EmbeddingJob) -> bool:
        self.jobs.append(job)
        return True


async def deliver(app: App, jobs: Sequence[EmbeddingJob], owner: NamedTexts, *, model_id: int | None = None) -> int:
    """What a buffer does with its jobs."""
    vectors = await static_embedder().embed([job.text for job in jobs], purpose="document")
    found = {
        job.entry: (content_hash(job.text), pack_vector(vector)) for job, vector in zip(jobs, vectors, strict=True)
    }
    chosen = app.parts.provider.model.id if model_id is None else model_id
    return await app.parts.database.write(
        lambda link: add_vectors(link, owner, tenant="default", model_id=chosen, vectors=found)
    )


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def queued(knowledge: KnowledgeService, sink: Sink) -> KnowledgeService:
    """Knowledge whose vectors follow later."""
    return replace(knowledge, embeddings=sink)


async def test_without_a_sink_the_vector_is_stored_with_the_entry(app: App, knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    assert await row_counts(app, "index_vector") == {"index_vector": 1}
    await knowledge.save("theme", "Prefers light mode", category="preference")
    assert await row_counts(app, "index_vector") == {"index_vector": 1}
    (hit,) = await knowledge.search("Which theme does she like?", threshold=0)
    assert hit.explain["vector"] > 0


async def test_with_a_sink_words_find_the_entry_at_once_and_the_vector_follows(
    app: App, queued: KnowledgeService, sink: Sink
) -> None:
    await queued.save("theme", "Prefers dark mode", category="preference")
    assert await row_counts(app, "index_vector") == {"index_vector": 0}
    (hit,) = await queued.search("dark mode")
    assert hit.explain["vector"] == 0
    (job,) = sink.jobs
    assert (job.scope_key.tenant, job.scope_key.kind, job.text) == ("default", "knowledge", "theme\nPrefers dark mode")
    assert await deliver(app, sink.jobs, knowledge_texts()) == 1
    (hit,) = await queued.search("dark mode")
    assert hit.explain["vector"] > 0
    assert await loose_ends(app) == {}


async def test_only_new_and_changed_texts_are_queued(app: App, queued: KnowledgeService, sink: Sink) -> None:
    await queued.save("theme", "dark", category="preference")
    await queued.save("theme", "dark", category="preference", tags=["ui"])
    await queued.save("theme", "light", category="preference")
    references = replace(app.references, embeddings=sink)
    await references.save("docs", type="api", location="one", summary="pods")
    await references.save("docs", type="api", location="two", summary="pods")
    await references.save("docs", type="api", location="two", summary="nodes")
    assert [job.text for job in sink.jobs] == ["theme\ndark", "theme\nlight", "docs\npods", "docs\nnodes"]
    assert await deliver(app, sink.jobs[3:], reference_texts()) == 1


async def test_a_vector_of_a_text_that_changed_or_went_meanwhile_is_passed_over(
    app: App, queued: KnowledgeService, sink: Sink
) -> None:
    await queued.save("theme", "dark", category="preference")
    await queued.save("gone", "text", category="fact")
    await queued.save("theme", "light", category="preference")
    await queued.delete("gone")
    assert await deliver(app, sink.jobs[:2], knowledge_texts()) == 0
    assert await row_counts(app, "index_vector") == {"index_vector": 0}
    assert await deliver(app, sink.jobs[2:], knowledge_texts()) == 1
    assert await deliver(app, sink.jobs[2:], knowledge_texts()) == 1, "the same vector twice does no harm"
    assert await loose_ends(app) == {}


async def test_a_late_vector_reaches_the_index_of_another_process(
    store_url: str, clock: ManualClock, sink: Sink
) -> None:
    async with knowing_app(store_url, clock=clock) as app, knowing_app(store_url, clock=clock) as other:
        queued = replace(app.knowledge, embeddings=sink)
        await queued.save("theme", "Prefers dark mode", category="preference")
        (before,) = await other.knowledge.search("dark mode")
        await deliver(app, sink.jobs, knowledge_texts())
        (after,) = await other.knowledge.search("dark mode")
        assert (before.explain["vector"], after.explain["vector"] > 0) == (0, True)


async def test_a_vector_of_another_model_is_refused(app: App, queued: KnowledgeService, sink: Sink) -> None:
    await queued.save("theme", "dark", category="preference")
    with pytest.raises(ConfigurationError, match="re-embedded"):
        await deliver(app, sink.jobs, knowledge_texts(), model_id=99)
    assert await loose_ends(app) == {}


async def test_what_has_no_vector_is_found_for_a_back_fill(store_url: str, clock: ManualClock) -> None:
    embedder = CountingEmbedder()
    async with knowing_app(store_url, clock=clock, embedder=embedder) as app:
        knowledge = replace(app.knowledge, embeddings=None)  # embedded during the save, not after it
        await knowledge.save("with", "text", category="fact")
        embedder.failures = [EmbeddingFailedError()]
        await knowledge.save("without", "text", category="fact")
        model = app.parts.provider.model.id
        pending = await app.parts.database.read(lambda link: knowledge_texts().pending(link, model, after=-1, limit=9))
        assert [item.text for item in pending] == ["without\ntext"]


async def test_an_entry_without_anything_to_embed_is_not_pending(app: App, knowledge: KnowledgeService) -> None:
    assert knowledge.embedder is not None
    await knowledge.save("\u2603", "\u2603 \u2603", category="fact")
    model = knowledge.embedder.model_id
    pending = await app.parts.database.read(lambda link: knowledge_texts().pending(link, model, after=-1, limit=9))
    assert pending == []


async def test_knowledge_and_references_follow_a_change_of_the_model(store_url: str, clock: ManualClock) -> None:
    async with knowing_app(store_url, clock=clock) as app:
        await app.knowledge.save("theme", "Prefers dark mode", category="preference")
        await app.references.save("docs", type="api", location="here", summary="pods")
        report = await Reembedding(
            database=app.parts.database,
            embedder=CountingEmbedder(name="counting:2"),
            sources=[knowledge_texts(), reference_texts()],
            clock=clock,
        ).run()
        assert report.embedded == 2
        with pytest.raises(ConfigurationError):
            await app.knowledge.save("late", "text", category="fact")
    async with knowing_app(store_url, clock=clock, embedder=CountingEmbedder(name="counting:2")) as app:
        (hit,) = await app.knowledge.search("dark mode")
        assert hit.explain["vector"] > 0
        assert (await app.references.search("pods"))[0].explain["vector"] > 0


async def test_the_vector_of_a_question_can_be_given(app: App, knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    (vector,) = await static_embedder().embed(["dark mode"], purpose="query")
    assert await knowledge.search("dark mode", vector=vector) == await knowledge.search("dark mode")
    zero = np.zeros_like(vector)
    assert (await knowledge.search("dark mode", vector=zero))[0].explain["vector"] == 0
