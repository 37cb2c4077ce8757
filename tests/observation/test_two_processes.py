"""Several processes observe one store: together they do what one would have done, and nothing twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.kernel.clock import ManualClock, SystemClock
from tests.observation.bench import Bench, bench_on
from tests.observation.process import SESSIONS, SETTINGS

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]


def start(url: str, name: str, messages: int) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.observation.process", url, name, str(messages)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)


async def check_tiling(bench: Bench) -> None:
    """The notes of every session stand for its messages up to the watermark, each message once."""
    for key in SESSIONS:
        notes = await bench.notes(key)
        covered = [s for note in notes for s in range(note.first_sequence, note.last_sequence + 1)]
        assert covered == list(range(1, (await bench.state(key)).watermark + 1))
        sources = [s for note in notes for entry in note.entries for s in entry.sources]
        assert sources == covered
        session = await bench.sessions.get(key)
        assert session.archived_count == len(covered)


async def test_two_processes_on_one_store_observe_every_message_once(store_url: str) -> None:
    first, second = start(store_url, "ann", 40), start(store_url, "bob", 40)
    written = [int(process.communicate(timeout=300)[0]) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    async with bench_on(store_url, settings=SETTINGS, clock=SystemClock()) as bench:
        for key in SESSIONS:
            await bench.turns(key)
        await check_tiling(bench)
        for key in SESSIONS:
            session = await bench.sessions.get(key)
            assert session.last_sequence == 80
            assert (await bench.state(key)).watermark > 70
        notes = [note for key in SESSIONS for note in await bench.notes(key)]
        assert {note.written_by for note in notes} <= {"ann", "bob", "scripted"}
        assert len(notes) <= sum(written) + len(bench.observer.requests)


async def test_a_process_killed_at_its_work_is_replaced_by_the_other(store_url: str) -> None:
    doomed, other = start(store_url, "ann", 10_000), start(store_url, "bob", 30)
    other.communicate(timeout=300)
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    assert other.returncode == 0
    later = ManualClock(SystemClock().now())
    later.advance(SETTINGS.lease_s + 60)
    async with bench_on(store_url, settings=SETTINGS, clock=later) as bench:
        for key in SESSIONS:
            await bench.turns(key)
        await check_tiling(bench)
        assert all([(await bench.state(key)).lease_owner is None for key in SESSIONS])
