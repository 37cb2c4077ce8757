"""What a wrapped tool's calls teach, on both engines."""

import asyncio
import logging
from typing import Any

import pytest

from lamina.app import App
from lamina.errors import ProviderError, RateLimitedError
from lamina.kernel.clock import ManualClock
from lamina.kernel.session_key import using_session
from lamina.learning.service import LearningService
from lamina.learning.settings import LearningSettings
from lamina.learning.types import LearningCategory
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.learning.opening import learning_app, loose_ends

pytestmark = pytest.mark.anyio


def connect(port: int) -> str:
    """Connect; only port 1 answers."""
    if port != 1:
        raise ConnectionError(f"nothing listens on port {port}")
    return "connected"


async def attempt(tool: Any, *args: Any, **kwargs: Any) -> None:
    """Call a tool that may fail."""
    try:
        outcome = tool(*args, **kwargs)
        if asyncio.iscoroutine(outcome):
            await outcome
    except Exception:  # noqa: BLE001 -- boundary: what the tool raises is not what is tested
        return


@pytest.mark.requirement("knowledge.learning.error-pattern")
async def test_an_error_is_stored_once_and_counted(app: App, learning: LearningService, clock: ManualClock) -> None:
    tool = learning.wrap(connect)
    for port in (80, 443, 8080):
        await attempt(tool, port)
        await learning.drain()
        clock.advance(60)
    (one,) = (await learning.list()).learnings
    assert one.tool == "connect"
    assert one.trigger == "tool:connect"
    assert one.pattern == "nothing listens on port <number>"
    assert one.diagnosis == "ConnectionError: nothing listens on port 80"
    assert one.category is LearningCategory.TOOL_ERROR
    assert one.occurrence_count == 3
    assert one.fix is None
    assert one.confidence == 0.5
    assert (one.last_seen_at - one.created_at).total_seconds() == 120
    assert await loose_ends(app) == {}


async def test_another_error_and_another_tool_are_learned_apart(learning: LearningService) -> None:
    tool = learning.wrap(connect)
    other = learning.wrap(connect, name="dial")
    for each in (tool, other):
        await attempt(each, 80)
        await attempt(each, "x", "y")
    await learning.drain()
    found = {(one.tool, one.pattern) for one in (await learning.list()).learnings}
    assert len(found) == 4


@pytest.mark.requirement("knowledge.learning.confidence")
async def test_64_concurrent_failures_count_64_on_one_learning(app: App, learning: LearningService) -> None:
    async def flaky(port: int) -> None:
        await asyncio.sleep(0)
        connect(port)

    tool, plain = learning.wrap(flaky, name="connect"), learning.wrap(connect)
    await asyncio.gather(*(attempt(tool, 100 + number) for number in range(32)))
    await asyncio.gather(*(asyncio.to_thread(asyncio.run, attempt(plain, 200 + number)) for number in range(32)))
    await learning.drain()
    (one,) = (await learning.list()).learnings
    assert one.occurrence_count == 64
    assert (await learning.statistics()).total_occurrences == 64
    assert learning.counters.handled_count == 64
    assert await loose_ends(app) == {}


async def test_two_apps_on_one_store_count_on_one_learning(store_url: str) -> None:
    async with learning_app(store_url) as first, learning_app(store_url) as second:
        tools = [first.learning.wrap(connect), second.learning.wrap(connect)]
        await asyncio.gather(*(attempt(tool, number) for number in range(2, 42) for tool in tools))
        await asyncio.gather(first.learning.drain(), second.learning.drain())
        (one,) = (await second.learning.list()).learnings
        assert one.occurrence_count == 80
        assert await loose_ends(first) == {}


@pytest.mark.requirement("knowledge.learning.fix-succeeds")
async def test_a_success_with_the_fix_raises_confidence(learning: LearningService) -> None:
    tool = learning.wrap(connect)
    with using_session("s1"):
        await attempt(tool, 80)
        await learning.drain()
        saved = await learning.save("Use port 1.", tool="connect", error="nothing listens on port 80")
        assert saved.outcome == "changed"
        assert saved.learning.confidence == 0.5
        tool(1)
        await learning.drain()
        once = await learning.get(saved.learning.id)
        assert (once.success_count, once.failure_count) == (1, 0)
        assert once.confidence == pytest.approx(2 / 3)
        (trial,) = await learning.history(once.id)
        assert (trial.successes, trial.failures, trial.confidence) == (1, 0, once.confidence)
        tool(1)
        await learning.drain()
    assert (await learning.get(once.id)).success_count == 1, "nothing had failed before the second success"


