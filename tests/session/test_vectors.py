"""How messages get their vectors: during the append, later through a buffer, or when the model changes."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.embedding.job import EmbeddingJob
from lamina.embedding.reembed import Reembedding
from lamina.errors import EmbeddingFailedError
from lamina.house.texts import all_texts
from lamina.index.tables import index_vector
from lamina.kernel.clock import ManualClock
from lamina.session.rows import INDEXED_CHARACTERS
from lamina.session.service import SessionService
from tests.session.opening import answering, calling, loose_ends, said, talking_app
from tests.stores import CountingEmbedder

pytestmark = pytest.mark.anyio


async def vectors(app: App) -> int:
    counted = sa.select(sa.func.count()).select_from(index_vector)
    return int(await app.parts.database.read(lambda link: link.execute(counted).scalar_one()))


async def test_the_shipped_embedder_answers_during_the_append(app: App, sessions: SessionService) -> None:
    await sessions.append_many(said("The heron is grey", "Yes"), session_key="s")
    assert await vectors(app) == 2
    (hit, *_) = await sessions.recall("a grey bird", session_key="s")
    assert hit.signals["vector"] > 0


async def test_an_embedder_that_takes_its_time_is_asked_behind_the_append(store_url: str) -> None:
    embedder = CountingEmbedder()
    async with talking_app(store_url, embedder=embedder) as app:
        await app.sessions.append_many(said("The heron is grey", "Yes"), session_key="s")
        await app.sessions.compact_messages("s", up_to=0, summary="never embedded")
        (hit, *_) = await app.sessions.recall("heron", session_key="s")
        assert (hit.message.sequence, "vector" in hit.signals) == (1, False), "words find it at once"
        buffer = app.sessions.embeddings
        await buffer.drain()  # type: ignore[union-attr]
        assert await vectors(app) == 2
        (hit, *_) = await app.sessions.recall("heron", session_key="s")
        assert hit.signals["vector"] > 0
        assert "never embedded" not in embedder.texts
        assert await loose_ends(app) == {}


async def test_a_message_that_was_missed_gets_its_vector_at_the_next_start(store_url: str) -> None:
    class Deaf:
        def submit(self, job: EmbeddingJob) -> bool:
            return False

    async with talking_app(store_url, embedder=CountingEmbedder()) as app:
        await replace(app.sessions, embeddings=Deaf()).append_many(
            [*said("The heron is grey"), calling("c"), answering("c", "x" * (2 * INDEXED_CHARACTERS))], session_key="s"
        )
        assert await vectors(app) == 0
    async with talking_app(store_url, embedder=CountingEmbedder()) as app:
        report = await app.sessions.embeddings.backfill()  # type: ignore[union-attr]
        await app.sessions.embeddings.drain()  # type: ignore[union-attr]
        assert report is not None
        assert await vectors(app) == 3
        assert await loose_ends(app) == {}


async def test_a_session_deleted_before_its_vectors_came_gets_none(store_url: str) -> None:
    embedder = CountingEmbedder()
    async with talking_app(store_url, embedder=embedder) as app:
        await app.sessions.append_many(said("The heron is grey", "Yes"), session_key="s")
        await app.sessions.delete("s")
        await app.sessions.embeddings.drain()  # type: ignore[union-attr]
        assert await vectors(app) == 0
        assert await loose_ends(app) == {}


async def test_a_failing_embedder_keeps_no_message_out(app: App, sessions: SessionService) -> None:
    class Broken:
        model_id = 1

        class cache:  # noqa: N801
            @staticmethod
            async def embed(*_: object, **__: object) -> None:
                raise EmbeddingFailedError

        async def embed(self, *_: object, **__: object) -> None:
            raise EmbeddingFailedError

    broken = replace(sessions, embedder=Broken())  # type: ignore[arg-type]
    await broken.append_many(said("The heron is grey", "Yes"), session_key="s")
    assert await vectors(app) == 0
    (hit, *_) = await broken.recall("heron", session_key="s")
    assert hit.message.sequence == 1


async def test_a_change_of_model_covers_messages(store_url: str, clock: ManualClock) -> None:
    async with talking_app(store_url, clock=clock) as app:
        await app.sessions.append_many(said("The heron is grey", "Yes", "Why?"), session_key="s")
        await app.sessions.compact_messages("s", up_to=2, summary="a heron")
        await app.memory.add("Ann keeps bees", user_id="ann")
        report = await Reembedding(
            database=app.parts.database, embedder=CountingEmbedder(), sources=all_texts(), clock=clock
        ).run()
        assert report.embedded == 4
    async with talking_app(store_url, clock=clock, embedder=CountingEmbedder()) as app:
        (hit, *_) = await app.sessions.recall("a grey bird", session_key="s")
        assert (hit.message.sequence, hit.signals["vector"] > 0) == (1, True)
        assert await loose_ends(app) == {}


async def test_late_vectors_and_a_compaction_do_not_disturb_each_other(store_url: str) -> None:
    async with talking_app(store_url, embedder=CountingEmbedder()) as app:
        for start in range(0, 40, 10):
            await app.sessions.append_many(said(*(f"line {start + n}" for n in range(10))), session_key="s")
            await app.sessions.compact_messages("s", up_to=start + 8, summary=f"up to {start + 8}")
        await app.sessions.embeddings.drain()  # type: ignore[union-attr]

        def indexed(link: Link) -> int:
            return int(link.execute(sa.text("SELECT count(*) FROM message WHERE archived_at IS NOT NULL")).scalar_one())

        assert await app.parts.database.read(indexed) == 38
        assert await vectors(app) == 40
        assert await loose_ends(app) == {}
