"""One at a time: the lease, the compare-and-swap behind it, and what happens to those who come late."""

from datetime import timedelta

import anyio
import pytest

from lamina.database.link import Link
from lamina.kernel.clock import ManualClock
from lamina.observation.state import (
    Lease,
    LostError,
    commit_state,
    hold_session,
    release_lease,
    renew_lease,
    take_lease,
)
from tests.observation.bench import KEY, SMALL, TENANT, Bench, bench_on
from tests.observation.scripted import ScriptedObserver

pytestmark = pytest.mark.anyio


async def take(bench: Bench, owner: str, clock: ManualClock) -> Lease | None:
    return await bench.database.write(
        lambda link: take_lease(link, TENANT, KEY, owner=owner, now=clock.now(), lease_s=SMALL.lease_s)
    )


async def test_a_lease_has_one_holder_until_it_is_given_back(store_url: str, clock: ManualClock) -> None:
    async with bench_on(store_url, clock=clock) as bench:
        await bench.say(1)
        first = await take(bench, "a", clock)
        assert first is not None
        assert await take(bench, "b", clock) is None
        assert await bench.database.write(lambda link: release_lease(link, first, settled=False))
        second = await take(bench, "b", clock)
        assert second is not None
        assert second.state.version > first.state.version
        assert not await bench.database.write(lambda link: release_lease(link, first, settled=False))
        assert (await bench.state()).lease_owner == "b"


async def test_a_silent_holder_loses_the_lease_and_one_that_renews_it_does_not(
    store_url: str, clock: ManualClock
) -> None:
    async with bench_on(store_url, clock=clock) as bench:
        await bench.say(1)
        first = await take(bench, "a", clock)
        assert first is not None
        clock.advance(SMALL.lease_s - 1)
        assert await bench.database.write(lambda link: renew_lease(link, first, now=clock.now(), lease_s=SMALL.lease_s))
        clock.advance(SMALL.lease_s - 1)
        assert await take(bench, "b", clock) is None
        clock.advance(1)
        assert await take(bench, "b", clock) is not None
        assert not await bench.database.write(
            lambda link: renew_lease(link, first, now=clock.now(), lease_s=SMALL.lease_s)
        )


async def test_a_lease_from_the_future_binds_nobody(store_url: str) -> None:
    ahead = ManualClock()
    ahead.advance(3600)
    async with bench_on(store_url) as bench:
        await bench.say(1)
        assert await take(bench, "a", ahead) is not None
        assert await take(bench, "b", ManualClock()) is not None


async def test_a_late_commit_is_refused_and_changes_nothing(store_url: str, clock: ManualClock) -> None:
    async with bench_on(store_url, clock=clock) as bench:
        await bench.say(1)
        late = await take(bench, "a", clock)
        assert late is not None
        clock.advance(SMALL.lease_s)
        assert await take(bench, "b", clock) is not None
        before = await bench.rows("observation_state")

        def commit(link: Link) -> Lease:
            hold_session(link, late)
            return commit_state(link, late, watermark=1, observed_tokens=24)

        with pytest.raises(LostError):
            await bench.database.write(commit)
        assert await bench.rows("observation_state") == before


async def test_a_commit_on_an_older_version_is_refused_even_by_the_holder(store_url: str, clock: ManualClock) -> None:
    async with bench_on(store_url, clock=clock) as bench:
        await bench.say(1)
        lease = await take(bench, "a", clock)
        assert lease is not None
        newer = await bench.database.write(lambda link: commit_state(link, lease, failures=1))
        with pytest.raises(LostError):
            await bench.database.write(lambda link: commit_state(link, lease, failures=2))
        assert (await bench.state()).failures == 1
        assert newer.state.version == lease.state.version + 1


async def test_many_that_take_at_once_get_one_lease(store_url: str, clock: ManualClock) -> None:
    async with bench_on(store_url, clock=clock) as bench:
        await bench.say(1)
        taken: list[Lease] = []

        async def one(number: int) -> None:
            if (lease := await take(bench, f"owner {number}", clock)) is not None:
                taken.append(lease)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        assert len(taken) == 1


