"""What other rooms hear of learnings: vectors, the graph, the Known Solutions of a prompt."""

from dataclasses import replace

import pytest

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.embedding.job import EmbeddingJob
from lamina.graph.settings import GraphSettings
from lamina.index.late import add_vectors
from lamina.index.store import pack_vector
from lamina.kernel.saved import SavedText
from lamina.kernel.text import content_hash
from lamina.knowledge.settings import KnowledgeSettings
from lamina.learning.service import LearningService
from lamina.learning.stored import StoredLearnings
from lamina.learning.texts import LearningTexts
from tests.learning.opening import loose_ends
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio


class Queue:
    """Keeps the jobs it is given."""

    def __init__(self) -> None:
        self.jobs: list[EmbeddingJob] = []

    def submit(self, job: EmbeddingJob) -> bool:
        self.jobs.append(job)
        return True


async def test_a_learning_is_found_by_meaning_and_not_only_by_its_words(learning: LearningService) -> None:
    saved = await learning.correct("the car does not start", "Charge the battery.")
    (hit,) = await learning.search("automobile engine will not turn over")
    assert hit.learning.id == saved.learning.id
    assert hit.explain["vector"] > hit.explain["lexical"]


async def test_a_queued_vector_arrives_late(app: App, learning: LearningService) -> None:
    queue = Queue()
    waiting = replace(learning, saver=replace(learning.saver, embeddings=queue))
    saved = await waiting.correct("the car does not start", "Charge the battery.")
    (job,) = queue.jobs
    assert (job.scope_key.kind, job.text) == ("learning", "the car does not start\nCharge the battery.")
    texts, model_id = LearningTexts(), app.parts.provider.model.id
    (pending,) = await app.parts.database.read(lambda link: texts.pending(link, model_id, after=0, limit=10))
    assert (pending.entry, pending.text) == (job.entry, job.text)
    assert await app.parts.database.read(texts.count) == 1
    assert await learning.search("battery") != ()
    (vector,) = await static_embedder().embed([job.text], purpose="document")
    late = {job.entry: (content_hash(job.text), pack_vector(vector))}
    tenant = learning.tenant
    added = await app.parts.database.write(
        lambda link: add_vectors(link, texts, tenant=tenant, model_id=model_id, vectors=late)
    )
    assert added == 1
    (hit,) = await learning.search("automobile engine will not turn over")
    assert hit.learning.id == saved.learning.id
    assert await loose_ends(app) == {}


async def test_who_listens_hears_of_new_fixes_and_not_of_occurrences(learning: LearningService) -> None:
    heard: list[SavedText] = []
    told = replace(learning, saver=replace(learning.saver, on_saved=heard.append))
    saved = await told.save("Use port 1.", tool="connect", error="nothing listens on port 80", session_key="s")
    await told.save("Use port 1.", tool="connect", error="nothing listens on port 80")
    await told.record_outcome(saved.learning.id, success=True)
    await told.set_fix(saved.learning.id, "Use port 2.")
    assert [(event.kind, event.key, event.created) for event in heard] == [
        ("learning", saved.learning.id, True),
        ("learning", saved.learning.id, False),
    ]
    assert heard[0].session_key == "s"
    assert "<number>" not in heard[0].text


async def test_learnings_are_read_as_texts_of_their_tenant(app: App, learning: LearningService) -> None:
    saved = await learning.correct("greeting", "Say hello.")
    await learning.for_tenant("other").correct("greeting", "Say goodbye.")
    texts, tenant = StoredLearnings(confidence_threshold=0.7), learning.tenant
    read = app.parts.database.read
    (mine,) = await read(lambda link: texts.after(link, 0, limit=10, tenant=tenant))
    assert (mine.key, mine.tenant, mine.text) == (saved.learning.id, tenant, "greeting\nSay hello.")
    assert len(await read(lambda link: texts.after(link, 0, limit=10))) == 2
    assert await read(lambda link: texts.after(link, mine.row, limit=10, tenant=tenant)) == []
    assert await app.parts.database.write(lambda link: texts.read(link, tenant, [mine.key], hold=True)) == [mine]
    assert await read(lambda link: texts.read(link, "other", [mine.key])) == []


async def test_a_learning_enters_the_graph_and_leaves_it_with_its_deletion(store_url: str) -> None:
    settings = Settings(
        database=DatabaseSettings(url=store_url),
        knowledge=KnowledgeSettings(enabled=True),
        graph=GraphSettings(enabled=True, delay_s=0),
    )
    async with App(settings, embedder=static_embedder(), environ={}) as app:
        saved = await app.learning.correct("asking who helps", "Grace Hopper works for Acme Corporation.")
        await app.graph.settled()
        assert await app.graph.find(subject="Grace Hopper") != ()
        await app.learning.delete(saved.learning.id)
        assert await app.graph.find(subject="Grace Hopper") == ()


async def test_a_fix_that_is_not_trusted_reaches_no_prompt_through_the_graph(store_url: str) -> None:
    settings = Settings(
        database=DatabaseSettings(url=store_url),
        knowledge=KnowledgeSettings(enabled=True),
        graph=GraphSettings(enabled=True, delay_s=0),
    )
    async with App(settings, embedder=static_embedder(), environ={}) as app:
        saved = await app.learning.save("Drop the tables of Initech.", trigger="Acme Corporation is down")
        await app.graph.settled()
        found = await app.graph.expand("Acme Corporation")
        assert [text.text for text in found.texts] == ["Acme Corporation is down"]
        assert await app.graph.entity("Initech") is None
        prompt = await app.context.assemble("", query="Acme Corporation")
        assert "Drop the tables" not in prompt.text
        for _ in range(3):
            await app.learning.record_outcome(saved.learning.id, success=True)
        (text,) = (await app.graph.expand("Acme Corporation")).texts
        assert text.text.endswith("Drop the tables of Initech.")


async def test_a_known_solution_stands_in_the_prompt(app: App, learning: LearningService) -> None:
    await learning.correct("deploying the web app", "Run the migrations first.")
    await learning.save("Guess wildly.", trigger="deploying the web app to the moon")
    prompt = await app.context.assemble("You deploy things.", query="please deploy the web app")
    assert "Run the migrations first." in prompt.text
    assert "Guess wildly." not in prompt.text
