"""Off by default: nothing is kept and nothing is found."""

import pytest

from lamina.config import load_settings
from lamina.errors import ConfigurationError
from lamina.knowledge.settings import KnowledgeSettings
from tests.knowledge.opening import knowing_app, row_counts

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("knowledge.disabled")
async def test_while_it_is_off_nothing_is_stored_or_found(store_url: str) -> None:
    async with knowing_app(store_url) as app:
        await app.knowledge.save("theme", "Prefers dark mode", category="preference")
        await app.references.save("docs", type="api", location="here", summary="pods")
        before = await row_counts(app)
    async with knowing_app(store_url, enabled=False) as app:
        for refused in (
            app.knowledge.save("new", "text", category="fact"),
            app.knowledge.get("theme"),
            app.knowledge.history("theme"),
            app.knowledge.delete("theme"),
            app.knowledge.boost("theme", 1),
            app.knowledge.decay(1),
            app.references.save("new", type="api", location="here", summary="text"),
            app.references.get("docs"),
            app.references.delete("docs"),
        ):
            with pytest.raises(ConfigurationError, match=r"knowledge\.enabled = true"):
                await refused
        assert await app.knowledge.search("dark mode", threshold=0) == ()
        assert (await app.knowledge.list()).total_count == 0
        assert await app.knowledge.used(["theme"]) == 0
        assert await app.references.search("pods", threshold=0) == ()
        assert (await app.references.list()).total_count == 0
        await app.audit.record(tenant="default", action="tool_call", actor="agent")
        assert await row_counts(app) == before
    async with knowing_app(store_url) as app:
        assert (await app.knowledge.get("theme")).use_count == 0
        assert [hit.key for hit in await app.knowledge.search("dark mode")] == ["theme"]


@pytest.mark.requirement("knowledge.disabled")
def test_it_is_off_unless_it_is_switched_on() -> None:
    assert load_settings(environ={}).settings.knowledge == KnowledgeSettings()
    assert KnowledgeSettings().enabled is False
    switched = load_settings(environ={"LAMINA_KNOWLEDGE__ENABLED": "true"}).settings
    assert switched.knowledge.enabled is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_saves_per_session": -1},
        {"max_content_length": 0},
        {"search_limit": 101},
        {"threshold": 1.1},
        {"relevance_floor": 0},
        {"relevance_floor": 2},
        {"relevance_ceiling": 0.5},
        {"relevance_boost": -1},
        {"recency_half_life_days": 0},
    ],
    ids=str,
)
def test_a_setting_that_cannot_work_is_refused_with_its_name(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=name):
        load_settings(environ={}, overrides={"knowledge": wrong})
