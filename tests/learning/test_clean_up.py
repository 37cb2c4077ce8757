"""A dry run says exactly what the real run then removes."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina.app import App
from lamina.errors import InvalidInputError
from lamina.kernel.clock import ManualClock
from lamina.learning.service import LearningService
from tests.learning.opening import learning_app, loose_ends

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("knowledge.learning.clean-up")]

ENTRY = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from(["timeout", "permission", "general", "user_correction"]),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
)
CRITERIA = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["a", "b", "c"]),
        "category": st.sampled_from(["timeout", "permission", "general"]),
        "max_confidence": st.sampled_from([0.0, 0.3, 1 / 3, 0.5, 2 / 3, 0.75, 0.9, 1.0]),
        "not_seen_since": st.integers(0, 12),
        "has_fix": st.booleans(),
    },
).filter(bool)


async def fill(learning: LearningService, clock: ManualClock, entries: list[Any]) -> None:
    """One learning a minute, with outcomes; some come from a failing tool and have no fix."""
    for number, (tool, category, successes, failures, fixed) in enumerate(entries):
        words = " ".join("x" * (1 + number // 5) + "abcde"[number % 5] for _ in range(1))

        def fail(words: str = words) -> None:
            raise ValueError(f"trouble with {words}")

        if not fixed:
            with pytest.raises(ValueError, match="trouble"):
                learning.wrap(fail, name=tool)()
            await learning.drain()
        else:
            saved = await learning.save("f", tool=tool, error=f"trouble with {words}", category=category)
            for success in [True] * successes + [False] * failures:
                await learning.record_outcome(saved.learning.id, success=success)
        clock.advance(60)


@given(entries=st.lists(ENTRY, max_size=10), criteria=CRITERIA)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_dry_run_reports_exactly_what_the_real_run_removes(entries: list[Any], criteria: dict[str, Any]) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with learning_app(":memory:", clock=clock) as app:
            learning = app.learning
            await fill(learning, clock, entries)
            given = dict(criteria)
            if "not_seen_since" in given:
                given["not_seen_since"] = clock.now() - timedelta(minutes=given["not_seen_since"])
            before = {one.id: one for one in (await learning.list(limit=100)).learnings}
            dry = await learning.clean_up(**given)
            assert {one.id: one for one in (await learning.list(limit=100)).learnings} == before
            real = await learning.clean_up(**given, dry_run=False)
            after = {one.id for one in (await learning.list(limit=100)).learnings}
            assert dry.learnings == real.learnings
            assert {one.id for one in real.learnings} == before.keys() - after
            assert (await learning.clean_up(**given)).count == 0
            assert await loose_ends(app) == {}

    asyncio.run(scenario())


async def test_a_clean_up_removes_what_meets_every_criterion(
    app: App, learning: LearningService, clock: ManualClock
) -> None:
    await fill(
        learning, clock, [("a", "timeout", 0, 2, True), ("a", "timeout", 2, 0, True), ("b", "timeout", 0, 2, True)]
    )
    kept = await learning.correct("greeting", "Say hello.")
    dry = await learning.clean_up(tool="a", max_confidence=0.5)
    assert (dry.dry_run, dry.count) == (True, 1)
    real = await learning.clean_up(tool="a", max_confidence=0.5, dry_run=False)
    assert (real.dry_run, real.learnings) == (False, dry.learnings)
    assert (await learning.list()).total_count == 3
    assert (await learning.clean_up(category="timeout", dry_run=False)).count == 2
    assert [one.id for one in (await learning.list()).learnings] == [kept.learning.id]
    assert await loose_ends(app) == {}
    assert [hit.learning.id for hit in await learning.search("trouble greeting", unsolved=True)] == [kept.learning.id]


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_clean_up_without_any_criterion_is_refused(learning: LearningService, dry_run: bool) -> None:
    await learning.correct("greeting", "Say hello.")
    with pytest.raises(InvalidInputError, match="needs a criterion"):
        await learning.clean_up(dry_run=dry_run)
    assert (await learning.list()).total_count == 1


async def test_a_large_clean_up_removes_everything_it_chose(store_url: str) -> None:
    async with learning_app(store_url) as app:
        saves = (
            app.learning.save("f", trigger="t" * (1 + number % 40) + chr(0x4E00 + number)) for number in range(600)
        )
        await asyncio.gather(*saves)
        assert (await app.learning.clean_up(has_fix=True, dry_run=False)).count == 600
        assert (await app.learning.list()).total_count == 0
        assert await loose_ends(app) == {}
