"""A process dies at the worst moment, and nothing that was acknowledged is lost."""

from pathlib import Path

import pytest

import lamina
from tests.faults.processes import start_worker
from tests.loose_ends import loose_ends

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("after", [1, 7, 40])
async def test_a_kill_during_adds_loses_nothing_acknowledged(tmp_path: Path, after: int) -> None:
    store = tmp_path / "lamina.db"
    with start_worker(store, "ann", 100_000) as worker:
        assert worker.stdout is not None
        acknowledged = [worker.stdout.readline().strip() for _ in range(after)]
        worker.kill()
        acknowledged += [line.strip() for line in worker.stdout if line.endswith("\n")]
    assert len(acknowledged) >= after
    assert loose_ends(store) == {}
    async with lamina.open(store) as app:
        for id in acknowledged:
            assert await app.memory.get(id, user_id="ann") is not None, f"{id} was acknowledged and is gone"
        stored = (await app.memory.list(user_id="ann")).total_count
        assert len(acknowledged) <= stored <= len(acknowledged) + 1
        found = await app.memory.search("note about the harbour", user_id="ann", limit=100, threshold=0)
        assert found.total_count == stored


async def test_a_store_survives_a_crash_while_it_is_being_created(tmp_path: Path) -> None:
    store = tmp_path / "lamina.db"
    for _ in range(5):
        worker = start_worker(store, "ann", 1)
        worker.kill()
        worker.communicate()
    worker = start_worker(store, "ann", 1)
    answered, _ = worker.communicate(timeout=60)
    async with lamina.open(store) as app:
        assert await app.memory.get(answered.strip(), user_id="ann") is not None
    assert loose_ends(store) == {}
