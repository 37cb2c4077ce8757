"""Versioned entries, on both engines."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamina.app import App
from lamina.errors import InvalidCursorError, InvalidInputError, KnowledgeNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.kernel.saved import SavedText
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.types import Category, Origin
from tests.knowledge.opening import knowing_app, loose_ends, row_counts

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("knowledge.store.new-key")
async def test_a_new_key_is_version_one_with_every_field(knowledge: KnowledgeService, clock: ManualClock) -> None:
    result = await knowledge.save(
        "deploy-rule",
        "Never deploy on a Friday",
        category="rule",
        tags=["ops", "release", "ops"],
        source="handbook",
        origin="user",
    )
    entry = result.entry
    assert (result.outcome, result.created, result.changed, result.redacted) == ("created", True, True, False)
    assert (entry.key, entry.category, entry.content) == ("deploy-rule", Category.RULE, "Never deploy on a Friday")
    assert (entry.tags, entry.source, entry.origin) == (("ops", "release"), "handbook", Origin.USER)
    assert (entry.version, entry.relevance, entry.use_count, entry.last_used_at) == (1, 1.0, 0, None)
    assert entry.created_at == entry.updated_at == clock.now()
    assert await knowledge.get("deploy-rule") == entry


@pytest.mark.requirement("knowledge.store.changed")
async def test_a_changed_content_or_category_is_the_next_version(
    app: App, knowledge: KnowledgeService, clock: ManualClock
) -> None:
    first = (await knowledge.save("theme", "Prefers dark mode", category="fact", tags=["ui"], source="chat")).entry
    clock.advance(60)
    second = await knowledge.save("theme", "Prefers light mode", category="fact")
    clock.advance(60)
    third = await knowledge.save("theme", "Prefers light mode", category="preference", tags=[])
    assert [second.outcome, third.outcome] == ["changed", "changed"]
    assert second.entry.tags == ("ui",), "tags that were not given stay"
    assert second.entry.source == "chat"
    assert third.entry.tags == ()
    assert third.entry.version == 3
    assert third.entry.created_at == first.created_at
    assert third.entry.updated_at == first.created_at + timedelta(seconds=120)
    history = await knowledge.history("theme")
    assert [(one.version, one.category.value, one.content) for one in history] == [
        (3, "preference", "Prefers light mode"),
        (2, "fact", "Prefers light mode"),
        (1, "fact", "Prefers dark mode"),
    ]
    assert [one.tags for one in history] == [(), ("ui",), ("ui",)]
    assert history[-1].saved_at == first.created_at
    assert await loose_ends(app) == {}


@pytest.mark.requirement("knowledge.store.changed")
async def test_use_and_relevance_survive_a_new_version(knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    await knowledge.used(["theme"])
    changed = (await knowledge.save("theme", "Prefers light mode", category="preference")).entry
    assert changed.use_count == 1
    assert changed.relevance == pytest.approx(1.05)


@pytest.mark.requirement("knowledge.store.unchanged")
async def test_the_same_content_makes_no_version(knowledge: KnowledgeService, clock: ManualClock) -> None:
    first = await knowledge.save("theme", "Prefers dark mode", category="preference", tags=["ui"])
    clock.advance(60)
    again = await knowledge.save("theme", "Prefers dark mode", category="preference")
    assert (again.outcome, again.changed, again.entry) == ("unchanged", False, first.entry)
    assert len(await knowledge.history("theme")) == 1


async def test_new_tags_and_source_are_noted_on_the_same_version(knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference", tags=["ui"])
    noted = await knowledge.save("theme", "Prefers dark mode", category="preference", tags=["look"], source="chat")
    assert (noted.outcome, noted.changed) == ("annotated", False)
    stored = await knowledge.get("theme")
    assert (stored.tags, stored.source, stored.version) == (("look",), "chat", 1)


async def test_what_an_agent_guessed_becomes_the_users_word_when_the_user_says_it(
    knowledge: KnowledgeService,
) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    confirmed = await knowledge.save("theme", "Prefers dark mode", category="preference", origin="user")
    assert (confirmed.outcome, confirmed.entry.origin) == ("annotated", Origin.USER)
    later = await knowledge.save("theme", "Prefers dark mode", category="preference", origin="tool")
    assert (later.outcome, later.entry.origin) == ("unchanged", Origin.USER)


async def test_a_clock_that_goes_back_makes_no_version_older_than_the_one_before(
    store_url: str, clock: ManualClock
) -> None:
    async with knowing_app(store_url, clock=clock) as app:
        first = (await app.knowledge.save("k", "one", category="fact")).entry
    async with knowing_app(store_url, clock=ManualClock(first.updated_at - timedelta(days=1))) as app:
        second = (await app.knowledge.save("k", "two", category="fact")).entry
    assert second.updated_at == first.updated_at


@pytest.mark.requirement("knowledge.store.unknown-category")
async def test_an_unknown_category_is_an_error_that_names_the_known_ones_and_stores_nothing(
    app: App, knowledge: KnowledgeService
) -> None:
    for category in ("rumour", "", "Rule", None, 3):
        with pytest.raises(InvalidInputError, match="rule, preference, definition, fact, pattern, correction"):
            await knowledge.save("k", "text", category=category)  # type: ignore[arg-type]
    assert set((await row_counts(app)).values()) == {0}


@pytest.mark.requirement("knowledge.store.get")
async def test_a_missing_key_is_a_not_found_error_that_names_it(knowledge: KnowledgeService) -> None:
    for verb in (knowledge.get, knowledge.history, knowledge.delete):
        with pytest.raises(KnowledgeNotFoundError) as missing:
            await verb("nothing")
        assert missing.value.code == "KNOWLEDGE_NOT_FOUND"
        assert missing.value.details == {"key": "nothing"}
        assert missing.value.operation == f"knowledge_{verb.__name__}"
    with pytest.raises(KnowledgeNotFoundError):
        await knowledge.boost("nothing", 1)


@pytest.mark.requirement("knowledge.store.delete")
async def test_a_deletion_removes_all_versions_and_index_rows(app: App, knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    await knowledge.save("theme", "Prefers light mode", category="preference")
    await knowledge.save("other", "Drinks tea", category="preference")
    await knowledge.delete("theme")
    counts = await row_counts(app, "knowledge", "knowledge_version", "index_entry", "index_vector")
    assert set(counts.values()) == {1}
    assert await loose_ends(app) == {}
    assert [hit.key for hit in await knowledge.search("light mode", threshold=0)] == ["other"]
    again = await knowledge.save("theme", "Prefers sepia", category="preference")
    assert (again.outcome, again.entry.version) == ("created", 1)
    assert len(await knowledge.history("theme")) == 1


async def test_pages_cover_everything_once_newest_key_first(knowledge: KnowledgeService) -> None:
    for number in range(7):
        await knowledge.save(f"k{number}", f"text {number}", category="rule" if number % 2 else "fact")
    await knowledge.save("k0", "changed", category="fact")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await knowledge.list(limit=3, cursor=cursor)
        assert page.total_count == 7
        seen += [entry.key for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"k{number}" for number in reversed(range(7))]
    rules = await knowledge.list(category="rule")
    assert [entry.key for entry in rules.entries] == ["k5", "k3", "k1"]
    assert rules.total_count == 3


async def test_a_cursor_of_another_listing_is_refused(knowledge: KnowledgeService) -> None:
    for number in range(3):
        await knowledge.save(f"k{number}", "text", category="fact")
    cursor = (await knowledge.list(limit=1)).next_cursor
    assert cursor is not None
    for wrong in (cursor[:-1], "x", cursor + "A"):
        with pytest.raises(InvalidCursorError):
            await knowledge.list(limit=1, cursor=wrong)
    with pytest.raises(InvalidCursorError):
        await knowledge.list(limit=1, cursor=cursor, category="fact")
    with pytest.raises(InvalidCursorError):
        await knowledge.for_tenant("other").list(limit=1, cursor=cursor)


async def test_limits_out_of_range_are_refused(knowledge: KnowledgeService) -> None:
    for limit in (0, 101, True, 1.5):
        with pytest.raises(InvalidInputError):
            await knowledge.list(limit=limit)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError):
            await knowledge.search("x", limit=limit)  # type: ignore[arg-type]


@pytest.mark.requirement("knowledge.store.use-feedback")
async def test_use_is_counted_and_scores_stay_within_bounds(knowledge: KnowledgeService, clock: ManualClock) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    assert await knowledge.used(["theme", "theme", "missing"]) == 1
    entry = await knowledge.get("theme")
    assert (entry.use_count, entry.last_used_at) == (1, clock.now())
    assert entry.relevance == pytest.approx(1.05)
    assert (await knowledge.boost("theme", 3.9)).relevance == pytest.approx(4.95)
    await knowledge.used(["theme"])
    await knowledge.used(["theme"])
    assert (await knowledge.get("theme")).relevance == 5.0
    assert (await knowledge.boost("theme", -4.85)).relevance == pytest.approx(0.15)
    assert await knowledge.decay(0.1) == 1
    assert (await knowledge.get("theme")).relevance == 0.1
    assert await knowledge.used([]) == 0


async def test_a_step_of_relevance_that_is_no_number_is_refused(knowledge: KnowledgeService) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    for delta in (float("nan"), float("inf"), "1", True, None):
        with pytest.raises(InvalidInputError):
            await knowledge.boost("theme", delta)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError):
            await knowledge.decay(delta)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        await knowledge.decay(-1)
    assert (await knowledge.get("theme")).relevance == 1.0


async def test_listeners_hear_of_new_and_changed_texts_only(app: App) -> None:
    heard: list[SavedText] = []
    knowledge = replace(app.knowledge, on_saved=heard.append)
    await knowledge.save("theme", "dark", category="preference", session_key="s")
    await knowledge.save("theme", "dark", category="preference")
    await knowledge.save("theme", "dark", category="preference", tags=["ui"])
    await knowledge.save("theme", "light", category="preference")
    assert [(one.kind, one.key, one.text, one.created, one.session_key) for one in heard] == [
        ("knowledge", "theme", "dark", True, "s"),
        ("knowledge", "theme", "light", False, None),
    ]
