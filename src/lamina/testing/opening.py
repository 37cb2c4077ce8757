"""What a provider says of itself, how it opens and closes, and its embeddings."""

import numpy as np

from lamina.errors import LaminaError
from lamina.memory.provider import EmbedRequest
from lamina.testing.check import check, equal, holds, refuses
from lamina.testing.workbench import Workbench

METRICS = {"cosine", "euclidean", "dot_product"}


class OpeningChecks:
    """Capabilities, health, shutdown, embeddings."""

    @check
    async def test_capabilities_are_sensible(self, bench: Workbench) -> None:
        """Dimensions, metrics and limits are given."""
        able = bench.provider.capabilities
        flags = (able.vector_search, able.metadata_filtering, able.bulk_operations)
        holds(all(isinstance(flag, bool) for flag in flags), "Capabilities are True or False.")
        if able.vector_search:
            holds(able.embedding_dimensions > 0, "A provider with vector search says how long its vectors are.")
            holds(bool(able.distance_metrics), "A provider with vector search names its distance metrics.")
        holds(set(able.distance_metrics) <= METRICS, f"Distance metrics are among {sorted(METRICS)}.")
        holds(able.max_content_length > 0 and able.max_metadata_size > 0, "The limits are above zero.")

    @check
    async def test_an_open_provider_is_healthy(self, bench: Workbench) -> None:
        """The health check of a provider that works."""
        health = await bench.provider.health_check()
        equal(health.status, "healthy", "A provider that was opened is healthy.")
        holds(health.latency_ms >= 0, "The latency of a health check is not negative.")

    @check
    async def test_shutdown_is_idempotent_and_final(self, bench: Workbench) -> None:
        """A second shutdown does nothing; afterwards calls fail with an error of the house."""
        request = await bench.request("stored too late")
        await bench.provider.shutdown()
        await bench.provider.shutdown()
        await refuses(bench.provider.add(request), LaminaError, "A provider that was shut down stores nothing.")
        await refuses(bench.get("any"), LaminaError, "A provider that was shut down reads nothing.")
        health = await bench.provider.health_check()
        holds(health.status != "healthy", "A provider that was shut down is not healthy, and does not raise.")

    @check
    async def test_what_was_stored_outlives_a_shutdown_of_another_provider(self, bench: Workbench) -> None:
        """A second provider that comes and goes takes nothing with it."""
        entry = await bench.add("Stays where it is")
        other = await self.make_provider()  # type: ignore[attr-defined]
        await other.initialize()
        await other.shutdown()
        equal(await bench.get(entry.id), entry, "Closing one provider leaves another's entries alone.")

    @check
    async def test_embeddings_come_in_order_and_normalised(self, bench: Workbench) -> None:
        """One vector a text, of the stated length, of length one, the same for the same text."""
        able = bench.provider.capabilities
        if not able.vector_search:
            return
        texts = ("the cat sleeps", "invoices are due on Friday", "the cat sleeps")
        made = await bench.embed(*texts)
        equal(len(made), len(texts), "There is one embedding a text.")
        vectors = [one.vector for one in made if one.vector is not None]
        equal(len(vectors), len(texts), "A text with words has a vector.")
        for vector in vectors:
            equal(vector.shape, (able.embedding_dimensions,), "A vector has the stated dimensions.")
            holds(abs(float(np.linalg.norm(vector)) - 1) < 1e-2, "A vector is of length one.")
        holds(bool(np.allclose(vectors[0], vectors[2], atol=1e-2)), "The same text has the same vector.")
        holds(not np.allclose(vectors[0], vectors[1], atol=1e-2), "Different texts have different vectors.")

    @check
    async def test_embedding_nothing_gives_nothing(self, bench: Workbench) -> None:
        """No texts, no embeddings."""
        equal(tuple(await bench.embed()), (), "No texts have no embeddings.")

    @check
    async def test_a_question_is_embedded_like_the_texts(self, bench: Workbench) -> None:
        """Queries have vectors of the same length."""
        request = EmbedRequest(tenant=bench.tenant, texts=("who sleeps?",), purpose="query")
        (made,) = await bench.provider.generate_embedding(request)
        if bench.provider.capabilities.vector_search:
            holds(made.vector is not None, "A question has a vector.")
            shape = None if made.vector is None else made.vector.shape
            equal(shape, (bench.provider.capabilities.embedding_dimensions,), "A question's vector is as long.")
