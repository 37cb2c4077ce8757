"""Workers that begin and end with an app, and what waits for them."""

from collections.abc import Sequence

import anyio
import pytest

from lamina.kernel.background import BatchWorker, Periodic
from lamina.kernel.clock import ManualClock
from lamina.kernel.crew import Crew, Queue

pytestmark = pytest.mark.anyio


async def test_queues_tell_what_waits_and_what_was_refused(clock: ManualClock) -> None:
    held = anyio.Event()

    async def handle(_: Sequence[str]) -> None:
        await held.wait()

    async def nothing() -> None:
        return None

    crew = Crew(stop_s=5)
    worker: BatchWorker[str] = BatchWorker(handle, name="letters", clock=clock, capacity=1, batch_size=1)
    crew.start(worker, name="letters")
    crew.start(Periodic(nothing, name="sweeping", interval_s=60, clock=clock), name="sweeping")
    await anyio.lowlevel.checkpoint()
    assert worker.submit("a")
    assert not worker.submit("b")
    assert crew.queues() == (Queue(name="letters", pending=1, dropped=1, failed=0),)
    held.set()
    await crew.stop()
    assert crew.queues() == ()
