"""Laws that hold whatever is said, whenever turns are taken, and however they end."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina.kernel.clock import ManualClock
from lamina.observation.settings import ObservationSettings
from lamina.session.types import MessageKind, Role, ToolCall, ToolResult
from tests.observation.bench import KEY, Bench, bench_on
from tests.observation.scripted import model_failure

KNOBS = ObservationSettings(
    enabled=True,
    message_token_threshold=60,
    observation_token_threshold=150,
    retained_tail_tokens=20,
    max_batch_tokens=90,
    consolidation_threshold=2,
    fallback_after_failures=0,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.integers(1, 60)),
        st.tuples(st.just("assistant"), st.integers(1, 60)),
        st.tuples(st.sampled_from(["call", "result", "turn", "fail", "silent", "late", "restart"]), st.integers(0, 2)),
    ),
    min_size=5,
    max_size=60,
)


async def step(bench: Bench, clock: ManualClock, what: str, number: int) -> None:
    """One thing that may happen."""
    say = partial(bench.sessions.append, session_key=KEY)
    match what:
        case "user" | "assistant":
            await say(role=what, content="harbour " * number)
        case "call":
            await say(role=Role.ASSISTANT, parts=(ToolCall(id=f"c{number}", name="look"),))
        case "result":
            await say(role=Role.TOOL, parts=(ToolResult(call_id=f"c{number}", content="ships " * 5),))
        case "fail":
            bench.observer.failing = model_failure()
            await bench.turn()
            bench.observer.failing = None
        case "silent":
            bench.observer.silent = True
            await bench.turn(patient=False)
            bench.observer.silent = False
        case "late":
            clock.advance(1000)
        case "turn":
            await bench.turns()


async def check(bench: Bench, noted: Sequence[int]) -> None:
    """Nothing twice, nothing skipped, nothing lost, nothing half."""
    state = await bench.state()
    assert list(noted) == list(range(1, state.watermark + 1))
    if not state.watermark:
        return
    session = await bench.sessions.get(KEY)
    assert session.archived_count == state.watermark
    everything = await bench.sessions.messages(KEY, archived=None, limit=1000)
    assert [one.sequence for one in everything] == list(range(1, session.last_sequence + 1))
    assert state.observed_tokens == sum(one.tokens for one in everything[: state.watermark])
    live = [one for one in await bench.live() if one.kind is MessageKind.MESSAGE]
    assert [one.sequence for one in live] == list(range(state.watermark + 1, session.last_sequence + 1))
    users = [one.sequence for one in everything if one.role is Role.USER]
    assert not users or users[-1] > state.watermark
    assert sum(one.tokens for one in live) >= KNOBS.retained_tail_tokens
    archived_calls = [call.id for one in everything[: state.watermark] for call in one.calls]
    archived_results = [result.call_id for one in everything[: state.watermark] for result in one.results]
    assert all(archived_calls.count(id) <= archived_results.count(id) for id in archived_calls)
    sources = {sequence for note in await bench.notes() for entry in note.entries for sequence in entry.sources}
    assert sources <= set(range(1, state.watermark + 1))
    assert state.lease_owner is None


async def live_through(path: Path, steps: Sequence[tuple[str, int]]) -> None:
    clock = ManualClock()
    noted: list[int] = []
    left = list(steps)
    while left:
        async with bench_on(f"sqlite:///{path}", settings=KNOBS, clock=clock) as bench:
            while left and (now := left.pop(0))[0] != "restart":
                before = (await bench.state()).watermark
                await step(bench, clock, *now)
                noted += range(before + 1, (await bench.state()).watermark + 1)
            clock.advance(1000)
            before = (await bench.state()).watermark
            for _ in range(50):
                if not (await bench.turn()).more:
                    break
            noted += range(before + 1, (await bench.state()).watermark + 1)
            await check(bench, noted)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_nothing_is_observed_twice_skipped_lost_or_torn_apart(
    migrated_file: Path, tmp_path: Path, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path / "lamina.db"
    for leftover in tmp_path.iterdir():
        leftover.unlink()
    shutil.copy(migrated_file, path)
    anyio.run(live_through, path, steps)


@pytest.mark.anyio
async def test_what_the_observer_was_shown_and_committed_is_every_message_once(store_url: str) -> None:
    async with bench_on(store_url, settings=KNOBS) as bench:
        for number in range(120):
            await bench.say(1, tokens=5 + number % 40, role=Role.USER if number % 3 else Role.ASSISTANT)
            if number % 7 == 0:
                await bench.turns()
        await bench.turns()
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))
        assert (await bench.state()).watermark > 100
