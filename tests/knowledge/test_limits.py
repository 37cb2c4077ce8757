"""How much a session may save."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.database.slots import Slot, taken_slots
from lamina.errors import InvalidInputError, ProviderError, RateLimitedError
from lamina.kernel.clock import ManualClock
from lamina.kernel.session_key import using_session
from lamina.knowledge import writing
from lamina.knowledge.service import SAVE_LIMIT, KnowledgeService
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.tables import knowledge as knowledge_table
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.knowledge.opening import knowing_app

pytestmark = pytest.mark.anyio


async def fill(knowledge: KnowledgeService, count: int, session: str = "s") -> None:
    for number in range(count):
        await knowledge.save(f"{session}-{number}", "text", category="fact", session_key=session)


@pytest.mark.requirement("knowledge.limits.refused")
async def test_a_refused_save_names_the_limit_is_counted_and_leaves_a_row(store_url: str) -> None:
    metrics = Metrics.collecting()
    async with knowing_app(store_url, metrics=metrics, max_saves_per_session=2) as app:
        await fill(app.knowledge, 2)
        with pytest.raises(RateLimitedError, match=r"knowledge\.max_saves_per_session = 2") as refused:
            await app.knowledge.save("third", "text", category="fact", session_key="s")
        assert refused.value.code == "RATE_LIMITED"
        assert refused.value.operation == "knowledge_save"
        assert refused.value.details["limit"] == "knowledge.max_saves_per_session"
        assert refused.value.details["most"] == 2
        assert 'code="RATE_LIMITED",operation="knowledge_save"' in render_prometheus(metrics)
        (row,) = (await app.audit.list(target="third")).rows
        assert (row.action, row.session_key, row.details["refused"]) == ("knowledge_save", "s", "RATE_LIMITED")
        assert (await app.knowledge.list()).total_count == 2


async def test_another_session_has_its_own_slots_and_no_session_has_no_limit(store_url: str) -> None:
    async with knowing_app(store_url, max_saves_per_session=2) as app:
        await fill(app.knowledge, 2, "one")
        await fill(app.knowledge, 2, "two")
        for number in range(5):
            await app.knowledge.save(f"person-{number}", "text", category="fact")
        await app.knowledge.for_tenant("other").save("k", "text", category="fact", session_key="one")


@pytest.mark.requirement("knowledge.limits.update-free")
async def test_an_update_uses_no_slot(store_url: str) -> None:
    async with knowing_app(store_url, max_saves_per_session=2) as app:
        await fill(app.knowledge, 2)
        for number in range(5):
            changed = await app.knowledge.save("s-0", f"text {number}", category="fact", session_key="s")
            assert changed.entry.version == number + 2
        assert await app.knowledge.saves_taken("s") == 2


@pytest.mark.requirement("knowledge.limits.release")
async def test_a_failed_write_gives_its_slot_back(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with knowing_app(store_url, max_saves_per_session=2) as app:
        await fill(app.knowledge, 1)
        with monkeypatch.context() as broken:
            broken.setattr(writing, "_keep_version", _fail)
            with pytest.raises(ProviderError):
                await app.knowledge.save("k", "text", category="fact", session_key="s")
        assert await app.knowledge.saves_taken("s") == 1
        await app.knowledge.save("k", "text", category="fact", session_key="s")
        assert await app.knowledge.saves_taken("s") == 2


async def test_a_cancelled_save_is_either_stored_with_its_slot_or_neither(store_url: str) -> None:
    async with knowing_app(store_url) as app:
        for number in range(20):
            save = asyncio.create_task(app.knowledge.save(f"k{number}", "text", category="fact", session_key="s"))
            for _ in range(number % 5):
                await asyncio.sleep(0)
            save.cancel()
            await asyncio.gather(save, return_exceptions=True)

        def look(link: Link) -> tuple[int, int]:
            with link.snapshot():  # a cancelled save may still be under way on its thread
                slot = Slot(tenant="default", name=SAVE_LIMIT, holder="s")
                stored = sa.select(sa.func.count()).select_from(knowledge_table)
                return taken_slots(link, slot), link.execute(stored).scalar_one()

        taken, stored = await app.parts.database.read(look)
        assert taken == stored


async def test_slots_survive_a_restart_and_can_be_freed(store_url: str) -> None:
    async with knowing_app(store_url, max_saves_per_session=2) as app:
        await fill(app.knowledge, 2)
    async with knowing_app(store_url, max_saves_per_session=2) as app:
        with pytest.raises(RateLimitedError):
            await app.knowledge.save("k", "text", category="fact", session_key="s")
        await app.knowledge.reset_saves("s")
        assert await app.knowledge.saves_taken("s") == 0
        await app.knowledge.save("k", "text", category="fact", session_key="s")


@pytest.mark.requirement("knowledge.limits.settings")
async def test_unset_is_the_default_and_zero_is_unlimited(store_url: str) -> None:
    defaults = KnowledgeSettings()
    assert (defaults.max_saves_per_session, defaults.max_learnings_per_session) == (20, 10)
    async with knowing_app(store_url) as app:
        await fill(app.knowledge, 20)
        with pytest.raises(RateLimitedError):
            await app.knowledge.save("k", "text", category="fact", session_key="s")
    async with knowing_app(store_url, max_saves_per_session=0) as app:
        await app.knowledge.save("k", "text", category="fact", session_key="s")
    with pytest.raises(ValueError, match="0 is unlimited"):
        KnowledgeSettings(max_saves_per_session=-1)


async def test_the_session_of_the_request_is_taken_from_its_context(app: App, clock: ManualClock) -> None:
    async def save(session: str, count: int) -> None:
        with using_session(session):
            for number in range(count):
                await app.knowledge.save(f"{session}-{number}", "text", category="fact")

    await asyncio.gather(save("telegram:1:1", 2), save("slack:2:2", 3))
    assert await app.knowledge.saves_taken("telegram:1:1") == 2
    assert await app.knowledge.saves_taken("slack:2:2") == 3
    rows = (await app.audit.list(session_key="slack:2:2")).rows
    assert {row.target for row in rows} == {"slack:2:2-0", "slack:2:2-1", "slack:2:2-2"}


async def test_a_session_key_that_cannot_be_one_is_refused(knowledge: KnowledgeService) -> None:
    for session in ("a\0b", "\ud800", "x" * 1025, " "):
        with pytest.raises(InvalidInputError):
            await knowledge.save("k", "text", category="fact", session_key=session)


def _fail(*_: Any) -> None:
    raise ProviderError("the disk went away")
