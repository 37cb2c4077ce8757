"""Turns in the background: at once, coalesced, fair, bounded, found again, and ended in order."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from lamina.observation.pipeline import Pipeline
from lamina.observation.settings import ObservationSettings
from lamina.observation.state import take_lease
from lamina.observation.worker import ObservationWorker
from lamina.session.types import Appended, Role
from tests.observation.bench import KEY, TENANT, Bench, bench_on
from tests.observation.scripted import ScriptedObserver, model_failure

pytestmark = pytest.mark.anyio


def settings(**changes: float) -> ObservationSettings:
    given = {
        "message_token_threshold": 100,
        "observation_token_threshold": 400,
        "retained_tail_tokens": 40,
        "max_batch_tokens": 200,
        "sweep_interval_s": 60,
        **changes,
    }
    return ObservationSettings(enabled=True, **given)  # type: ignore[arg-type]


@asynccontextmanager
async def working(bench: Bench, *, deadline_s: float = 10) -> AsyncIterator[ObservationWorker]:
    """A worker on the bench, stopped at the end."""
    worker = ObservationWorker(bench.pipeline)
    async with anyio.create_task_group() as group:
        worker.start(group)
        try:
            yield worker
        finally:
            await worker.stop(deadline_s)


async def until(what: object, wanted: object) -> None:
    """Let others run until something is so."""
    assert callable(what)
    with anyio.fail_after(30):
        while what() != wanted:
            await anyio.sleep(0)


@pytest.mark.requirement("observation.buffer.non-blocking")
async def test_a_trigger_returns_at_once_and_the_note_comes_later(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    async with bench_on(store_url, settings=settings(), observer=slow) as bench:
        await bench.say(9)
        async with working(bench) as worker:
            assert worker.trigger(TENANT, KEY)  # no await: nothing else ran meanwhile
            assert slow.requests == []
            await until(lambda: len(slow.requests), 1)
            assert await bench.notes() == []
            slow.gate.set()
            await worker.drain()
            assert len(await bench.notes()) == 1


@pytest.mark.requirement("observation.buffer.lifecycle")
async def test_a_worker_that_starts_finds_what_an_earlier_run_left(store_url: str) -> None:
    async with bench_on(store_url, settings=settings()) as bench:
        await bench.say(30)
        await bench.say(3, key="direct:not-due")
        async with working(bench) as worker:
            await until(lambda: worker.turn_count > 0, True)
            await worker.drain()
        assert (await bench.state()).watermark == 24
        assert [row["session_row"] for row in await bench.rows("observation_state")] == [1]


@pytest.mark.requirement("observation.buffer.shutdown")
async def test_a_shutdown_finishes_the_running_observation_and_takes_no_new_one(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    async with bench_on(store_url, settings=settings(concurrency=1, sweep_interval_s=0), observer=slow) as bench:
        await bench.say(9)
        await bench.say(9, key="direct:2")
        async with anyio.create_task_group() as group:
            worker = ObservationWorker(bench.pipeline)
            worker.start(group)
            await until(lambda: len(slow.requests), 1)
            left: list[int] = []

            async def stop() -> None:
                left.append(await worker.stop(30))

            group.start_soon(stop)
            await until(lambda: worker.trigger(TENANT, KEY), False)
            assert worker.dropped_count == 1
            slow.gate.set()
        assert left == [1]
        noted = [len(await bench.notes(key)) for key in (KEY, "direct:2")]
        assert sorted(noted) == [0, 1]
        assert len(slow.requests) == 1
        assert all(row["lease_owner"] is None for row in await bench.rows("observation_state"))


async def test_a_deadline_ends_an_observation_that_does_not_end_and_gives_the_lease_back(store_url: str) -> None:
    stuck = ScriptedObserver()
    stuck.gate = anyio.Event()
    async with bench_on(store_url, settings=settings(), observer=stuck) as bench:
        await bench.say(9)
        async with working(bench, deadline_s=0):
            await until(lambda: len(stuck.requests), 1)
        assert (await bench.notes(), (await bench.state()).lease_owner) == ([], None)
        stuck.gate.set()
        assert (await bench.turn()).observed == 1


async def test_triggers_of_one_session_coalesce(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    async with bench_on(store_url, settings=settings(sweep_interval_s=0), observer=slow) as bench:
        await bench.say(1)
        async with working(bench) as worker:
            await bench.say(8)
            for _ in range(50):
                assert worker.trigger(TENANT, KEY)
            assert worker.pending_count == 1
            await until(lambda: len(slow.requests), 1)
            await bench.say(9)
            for _ in range(50):
                assert worker.trigger(TENANT, KEY)  # during the turn: one more afterwards
            assert worker.pending_count == 1
            slow.gate.set()
            await worker.drain()
            assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))
            assert (await bench.state()).watermark > 9
            assert worker.turn_count <= 4
            assert worker.dropped_count == 0


async def test_one_slow_session_starves_nobody(store_url: str) -> None:
    slow = ScriptedObserver()
    gate = anyio.Event()
    observe = slow.observe

    async def slowly(request: object) -> object:
        if request.session_key == "direct:slow":  # type: ignore[attr-defined]
            await gate.wait()
        return await observe(request)  # type: ignore[arg-type]

    slow.observe = slowly  # type: ignore[method-assign, assignment]
    async with bench_on(store_url, settings=settings(concurrency=2, sweep_interval_s=0), observer=slow) as bench:
        keys = ["direct:slow", *(f"direct:{number}" for number in range(8))]
        async with working(bench) as worker:
            for key in keys:
                await bench.say(9, key=key)
                worker.trigger(TENANT, key)
            await until(lambda: worker.pending_count, 1)
            assert [len(await bench.notes(key)) for key in keys] == [0, *([1] * 8)]
            gate.set()
            await worker.drain()
            assert len(await bench.notes("direct:slow")) == 1


async def test_a_session_with_much_to_do_lets_others_in_between(store_url: str) -> None:
    async with bench_on(store_url, settings=settings(concurrency=1, sweep_interval_s=0)) as bench:
        await bench.say(60, key="direct:long")
        for number in range(3):
            await bench.say(9, key=f"direct:{number}")
        async with working(bench) as worker:
            for key in ("direct:long", "direct:0", "direct:1", "direct:2"):
                worker.trigger(TENANT, key)
            await worker.drain()
        order = [request.session_key for request in bench.observer.requests]
        assert order[:4] == ["direct:long", "direct:0", "direct:1", "direct:2"]
        assert len(order) > 6


async def test_a_dropped_trigger_is_counted_named_in_a_warning_and_found_again(
    store_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    metrics = Metrics.collecting()
    narrow = settings(concurrency=1, queue_capacity=1)
    async with bench_on(store_url, settings=narrow, observer=slow, clock=clock, metrics=metrics) as bench:
        for key in ("direct:1", "direct:2", "direct:3"):
            await bench.say(1, key=key)
        async with working(bench) as worker:
            await until(lambda: bool(clock._idle), True)  # the first sweep found nothing
            for key in ("direct:1", "direct:2", "direct:3"):
                await bench.say(8, key=key)
            assert worker.trigger(TENANT, "direct:1")
            await until(lambda: len(slow.requests), 1)
            assert worker.trigger(TENANT, "direct:2")
            with caplog.at_level(logging.WARNING):
                assert not worker.trigger(TENANT, "direct:3")
            assert worker.dropped_count == 1
            assert "dropped session direct:3 of default" in caplog.text
            slow.gate.set()
            await worker.drain()
            assert await bench.notes("direct:3") == []
            clock.advance(60)
            await until(lambda: len(slow.requests), 3)
            await worker.drain()
            assert len(await bench.notes("direct:3")) == 1
    page = render_prometheus(metrics)
    assert 'background_dropped_total{worker="observation"} 1' in page
    assert "observation_sessions_pending 0" in page
    metrics.shutdown()


async def test_a_failure_is_found_again_by_a_sweep_when_its_pause_is_over(store_url: str, clock: ManualClock) -> None:
    async with bench_on(store_url, settings=settings(), clock=clock) as bench:
        bench.observer.script = [model_failure(), model_failure()]
        await bench.say(9)
        async with working(bench) as worker:
            for asked in (1, 2, 3):
                await until(lambda asked=asked: len(bench.observer.requests), asked)
                await worker.drain()
                await until(lambda: bool(clock._idle), True)
                clock.advance(60)
            await until(lambda: worker.turn_count >= 3, True)
            await worker.drain()
        assert len(await bench.notes()) == 1


async def test_a_sweep_leaves_alone_what_somebody_else_works_on_until_the_lease_is_over(
    store_url: str, clock: ManualClock
) -> None:
    async with bench_on(store_url, settings=settings(), clock=clock) as bench:
        await bench.say(9)
        await bench.database.write(
            lambda link: take_lease(link, TENANT, KEY, owner="dead", now=clock.now(), lease_s=120)
        )
        async with working(bench) as worker:
            await until(lambda: bool(clock._idle), True)
            assert worker.turn_count == 0
            clock.advance(60)
            await until(lambda: bool(clock._idle), True)
            assert (worker.turn_count, bench.observer.requests) == (0, [])
            clock.advance(60)
            await until(lambda: len(bench.observer.requests), 1)
            await worker.drain()
        assert len(await bench.notes()) == 1


async def test_a_sweep_of_more_sessions_than_the_queue_holds_finds_them_all(store_url: str) -> None:
    async with bench_on(store_url, settings=settings(queue_capacity=2, concurrency=2)) as bench:
        for number in range(12):
            await bench.say(9, key=f"direct:{number}")
        async with working(bench) as worker:
            await until(lambda: len(bench.observer.requests), 12)
            await worker.drain()
            assert worker.dropped_count == 0
        assert all([len(await bench.notes(f"direct:{number}")) == 1 for number in range(12)])


async def test_a_store_closed_under_the_worker_is_logged_and_ends_nothing(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    async with bench_on(store_url, settings=settings(), observer=slow) as bench:
        await bench.say(9)
        with caplog.at_level(logging.WARNING, logger="lamina.observation"):
            async with working(bench) as worker:
                await until(lambda: len(slow.requests), 1)
                await bench.database.close()
                slow.gate.set()
                await worker.drain()
                assert worker.failed_count == 1
                assert worker.trigger(TENANT, KEY)
                await worker.drain()
                assert worker.failed_count == 2
        assert "The store is closed" in caplog.text
    async with bench_on(store_url, settings=settings()) as bench:
        state = await bench.state()
        assert (state.watermark, await bench.notes()) == (0, [])


async def test_a_pipeline_that_breaks_ends_no_other_sessions_turn(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench_on(store_url, settings=settings(sweep_interval_s=0, concurrency=1)) as bench:
        await bench.say(9)
        turn = bench.pipeline.turn

        async def breaking(tenant: str, session_key: str, **how: object) -> object:
            if session_key == "direct:bad":
                raise ZeroDivisionError
            return await turn(tenant, session_key, **how)  # type: ignore[arg-type]

        monkeypatch.setattr(bench.pipeline, "turn", breaking)
        async with working(bench) as worker:
            worker.trigger(TENANT, "direct:bad")
            worker.trigger(TENANT, KEY)
            await worker.drain()
            assert worker.failed_count == 1
        assert len(await bench.notes()) == 1
        assert "ZeroDivisionError" in caplog.text


async def test_an_append_asks_for_a_turn_only_where_enough_may_be_unobserved(store_url: str) -> None:
    async with bench_on(store_url, settings=settings(sweep_interval_s=0)) as bench:
        turns: list[str] = []
        turn = bench.pipeline.turn

        async def counted(tenant: str, session_key: str, **how: object) -> object:
            turns.append(session_key)
            return await turn(tenant, session_key, **how)  # type: ignore[arg-type]

        bench.pipeline.turn = counted  # type: ignore[method-assign, assignment]
        async with working(bench) as worker:
            for _ in range(100):
                (said,) = await bench.say(1)
                total = 24 * said.sequence
                worker.appended(
                    Appended(tenant=TENANT, session_key=KEY, last_sequence=said.sequence, total_tokens=total)
                )
                await worker.drain()
        watermark = (await bench.state()).watermark
        assert bench.observer.sequences == list(range(1, watermark + 1))
        assert watermark >= 90
        assert len(turns) < 50


async def test_while_nothing_may_be_taken_the_looks_become_rarer_and_a_release_is_noticed(store_url: str) -> None:
    async with bench_on(store_url, settings=settings(sweep_interval_s=0)) as bench:
        looks = 0
        turn = bench.pipeline.turn

        async def counted(tenant: str, session_key: str, **how: object) -> object:
            nonlocal looks
            looks += 1
            return await turn(tenant, session_key, **how)  # type: ignore[arg-type]

        bench.pipeline.turn = counted  # type: ignore[method-assign, assignment]
        async with working(bench) as worker:

            async def say(role: Role, tokens: int) -> None:
                (said,) = await bench.say(1, role=role, tokens=tokens)
                session = await bench.sessions.get(KEY)
                worker.appended(
                    Appended(
                        tenant=TENANT,
                        session_key=KEY,
                        last_sequence=said.sequence,
                        total_tokens=session.total_tokens,
                    )
                )
                await worker.drain()

            await say(Role.USER, 24)
            for _ in range(300):
                await say(Role.ASSISTANT, 24)
            assert bench.observer.requests == []
            assert looks < 80
            await say(Role.USER, 24)
            for _ in range(40):
                await say(Role.ASSISTANT, 24)
            assert bench.observer.sequences[0] == 1


async def test_a_worker_is_started_once(store_url: str) -> None:
    async with (
        bench_on(store_url, settings=settings()) as bench,
        working(bench) as worker,
        anyio.create_task_group() as group,
    ):
        with pytest.raises(RuntimeError):
            worker.start(group)


async def test_a_worker_that_was_never_started_stops_at_once(store_url: str) -> None:
    async with bench_on(store_url, settings=settings()) as bench:
        worker = ObservationWorker(Pipeline(bench.pipeline.desk))
        worker.trigger(TENANT, KEY)
        assert await worker.stop(5) == 1