@pytest.mark.requirement("knowledge.learning.fix-fails")
async def test_failing_again_lowers_confidence(learning: LearningService) -> None:
    tool = learning.wrap(connect)
    with using_session("s1"):
        await attempt(tool, 80)
        await learning.drain()
        saved = await learning.save("Use port 2.", tool="connect", error="nothing listens on port 80")
        await attempt(tool, 2)
        await learning.drain()
    after = await learning.get(saved.learning.id)
    assert (after.success_count, after.failure_count) == (0, 1)
    assert after.confidence == pytest.approx(1 / 3)
    assert after.confidence < saved.learning.confidence


async def test_a_trusted_fix_that_was_offered_is_judged_by_the_next_call(learning: LearningService) -> None:
    tool = learning.wrap(connect)
    saved = await learning.correct("connecting", "Use port 1.", tool="connect", error="nothing listens on port 80")
    with using_session("s1"):
        await attempt(tool, 80)
        tool(1)
        await learning.drain()
    assert (await learning.get(saved.learning.id)).success_count == 1
    with using_session("s2"):
        await attempt(tool, 80)
    with using_session("s3"):
        tool(1)
    await learning.drain()
    assert (await learning.get(saved.learning.id)).success_count == 1, "another session says nothing"


async def test_concurrent_failures_do_not_speak_against_a_fix_nobody_could_have_tried(
    learning: LearningService,
) -> None:
    async def flaky(port: int) -> None:
        await asyncio.sleep(0)
        connect(port)

    saved = await learning.correct("connecting", "Use port 1.", tool="connect", error="nothing listens on port 80")
    tool = learning.wrap(flaky, name="connect")
    await asyncio.gather(*(attempt(tool, 100 + number) for number in range(16)))
    await learning.drain()
    one = await learning.get(saved.learning.id)
    assert (one.occurrence_count, one.failure_count) == (16, 0)


@pytest.mark.requirement("knowledge.learning.confidence")
async def test_concurrent_outcomes_are_all_counted(learning: LearningService) -> None:
    saved = await learning.save("Use port 1.", tool="connect", error="nothing listens on port 80")
    await asyncio.gather(*(learning.record_outcome(saved.learning.id, success=number % 4 != 0) for number in range(32)))
    after = await learning.get(saved.learning.id)
    assert (after.success_count, after.failure_count) == (24, 8)
    assert after.confidence == pytest.approx(25 / 34)
    assert after.confidence > 0.7


