"""Messages become notes: when, of what, and what is left alone."""

import logging

import pytest

from lamina.errors import LaminaError
from lamina.kernel.clock import ManualClock
from lamina.kernel.tokens import estimate_tokens
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from lamina.observation.render import render_note
from lamina.observation.settings import ObservationSettings
from lamina.session.types import MessageKind, NewMessage, Role, ToolCall, ToolResult
from tests.observation.bench import KEY, SMALL, bench_on
from tests.observation.scripted import ScriptedObserver, model_failure

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("observation.observer.token-threshold")
async def test_messages_over_the_threshold_become_a_note_with_its_tokens_and_its_range(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        turn = await bench.turn()
        assert (turn.observed, turn.more) == (1, False)
        (note,) = await bench.notes()
        assert (note.first_sequence, note.last_sequence) == (1, 7)
        assert [entry.sources for entry in note.entries] == [(sequence,) for sequence in range(1, 8)]
        assert note.tokens == estimate_tokens(render_note(note))
        assert note.source_tokens == 7 * 24
        assert (note.generation, note.written_by, note.provisional) == (0, "scripted", False)


async def test_a_threshold_that_is_exactly_met_is_not_exceeded(store_url: str) -> None:
    settings = ObservationSettings(message_token_threshold=96, retained_tail_tokens=0, max_batch_tokens=1000)
    async with bench_on(store_url, settings=settings) as bench:
        await bench.say(5)  # the user's latest message is not taken, which leaves four of 24 tokens
        assert not (await bench.turn()).acted
        assert await bench.notes() == []
        await bench.say(1, tokens=5, role=Role.ASSISTANT)
        assert not (await bench.turn()).acted
        await bench.say(1)
        assert (await bench.turn()).observed == 1
        assert bench.observer.sequences == [1, 2, 3, 4, 5, 6]


async def test_every_message_is_observed_once_and_in_order_whatever_comes_in_between(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        for size in (3, 1, 8, 2, 30, 1, 1, 9):
            await bench.say(size, tokens=10 + size)
            await bench.turns()
        state = await bench.state()
        assert bench.observer.sequences == list(range(1, state.watermark + 1))
        assert state.watermark > 40
        covered = [sequence for note in await bench.notes() for entry in note.entries for sequence in entry.sources]
        assert sorted(covered) == list(range(1, state.watermark + 1))


async def test_a_long_backlog_becomes_several_notes_of_whole_exchanges(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        for number in range(20):
            call = ToolCall(id=f"call {number}", name="look", arguments="{}")
            await bench.say(1, tokens=20)
            await bench.sessions.append_many(
                [
                    NewMessage(role=Role.ASSISTANT, parts=(call,)),
                    NewMessage(role=Role.TOOL, parts=(ToolResult(call_id=call.id, content="ships " * 20),)),
                ],
                session_key=KEY,
            )
        await bench.turns()
        for request in bench.observer.requests:
            assert sum(one.tokens for one in request.messages) <= SMALL.max_batch_tokens
            calls = [call.id for one in request.messages for call in one.calls]
            results = [result.call_id for one in request.messages for result in one.results]
            assert calls == results
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))


async def test_a_message_larger_than_every_threshold_is_observed_alone(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1, tokens=30)
        await bench.say(1, tokens=5000, role=Role.ASSISTANT)
        await bench.say(4, tokens=30)
        await bench.turns()
        assert [[one.sequence for one in request.messages] for request in bench.observer.requests] == [[1], [2]]
        assert (await bench.state()).watermark == 2


async def test_of_a_result_of_ten_megabytes_the_observer_sees_the_ends_and_the_message_stays_whole(
    store_url: str,
) -> None:
    async with bench_on(store_url) as bench:
        huge = "first " + "x " * 5_000_000 + " last"
        await bench.say(1)
        await bench.sessions.append_many(
            [
                NewMessage(role=Role.ASSISTANT, parts=(ToolCall(id="c", name="cat"),)),
                NewMessage(role=Role.TOOL, parts=(ToolResult(call_id="c", content=huge),)),
                NewMessage(role=Role.ASSISTANT, content="done " * 40),
                NewMessage(role=Role.USER, content="thanks"),
            ],
            session_key=KEY,
        )
        await bench.turns()
        (seen,) = (
            one.results[0].content for request in bench.observer.requests for one in request.messages if one.results
        )
        assert len(seen) < 5 * SMALL.max_batch_tokens
        assert seen.startswith("first ")
        assert seen.endswith(" last")
        assert "characters left out" in seen
        (kept,) = await bench.sessions.recall(first=3, last=3, session_key=KEY)
        assert kept.message.results[0].content == huge


async def test_a_pending_tool_call_waits_for_its_result_and_is_then_observed_with_it(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await bench.sessions.append(role=Role.ASSISTANT, parts=(ToolCall(id="c", name="dig"),), session_key=KEY)
        await bench.say(8, tokens=30)
        turn = await bench.turn()
        assert (turn.acted, turn.blocked) == (False, True)
        await bench.sessions.append(role=Role.TOOL, parts=(ToolResult(call_id="c", content="gold"),), session_key=KEY)
        await bench.say(2, tokens=60, role=Role.ASSISTANT)
        await bench.turns()
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))
        (asked,) = (request for request in bench.observer.requests if any(one.calls for one in request.messages))
        assert [result.call_id for one in asked.messages for result in one.results] == ["c"]