async def test_an_observer_that_went_silent_is_overtaken_and_its_late_note_is_thrown_away(store_url: str) -> None:
    slow, fast = ScriptedObserver(written_by="slow"), ScriptedObserver(written_by="fast")
    slow.gate = anyio.Event()
    asked = anyio.Event()
    slow.entered = lambda _: asked.set()
    behind, ahead = ManualClock(), ManualClock()
    ahead.advance(SMALL.lease_s + 1)
    async with (
        bench_on(store_url, observer=slow, clock=behind) as first,
        bench_on(store_url, observer=fast, clock=ahead) as second,
    ):
        await first.say(9)
        lost: list[bool] = []

        async def late() -> None:
            lost.append((await first.turn()).lost)

        async with anyio.create_task_group() as group:
            group.start_soon(late)
            await asked.wait()
            assert (await second.turn()).observed == 1
            slow.gate.set()
        assert lost == [True]
        (note,) = await first.notes()
        assert note.written_by == "fast"
        assert (await first.state()).watermark == note.last_sequence
        assert len(await first.rows("note_entry")) == len(note.entries)


async def test_a_holder_that_works_long_renews_and_keeps_the_session(store_url: str, clock: ManualClock) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    asked = anyio.Event()
    slow.entered = lambda _: asked.set()
    async with bench_on(store_url, observer=slow, clock=clock) as bench:
        await bench.say(9)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.turn)
            await asked.wait()
            for _ in range(4):
                until = (await bench.state()).lease_until
                clock.advance(SMALL.lease_s / 2)
                while (await bench.state()).lease_until == until:
                    await anyio.lowlevel.checkpoint()
                assert (await bench.turn()).busy
            slow.gate.set()
        (note,) = await bench.notes()
        assert note.created_at == clock.now()
        assert (await bench.state()).lease_owner is None


async def test_an_observer_that_learns_of_its_loss_stops_at_once(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    asked = anyio.Event()
    slow.entered = lambda _: asked.set()
    behind, ahead = ManualClock(), ManualClock()
    ahead.advance(SMALL.lease_s + 1)
    async with bench_on(store_url, observer=slow, clock=behind) as first, bench_on(store_url, clock=ahead) as second:
        await first.say(9)
        lost: list[bool] = []

        async def overtaken() -> None:
            lost.append((await first.turn()).lost)

        async with anyio.create_task_group() as group:
            group.start_soon(overtaken)
            await asked.wait()
            await second.turns()
            behind.advance(SMALL.lease_s)  # the next renewal finds out; the gate never opens
        assert lost == [True]


async def test_a_session_deleted_while_it_is_observed_leaves_nothing_behind(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    asked = anyio.Event()
    slow.entered = lambda _: asked.set()
    async with bench_on(store_url, observer=slow) as bench:
        await bench.say(9)
        lost: list[bool] = []

        async def observed() -> None:
            lost.append((await bench.turn()).lost)

        async with anyio.create_task_group() as group:
            group.start_soon(observed)
            await asked.wait()
            await bench.sessions.delete(KEY)
            slow.gate.set()
        assert lost == [True]
        for table in ("session", "message", "note", "note_entry", "observation_state"):
            assert await bench.rows(table) == []


async def test_a_session_that_was_deleted_and_came_again_is_observed_from_its_beginning(store_url: str) -> None:
    slow = ScriptedObserver()
    slow.gate = anyio.Event()
    asked = anyio.Event()
    slow.entered = lambda _: asked.set()
    async with bench_on(store_url, observer=slow) as bench:
        await bench.say(9)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.turn)
            await asked.wait()
            await bench.sessions.delete(KEY)
            await bench.say(12, tokens=30)
            slow.gate.set()
        assert await bench.notes() == []
        slow.requests.clear()
        await bench.turns()
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))
        assert (await bench.state()).watermark > 0


async def test_deleting_a_session_removes_its_notes_and_says_how_many(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(30)
        await bench.turns()
        await bench.say(30, key="direct:2")
        await bench.turns("direct:2")
        notes = await bench.notes()
        kept = await bench.notes("direct:2")
        removed = (await bench.sessions.delete(KEY)).removed
        assert removed["observations"] + removed["reflections"] == len(notes)
        assert await bench.notes("direct:2") == kept
        assert len(await bench.rows("observation_state")) == 1
        assert {row["note_row"] for row in await bench.rows("note_entry")} == {
            row["row"] for row in await bench.rows("note")
        }


async def test_messages_with_one_time_and_a_clock_that_goes_back_are_observed_in_their_order(store_url: str) -> None:
    clock = ManualClock()
    async with bench_on(store_url, clock=clock) as bench:
        start = clock.now()
        for number in range(12):
            await bench.sessions.append(
                role="user",
                content="harbour " * 20,
                at=start - timedelta(hours=number // 3),
                session_key=KEY,
            )
            await bench.turns()
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))
        assert (await bench.state()).watermark > 5
