"""How much a tenant knows, and how it grew."""

import pytest

import lamina
from lamina.kernel.clock import ManualClock

pytestmark = pytest.mark.anyio


async def test_what_is_known_is_counted_by_kind_and_day_for_one_tenant(store_url: str, clock: ManualClock) -> None:
    async with lamina.open(store_url, clock=clock, knowledge={"enabled": True}) as app:
        await app.memory.add("Likes tea", user_id="ana")
        await app.sessions.append(session_key="web:1", role="user", content="Hello there", user_id="ana")
        clock.advance(2 * 86_400)
        await app.memory.add("Likes plums", user_id="ana")
        await app.knowledge.save("rule", "Nobody deploys on Fridays", category="rule")
        await app.for_tenant("other").memory.add("Likes coffee", user_id="ana")
        figures = app.for_tenant("default").figures
        counts = await figures.counts()
        days = await figures.growth(days=3)
        said = await figures.conversations()
    assert counts["memories"] == 2
    assert {name: count for name, count in counts.items() if count} == {
        "memories": 2,
        "knowledge": 1,
        "messages": 1,
        "sessions": 1,
    }
    assert [day.added["memories"] for day in days] == [1, 0, 1]
    assert [day.added["messages"] for day in days] == [1, 0, 0]
    assert days[-1].date == clock.now().date()
    assert (said.sessions, said.raw_tokens > 0) == (1, True)
