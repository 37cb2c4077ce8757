"""A process that talks in sessions and observes them, beside others that do the same.

python -m tests.observation.process URL NAME MESSAGES
"""

import asyncio
import sys
from dataclasses import replace

import anyio

from lamina.kernel.clock import SystemClock
from lamina.observation.settings import ObservationSettings
from lamina.observation.worker import ObservationWorker
from lamina.session.types import Role
from tests.observation.bench import bench_on
from tests.observation.scripted import ScriptedObserver

SESSIONS = ("direct:1", "direct:2", "direct:3")
SETTINGS = ObservationSettings(
    enabled=True,
    message_token_threshold=60,
    observation_token_threshold=100_000,
    max_observations_in_context=0,
    retained_tail_tokens=0,
    max_batch_tokens=100,
    lease_s=5,
    sweep_interval_s=0.2,
)


async def main(url: str, name: str, messages: int) -> None:
    """Say so many messages in each session, observe, and print how many notes were written here."""
    observer = ScriptedObserver(written_by=name)
    async with bench_on(url, settings=SETTINGS, clock=SystemClock(), observer=observer) as bench:
        worker = ObservationWorker(bench.pipeline)
        sessions = replace(bench.sessions, on_appended=worker.appended)
        async with anyio.create_task_group() as group:
            worker.start(group)
            for number in range(messages):
                for key in SESSIONS:
                    role = Role.ASSISTANT if number % 2 else Role.USER
                    await sessions.append(role=role, content=f"{name} {number} " + "harbour " * 10, session_key=key)
            await worker.drain()
            await worker.stop(30)
        sys.stdout.write(f"{len(observer.requests)}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