async def test_the_users_latest_message_and_the_tail_stay_raw(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(12)
        await bench.turns()
        live = [one.sequence for one in await bench.live() if one.kind is MessageKind.MESSAGE]
        assert live[-2:] == [11, 12]
        assert sum(24 for _ in live) >= SMALL.retained_tail_tokens


async def test_force_takes_what_is_safe_below_the_threshold(store_url: str) -> None:
    async with bench_on(store_url, settings=ObservationSettings(retained_tail_tokens=0)) as bench:
        await bench.say(3)
        assert not (await bench.turn()).acted
        assert (await bench.turn(force=True)).observed == 1
        assert bench.observer.sequences == [1, 2]
        assert not (await bench.turn(force=True)).acted


async def test_an_explicit_nothing_moves_the_watermark_and_makes_no_note(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        bench.observer.silent = True
        await bench.say(9)
        turn = await bench.turn()
        assert (turn.observed, turn.nothing) == (0, 1)
        assert await bench.notes() == []
        assert (await bench.state()).watermark == 7
        bench.observer.silent = False
        await bench.say(8)
        await bench.turns()
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))


@pytest.mark.requirement("observation.observer.failure")
async def test_a_failure_is_logged_leaves_the_conversation_alone_and_is_tried_again_on_the_next_trigger(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        bench.observer.script = [model_failure()]
        before = await bench.live()
        with caplog.at_level(logging.WARNING, logger="lamina.observation"):
            turn = await bench.turn()
        assert turn.failures == ("MODEL_FAILED",)
        assert "MODEL_FAILED" in caplog.text
        assert (await bench.live(), await bench.notes()) == (before, [])
        state = await bench.state()
        assert (state.watermark, state.failures, state.lease_owner) == (0, 1, None)
        assert state.last_error == "MODEL_FAILED: The model answered nonsense."
        assert (await bench.turn()).observed == 1
        assert bench.observer.sequences == [*range(1, 8), *range(1, 8)]
        state = await bench.state()
        assert (state.watermark, state.failures, state.last_error) == (7, 0, None)


async def test_an_observer_that_breaks_is_a_failure_like_any_other(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        bench.observer.script = [ZeroDivisionError()]
        assert (await bench.turn()).failures == (LaminaError.code,)
        assert (await bench.turn()).observed == 1


async def test_after_several_failures_there_is_a_pause_that_grows_and_is_kept_across_restarts(
    store_url: str, clock: ManualClock
) -> None:
    settings = ObservationSettings(message_token_threshold=100, retained_tail_tokens=0, fallback_after_failures=0)
    async with bench_on(store_url, clock=clock, settings=settings) as bench:
        await bench.say(9)
        bench.observer.failing = model_failure()
        assert [(await bench.turn()).failures for _ in range(4)] == [("MODEL_FAILED",), ("MODEL_FAILED",), (), ()]
        clock.advance(10)
        assert (await bench.turn()).failures
    async with bench_on(store_url, clock=clock, settings=settings) as bench:
        assert not (await bench.turn()).acted
        assert bench.observer.requests == []
        clock.advance(20)
        assert (await bench.turn()).observed == 1


async def test_a_pause_ends_at_once_when_somebody_asks_for_it(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        bench.observer.script = [model_failure()] * 2
        await bench.turn()
        await bench.turn()
        assert not (await bench.turn()).acted
        assert (await bench.turn(patient=False)).observed == 1


async def test_a_clock_that_was_set_back_ends_no_pause_late(store_url: str) -> None:
    later = ManualClock()
    later.advance(100_000)
    async with bench_on(store_url, clock=later) as bench:
        await bench.say(9)
        bench.observer.failing = model_failure()
        await bench.turn()
        await bench.turn()
        assert not (await bench.turn()).failures
    async with bench_on(store_url, clock=ManualClock()) as bench:
        assert (await bench.turn()).observed == 1


async def test_after_enough_failures_the_stand_in_writes_a_provisional_note_and_the_model_is_spared_meanwhile(
    store_url: str, clock: ManualClock
) -> None:
    stand_in = ScriptedObserver(written_by="extractive", provisional=True)
    async with bench_on(store_url, clock=clock, fallback=stand_in) as bench:
        await bench.say(9)
        bench.observer.failing = model_failure()
        await bench.turn()
        await bench.turn()
        clock.advance(60)
        assert (await bench.turn()).observed == 1
        (note,) = await bench.notes()
        assert (note.written_by, note.provisional) == ("extractive", True)
        assert (await bench.state()).provisional == 1
        asked = len(bench.observer.requests)
        await bench.say(8)
        assert (await bench.turn()).observed == 1
        assert len(bench.observer.requests) == asked
        assert stand_in.sequences == list(range(1, (await bench.state()).watermark + 1))


async def test_entries_with_sources_of_their_own_invention_are_a_failure(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        bench.observer.invent = 99
        assert (await bench.turn()).failures == ("MODEL_FAILED",)
        assert await bench.notes() == []


async def test_secrets_reach_neither_the_observer_nor_the_notes(store_url: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    async with bench_on(store_url) as bench:
        await bench.say(6)
        call = ToolCall(id="c", name="push", arguments=f'{{"token": "{secret}"}}')
        await bench.sessions.append_many(
            [
                NewMessage(role=Role.USER, content=f"my token is {secret}"),
                NewMessage(role=Role.ASSISTANT, parts=(call,)),
                NewMessage(role=Role.TOOL, parts=(ToolResult(call_id="c", content=f"pushed with {secret}"),)),
                NewMessage(role=Role.ASSISTANT, content="done " * 50),
                NewMessage(role=Role.USER, content="thanks"),
            ],
            session_key=KEY,
        )
        bench.observer.leak = secret
        await bench.turns()
        assert 7 in bench.observer.sequences
        assert secret not in str(bench.observer.requests)
        assert secret not in str(await bench.notes())
        (kept,) = await bench.sessions.recall(first=7, last=7, session_key=KEY)
        assert secret in kept.message.content


async def test_an_observer_is_shown_the_newest_entries_before_the_stretch(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(9)
        await bench.turns()
        await bench.say(8)
        await bench.turns()
        first, second = bench.observer.requests
        assert first.recent == ()
        assert [entry.sources for entry in second.recent] == [(sequence,) for sequence in range(1, 8)]


async def test_figures_are_counted_with_every_step(store_url: str) -> None:
    metrics = Metrics.collecting()
    async with bench_on(store_url, metrics=metrics) as bench:
        await bench.say(9)
        await bench.turns()
        bench.observer.silent = True
        await bench.say(8)
        await bench.turns()
        bench.observer.failing = model_failure()
        await bench.say(8)
        await bench.turns()
    page = render_prometheus(metrics)
    metrics.shutdown()
    assert 'observation_observations_total{outcome="recorded"} 1' in page
    assert 'observation_observations_total{outcome="nothing"} 1' in page
    assert 'observation_failures_total{code="MODEL_FAILED",step="observe"} 1' in page
    assert 'observation_tokens_spent_total{by="observer",direction="input"} 200' in page


async def test_a_session_that_is_not_there_has_no_turn(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        assert (await bench.turn("direct:nobody")).absent
        assert await bench.rows("observation_state") == []


async def test_a_session_without_enough_said_costs_no_write(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(2)
        await bench.turn()
        assert await bench.rows("observation_state") == []


@pytest.mark.parametrize("bad", [{"message_token_threshold": 0}, {"consolidation_threshold": 1}, {"lease_s": 0}])
def test_settings_that_cannot_work_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ObservationSettings(**bad)  # type: ignore[arg-type]