async def test_the_limit_of_a_session_stops_new_learnings_and_not_the_tool(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics.collecting()
    async with learning_app(store_url, metrics=metrics, max_learnings_per_session=2) as app:
        learning = app.learning

        def tool(word: str) -> None:
            raise ValueError(f"bad {word}")

        wrapped = learning.wrap(tool)
        with using_session("s1"), caplog.at_level(logging.WARNING, "lamina.learning"):
            for word in ("apple", "pear", "plum", "apple"):
                with pytest.raises(ValueError, match=word):
                    wrapped(word)
                await learning.drain()
        found = {one.pattern: one.occurrence_count for one in (await learning.list()).learnings}
        assert found == {"bad apple": 2, "bad pear": 1}
        assert await learning.saves_taken("s1") == 2
        assert learning.counters.refused_count == 1
        assert "max_learnings_per_session" in caplog.text
        shown = render_prometheus(metrics)
        assert 'code="RATE_LIMITED"' in shown
        with using_session("s2"):
            await attempt(wrapped, "plum")
        await learning.drain()
        assert (await learning.list()).total_count == 3


@pytest.mark.requirement("knowledge.learning.engine-failure")
async def test_a_store_that_fails_changes_nothing_for_the_tool_and_is_counted_and_logged(
    learning: LearningService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ProviderError("the disk is gone")

    tool = learning.wrap(connect)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "lamina.learning"):
        patched.setattr(type(learning.database), "write", broken)
        assert tool(1) == "connected"
        with pytest.raises(ConnectionError, match="port 80"):
            tool(80)
        await learning.drain()
    assert learning.counters.failed_count == 1
    assert "learning from connect failed" in caplog.text
    await attempt(tool, 80)
    await learning.drain()
    assert (await learning.list()).total_count == 1, "the engine goes on"


async def test_a_full_queue_drops_and_counts_and_never_blocks(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with learning_app(store_url, learning=LearningSettings(queue_capacity=5)) as app:
        tool = app.learning.wrap(connect)
        with caplog.at_level(logging.WARNING, "lamina.learning"):
            for _ in range(20):
                assert tool(1) == "connected"
        assert app.learning.counters.dropped_count == 15
        assert "were not noted" in caplog.text
        await app.learning.drain()
        assert app.learning.counters.handled_count == 5


async def test_closing_the_app_waits_for_what_was_noted_and_later_calls_are_dropped(store_url: str) -> None:
    async with learning_app(store_url) as app:
        learning = app.learning
        tool = learning.wrap(connect)
        for number in range(200):
            await attempt(tool, number + 2)
    assert tool(1) == "connected"
    assert learning.counters.dropped_count == 1
    async with learning_app(store_url) as again:
        (one,) = (await again.learning.list()).learnings
        assert one.occurrence_count == 200


async def test_a_tool_that_outlives_its_event_loop_still_works(sqlite_url: str) -> None:
    def use() -> Any:
        async def inside() -> Any:
            app = learning_app(sqlite_url)
            await app.start()
            tool = app.learning.wrap(connect)
            await app.close()
            return tool

        return asyncio.run(inside())

    tool = await asyncio.to_thread(use)
    assert tool(1) == "connected"


async def test_every_call_leaves_an_audit_row_unless_that_is_switched_off(store_url: str) -> None:
    for audited in (True, False):
        async with learning_app(store_url, learning=LearningSettings(audit_calls=audited)) as app:
            tool = app.learning.wrap(connect)
            with using_session("s1"):
                tool(1)
                await attempt(tool, 80)
            await app.learning.drain()
            rows = (await app.audit.list(action="tool_call")).rows
            assert [row.details["status"] for row in rows] == ["error", "success"], "none more in the second round"
            assert {(row.target, row.session_key, row.actor) for row in rows} == {("connect", "s1", "agent")}
            assert rows[0].details["pattern"] == "nothing listens on port <number>"
            assert rows[1].details["parameters"] == {"port": 1}


async def test_without_audit_rows_the_trials_still_work(store_url: str) -> None:
    async with learning_app(store_url, learning=LearningSettings(audit_calls=False)) as app:
        learning = app.learning
        tool = learning.wrap(connect)
        tool(1)
        assert learning.counters.pending_count == 0, "a success that nobody waits for is not even noted"
        await attempt(tool, 80)
        await learning.drain()
        saved = await learning.save("Use port 1.", tool="connect", error="nothing listens on port 80")
        tool(1)
        await learning.drain()
        assert (await learning.get(saved.learning.id)).success_count == 1


async def test_wrapping_twice_notes_once(learning: LearningService) -> None:
    tool = learning.wrap(learning.wrap(connect))
    assert learning.wrap(tool) is tool
    await attempt(tool, 80)
    await learning.drain()
    assert (await learning.list()).learnings[0].occurrence_count == 1


async def test_a_refused_learning_leaves_an_audit_row_and_no_slot(store_url: str) -> None:
    async with learning_app(store_url, max_learnings_per_session=1) as app:
        await app.learning.save("a", trigger="one", session_key="s")
        with pytest.raises(RateLimitedError) as refused:
            await app.learning.save("b", trigger="two", session_key="s")
        assert refused.value.details["limit"] == "knowledge.max_learnings_per_session"
        assert refused.value.operation == "learning_save"
        row = (await app.audit.list(action="learning_save")).rows[0]
        assert row.details["refused"] == "RATE_LIMITED"
        assert await app.learning.saves_taken("s") == 1
        await app.learning.save("another fix", trigger="one", session_key="s")
        await app.learning.reset_saves("s")
        await app.learning.save("b", trigger="two", session_key="s")
