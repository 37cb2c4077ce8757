"""Search in small stores: what every new user meets first."""

from collections import Counter
from pathlib import Path

import pytest

import lamina
from lamina.evaluation.small import SmallStore, evaluate_small, small_stores
from tests.stores import app_on

pytestmark = pytest.mark.anyio

FRANCE = "What is the capital of France?"


def test_the_shipped_stores_are_labelled_soundly() -> None:
    stores = small_stores()
    assert len({store.name for store in stores}) == len(stores) >= 40
    assert Counter(store.part for store in stores).keys() == {"dev", "held_out"}
    for store in stores:
        assert 1 <= len(store.memories) <= 30
        assert len(store.off_topic) >= 2
        assert len(store.asked) >= 3
        assert all(wanted and max(wanted) < len(store.memories) for _, wanted in store.asked)


async def test_small_stores_answer_what_they_can_and_little_else(tmp_path: Path) -> None:
    async with app_on(f"sqlite:///{tmp_path}/small.db") as app:
        report = await evaluate_small(app, small_stores())
    dev, held_out = report.parts["dev"], report.parts["held_out"]
    assert dev.recall >= 0.84
    assert dev.mrr >= 0.82
    assert held_out.recall >= 0.74
    assert held_out.mrr >= 0.71
    for part in (dev, held_out):
        assert part.other_results_mean <= 0.6
        assert part.off_topic_results_mean <= 0.06
        assert part.saturated_share <= 0.06


async def test_the_figures_of_an_evaluation_are_those_of_its_answers(tmp_path: Path) -> None:
    store = SmallStore(
        name="two",
        part="dev",
        memories=("Never deploy on Friday", "Has two cats"),
        conversation=False,
        asked=(("cats", frozenset({1})), ("Can we deploy on Friday?", frozenset({0, 1}))),
        off_topic=(FRANCE, "cats"),
    )
    async with app_on(f"sqlite:///{tmp_path}/two.db") as app:
        report = await evaluate_small(app, [store])
    assert set(report.parts) == {"dev"}
    figures = report.to_dict()["dev"]
    assert (figures["recall"], figures["mrr"]) == (0.75, 1.0)
    assert (figures["other_results_mean"], figures["off_topic_results_mean"]) == (0.0, 0.5)
    assert (figures["stores"], figures["questions"], figures["off_topic_questions"]) == (1, 2, 2)


@pytest.mark.parametrize("question", ["which theme?", "which theme does the user like?", "dark mode"])
async def test_the_first_memory_of_a_new_user_is_found(tmp_path: Path, question: str) -> None:
    async with lamina.open(f"{tmp_path}/first.db") as app:
        await app.memory.add("Prefers dark mode", user_id="u1")
        (hit,) = await app.memory.search(question, user_id="u1", explain=True)
        assert not await app.memory.search(FRANCE, user_id="u1")
    assert hit.content == "Prefers dark mode"
    assert hit.explain is not None
    assert set(hit.explain) <= {"lexical", "vector"}
    assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-3)


async def test_in_a_short_conversation_the_answer_comes_first_and_the_rest_stays_away(tmp_path: Path) -> None:
    (store,) = (store for store in small_stores() if store.name == "school chat")
    async with app_on(f"sqlite:///{tmp_path}/chat.db") as app:
        await app.memory.bulk_add(store.to_memories())
        hits = (await app.memory.search("When does Mia start school?", user_id=store.name)).hits
    assert "Mia starts school in August" in hits[0].content
    assert len(hits) <= 3
    assert hits[0].score - hits[1].score > 0.05
