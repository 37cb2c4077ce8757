"""What a prompt reads of a session, and when it reads it again."""

from collections.abc import AsyncIterator

import anyio
import pytest

from lamina.database.link import Link
from lamina.kernel.clock import ManualClock
from lamina.observation.sent import SentTurns, add_turns
from lamina.observation.snapshot import Snapshot, Stamp, read_snapshot
from lamina.observation.store import delete_observations_by_session, delete_reflections_by_session
from lamina.session.reading import required_session
from tests.observation.bench import KEY, TENANT, Bench, bench_on

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(store_url: str, clock: ManualClock) -> AsyncIterator[Bench]:
    """A bench with a session that has notes."""
    async with bench_on(store_url, clock=clock) as opened:
        await opened.say(16)
        await opened.turns()
        yield opened


async def read(bench: Bench, known: Stamp | None = None, key: str = KEY, tenant: str = TENANT) -> Snapshot | None:
    """A snapshot, in a read of its own."""
    return await bench.database.read(lambda link: read_snapshot(link, tenant, key, known))


async def test_notes_come_once_and_then_only_that_they_are_the_same(bench: Bench) -> None:
    first = await read(bench)
    assert first is not None
    assert list(first.notes or ()) == await bench.notes()
    again = await read(bench, first.stamp)
    assert again is not None
    assert (again.stamp, again.notes) == (first.stamp, None)


async def test_what_was_written_or_deleted_since_is_read(bench: Bench) -> None:
    first = await read(bench)
    assert first is not None
    assert first.notes
    await bench.say(16)
    await bench.turns()
    second = await read(bench, first.stamp)
    assert second is not None
    assert second.notes is not None
    assert len(second.notes) != len(first.notes) or second.notes != first.notes

    def delete(link: Link) -> int:
        of = required_session(link, TENANT, KEY)
        return delete_observations_by_session(link, of) + delete_reflections_by_session(link, of)

    assert await bench.database.write(delete) == len(second.notes)
    third = await read(bench, second.stamp)
    assert third is not None
    assert third.notes == ()


async def test_a_session_of_the_same_name_is_another_one(bench: Bench) -> None:
    first = await read(bench)
    assert first is not None
    await bench.sessions.delete(KEY)
    assert await read(bench, first.stamp) is None
    await bench.say(16)
    await bench.turns()
    second = await read(bench, first.stamp)
    assert second is not None
    assert second.notes


async def test_who_is_not_there_or_was_not_observed_or_is_another_s_has_nothing(bench: Bench) -> None:
    await bench.say(1, key="unobserved")
    for key, tenant in (("nobody", TENANT), ("unobserved", TENANT), (KEY, "other")):
        assert await read(bench, key=key, tenant=tenant) is None


async def test_turns_are_added_up_and_leave_the_version_alone(bench: Bench) -> None:
    before = await bench.state()
    turn = SentTurns(tenant=TENANT, session_key=KEY, turns=1, sent_tokens=100, unchanged_tokens=90)
    stranger = SentTurns(tenant="other", session_key=KEY, turns=1, sent_tokens=5, unchanged_tokens=5)
    added = await bench.database.write(lambda link: add_turns(link, [turn + turn, stranger]))
    assert added == 1
    await bench.database.write(lambda link: add_turns(link, [turn]))
    assert await bench.state() == before
    (row,) = await bench.rows("observation_state")
    assert (row["turns"], row["sent_tokens"], row["unchanged_tokens"]) == (3, 300, 270)


async def test_counting_turns_does_not_cost_an_observer_its_commit(bench: Bench) -> None:
    turn = SentTurns(tenant=TENANT, session_key=KEY, turns=1, sent_tokens=100, unchanged_tokens=90)
    before = (await bench.state()).watermark
    await bench.say(16)
    bench.observer.gate = anyio.Event()
    entered = anyio.Event()
    bench.observer.entered = lambda _: entered.set()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turns)
        await entered.wait()
        assert await bench.database.write(lambda link: add_turns(link, [turn])) == 1
        bench.observer.gate.set()
    assert (await bench.state()).watermark > before
