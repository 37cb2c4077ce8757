"""Search over the latest versions, on both engines."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lamina.app import App
from lamina.database.link import Cursor, Link, Prepared
from lamina.errors import EmbeddingFailedError, InvalidInputError, QueryTooLongError
from lamina.kernel.clock import ManualClock
from lamina.knowledge.service import KnowledgeService
from tests.knowledge.opening import knowing_app
from tests.stores import CountingEmbedder

pytestmark = pytest.mark.anyio

ENTRIES = {
    "deploy-rule": ("rule", "Never deploy on a Friday afternoon"),
    "theme": ("preference", "Alice prefers dark mode in the editor"),
    "adr": ("definition", "An ADR records one architecture decision"),
    "office": ("fact", "The office in Lyon closes at seven"),
    "retry": ("pattern", "Timeouts of the billing service go away after one retry"),
    "name": ("correction", "The client is called Müller GmbH, not Miller"),
}


@pytest.fixture
async def filled(knowledge: KnowledgeService) -> KnowledgeService:
    for key, (category, content) in ENTRIES.items():
        await knowledge.save(key, content, category=category)
    return knowledge


@pytest.mark.requirement("knowledge.store.search")
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("when can we deploy?", "deploy-rule"),
        ("dark-mode", "theme"),
        ("ADR", "adr"),
        ("Lyon office hours", "office"),
        ("billing timeouts", "retry"),
        ("Müller", "name"),
        ("deploy-rule", "deploy-rule"),
    ],
)
async def test_keywords_find_the_entry(filled: KnowledgeService, query: str, key: str) -> None:
    hits = await filled.search(query)
    assert hits[0].key == key
    assert hits[0].entry == await filled.get(key)
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert hits[0].content == ENTRIES[key][1]
    assert hits[0].category.value == ENTRIES[key][0]


async def test_an_entry_is_found_right_after_it_was_saved(knowledge: KnowledgeService) -> None:
    for number in range(5):
        await knowledge.save(f"k{number}", f"The harbour number{number} is deep", category="fact")
        assert (await knowledge.search(f"number{number}"))[0].key == f"k{number}"


@pytest.mark.requirement("knowledge.store.search")
async def test_only_latest_versions_are_found(knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers solarized colours", category="preference")
    await knowledge.save("theme", "Prefers gruvbox colours", category="preference")
    assert await knowledge.search("solarized") == ()
    (hit,) = await knowledge.search("gruvbox")
    assert hit.entry.version == 2


@pytest.mark.requirement("knowledge.store.search")
async def test_a_category_is_part_of_the_query_and_not_applied_after_the_limit(knowledge: KnowledgeService) -> None:
    for number in range(30):
        await knowledge.save(f"fact{number}", "The harbour is deep", category="fact")
    await knowledge.save("rule", "In a harbour, once in a while, ships of every kind wait for a pilot", category="rule")
    assert [hit.key for hit in await knowledge.search("harbour", category="rule", limit=1)] == ["rule"]
    assert await knowledge.search("harbour", category="pattern") == ()
    with pytest.raises(InvalidInputError):
        await knowledge.search("harbour", category="rumour")


async def test_an_off_topic_question_finds_nothing(filled: KnowledgeService) -> None:
    assert await filled.search("quantum chromodynamics lecture", threshold=0.7) == ()


async def test_the_limit_and_the_threshold_cut(filled: KnowledgeService) -> None:
    assert len(await filled.search("the", threshold=0)) == 6
    assert len(await filled.search("the", threshold=0, limit=2)) == 2
    assert [hit.key for hit in await filled.search("dark mode", threshold=0.7)] == ["theme"]


@pytest.mark.requirement("knowledge.store.search")
async def test_use_decides_between_entries_that_fit_equally_well(knowledge: KnowledgeService) -> None:
    for key in ("one", "two", "three"):
        await knowledge.save(key, "Deploy with the blue button", category="fact")
    for _ in range(20):
        await knowledge.used(["one"])
    await knowledge.boost("two", -0.5)
    hits = await knowledge.search("blue button deploy")
    assert [hit.key for hit in hits] == ["one", "three", "two"]


@pytest.mark.requirement("knowledge.store.search")
async def test_the_more_recent_of_two_equals_comes_first(knowledge: KnowledgeService, clock: ManualClock) -> None:
    await knowledge.save("old", "Deploy with the blue button, he said", category="fact")
    clock.advance(90 * 24 * 3600)
    await knowledge.save("new", "Deploy with the blue button, she said", category="fact")
    clock.advance(60)
    assert [hit.key for hit in await knowledge.search("blue button")] == ["new", "old"]
    clock.advance(1)
    await knowledge.save("old", "Deploy with the blue button, they said", category="fact")
    assert [hit.key for hit in await knowledge.search("blue button")] == ["old", "new"]


async def test_a_much_used_entry_never_passes_one_that_fits_far_better(filled: KnowledgeService) -> None:
    for _ in range(100):
        await filled.used(["office"])
    assert (await filled.search("never deploy on a Friday", threshold=0))[0].key == "deploy-rule"


async def test_the_parts_add_up_to_the_score(filled: KnowledgeService) -> None:
    await filled.used(["theme"])
    for hit in await filled.search("dark mode office editor deploy", threshold=0):
        assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-4)
        assert {"lexical", "vector", "use", "recency"} <= set(hit.explain)


async def test_a_query_too_long_or_empty_is_refused(knowledge: KnowledgeService) -> None:
    with pytest.raises(QueryTooLongError) as refused:
        await knowledge.search("x" * 10_001)
    assert refused.value.details == {"max_length": 10_000, "length": 10_001}
    for query in ("", " ", "\0", "\ud800", 3):
        with pytest.raises(InvalidInputError):
            await knowledge.search(query)  # type: ignore[arg-type]


async def test_a_search_is_one_hop_and_embeds_only_what_it_was_not_given(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    assert knowledge.embedder is not None
    vector = await knowledge.embedder.embed("dark mode", tenant="default")
    hops = 0
    read = app.parts.database.read

    async def counting(work: Any) -> Any:
        nonlocal hops
        hops += 1
        return await read(work)

    monkeypatch.setattr(app.parts.database, "read", counting)
    spared = replace(knowledge, embedder=None)
    assert [hit.key for hit in await spared.search("dark mode", vector=vector)] == ["theme"]
    assert [hit.key for hit in await knowledge.search("dark mode")] == ["theme"]
    assert hops == 2


async def test_a_search_reads_no_more_than_scope_and_rows(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    await knowledge.search("dark mode")
    ran: list[Prepared] = []
    run = Link.run

    def counting(link: Link, statement: Prepared, params: Mapping[str, Any]) -> Cursor:
        ran.append(statement)
        return run(link, statement, params)

    monkeypatch.setattr(Link, "run", counting)
    await knowledge.search("dark mode")
    assert len(ran) == 2


async def test_words_find_what_a_failing_embedder_could_not_embed(store_url: str, clock: ManualClock) -> None:
    embedder = CountingEmbedder()
    async with knowing_app(store_url, clock=clock, embedder=embedder) as app:
        embedder.failures = [EmbeddingFailedError(), EmbeddingFailedError()]
        knowledge = replace(app.knowledge, embeddings=None)  # embedded during the save, not after it
        saved = await knowledge.save("theme", "Prefers dark mode", category="preference")
        assert saved.outcome == "created"
        assert [hit.key for hit in await knowledge.search("dark mode")] == ["theme"]
        assert embedder.failures == []
