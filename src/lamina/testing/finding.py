"""Search: the better match first, scores that mean something, limits that cut last."""

from datetime import timedelta

import numpy as np

from lamina.memory.provider import Embedding, SearchRequest
from lamina.testing.check import check, equal, holds
from lamina.testing.workbench import Workbench, found_ids, tagged

TOPICS = {
    "When is the invoice for the office rent due?": "The invoice for the office rent is due on the third of each month",
    "What does the grey cat like to eat?": "The grey cat likes to eat tuna and nothing else",
    "Which database does the billing service use?": "The billing service keeps its data in a PostgreSQL database",
    "Who plays the cello in the orchestra?": "Marta plays the cello in the city orchestra",
}


class FindingChecks:
    """Ranking, thresholds, limits, totals."""

    @check
    async def test_the_better_match_comes_first(self, bench: Workbench) -> None:
        """Each question finds its own answer before all others."""
        ids = {question: (await bench.add(answer)).id for question, answer in TOPICS.items()}
        for question, id in ids.items():
            equal(found_ids(await bench.search(question))[:1], (id,), f"The best match of {question!r} comes first.")

    @check
    async def test_scores_are_relevances_in_order(self, bench: Workbench) -> None:
        """From 0 to 1, falling, and the same for the same question."""
        for answer in TOPICS.values():
            await bench.add(answer)
        question = next(iter(TOPICS))
        scores = [found.score for found in (await bench.search(question)).found]
        holds(all(0 <= score <= 1 for score in scores), "A score lies between 0 and 1.")
        equal(scores, sorted(scores, reverse=True), "Results come best first.")
        again = [found.score for found in (await bench.search(question)).found]
        equal(again, scores, "The same question has the same scores.")

    @check
    async def test_a_threshold_cuts_below_and_keeps_what_equals_it(self, bench: Workbench) -> None:
        """Every score found is a threshold that keeps exactly the results at or above it."""
        for answer in TOPICS.values():
            await bench.add(answer)
        for question in TOPICS:
            everything = (await bench.search(question)).found
            for threshold in {found.score for found in everything} | {0.5, 1.0}:
                wanted = tuple(found.entry.id for found in everything if found.score >= threshold)
                results = await bench.search(question, threshold=threshold)
                equal(found_ids(results), wanted, f"Results at or above {threshold} are found, others are not.")
                equal(results.total, len(wanted), "The total counts what passed the threshold.")

    @check
    async def test_a_limit_keeps_the_best_and_the_total(self, bench: Workbench) -> None:
        """The limit cuts last: the best stay, the total counts all."""
        for answer in TOPICS.values():
            await bench.add(answer)
        question = next(iter(TOPICS))
        everything = await bench.search(question)
        for limit in (1, 2, 3):
            results = await bench.search(question, limit=limit)
            equal(found_ids(results), found_ids(everything)[:limit], "A limit keeps the best.")
            equal(results.total, everything.total, "The total is counted before the limit.")

    @check
    async def test_a_filter_runs_before_the_limit(self, bench: Workbench) -> None:
        """A weak match that passes the filter is found behind many strong ones that do not."""
        if not bench.provider.capabilities.metadata_filtering:
            return
        question, answer = next(iter(TOPICS.items()))
        for _ in range(12):
            await bench.add(answer, tags=("strong",))
        weak = await bench.add("Rent", tags=("weak",))
        results = await bench.search(question, limit=1, filter=tagged("weak"))
        equal((found_ids(results), results.total), ((weak.id,), 1), "A filter decides before the limit cuts.")

    @check
    async def test_what_expired_neither_shows_nor_fills_the_limit(self, bench: Workbench) -> None:
        """An expired entry gives its place to a live one, at the request's time."""
        question, answer = next(iter(TOPICS.items()))
        soon = await bench.add(answer, expires_at=bench.now + timedelta(minutes=1))
        stays = await bench.add("Some words on rent")
        equal(found_ids(await bench.search(question, limit=1)), (soon.id,), "An entry is found until it expires.")
        bench.advance(minutes=1)
        results = await bench.search(question, limit=1)
        equal((found_ids(results), results.total), ((stays.id,), 1), "An expired entry takes no place.")

    @check
    async def test_an_empty_scope_has_no_results(self, bench: Workbench) -> None:
        """No entries, no total, no error."""
        results = await bench.search("anything", bench.scope(bench.alice.layer, user_id="nobody"))
        equal((tuple(results.found), results.total), ((), 0), "An unknown scope has no results.")

    @check
    async def test_an_add_is_found_by_the_very_next_search(self, bench: Workbench) -> None:
        """Also when the scope was searched before."""
        for question, answer in TOPICS.items():
            await bench.search(question)
            entry = await bench.add(answer)
            found = found_ids(await bench.search(question))
            holds(entry.id in found, "An add is found by the very next search.")

    @check
    async def test_results_carry_the_whole_entry(self, bench: Workbench) -> None:
        """A result is the entry as stored; its vector, where given, that of its text."""
        entry = await bench.add("Marta plays the cello", metadata={"a": [1]}, tags=("music",))
        (found,) = (await bench.search("cello", explain=True)).found
        equal(found.entry, entry, "A result carries the entry as stored.")
        if found.vector is not None:
            (made,) = await bench.embed(entry.content)
            shape = (bench.provider.capabilities.embedding_dimensions,)
            equal(found.vector.shape, shape, "A result's vector has the stated dimensions.")
            holds(abs(float(np.linalg.norm(found.vector)) - 1) < 1e-2, "A result's vector is of length one.")
            close = made.vector is None or float(found.vector @ made.vector) > 0.99
            holds(close, "A result's vector is that of its text.")

    @check
    async def test_a_question_without_a_vector_is_no_error(self, bench: Workbench) -> None:
        """Whatever the provider finds by words alone."""
        await bench.add("Marta plays the cello")
        request = SearchRequest(
            scope=bench.alice,
            query="cello",
            embedding=Embedding(vector=None),
            limit=10,
            threshold=0.0,
            now=bench.now,
        )
        await bench.provider.search(request)

    @check
    async def test_questions_of_any_form_are_no_error(self, bench: Workbench) -> None:
        """Operators of query languages are words like others."""
        await bench.add("Marta plays the cello")
        for question in ('"', "*", "AND OR NOT", "a:b", "(", "NEAR(x", "-", "'; DROP TABLE x", "%", "?", "the", "日本"):
            await bench.search(question)
