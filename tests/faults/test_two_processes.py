"""Two processes share one file: both write, and each finds what the other wrote."""

from pathlib import Path

import pytest

import lamina
from tests.faults.processes import start_worker
from tests.loose_ends import loose_ends

pytestmark = pytest.mark.anyio


async def test_two_processes_write_and_find_each_others_entries(tmp_path: Path) -> None:
    store = tmp_path / "lamina.db"
    async with lamina.open(store) as app:
        await app.memory.search("harbour", user_id="ann", threshold=0)  # our index is loaded before they start
        await app.memory.add("ann keeps a boat in the harbour", user_id="ann")
        workers = [start_worker(store, "ann", 50), start_worker(store, "ann", 50)]
        for number in range(50):
            await app.memory.add(f"ann wrote line {number} at the harbour", user_id="ann")
        answers = [worker.communicate(timeout=120)[0].split() for worker in workers]
        assert [len(ids) for ids in answers] == [50, 50]
        found = await app.memory.search("harbour", user_id="ann", limit=100, threshold=0)
        assert found.total_count == 151
    assert loose_ends(store) == {}


async def test_another_process_sees_a_change_and_a_deletion_at_once(tmp_path: Path) -> None:
    store = tmp_path / "lamina.db"
    async with lamina.open(store) as first, lamina.open(store) as second:
        kept = await first.memory.add("The alarm code is 4711", user_id="ann")
        gone = await first.memory.add("The garage key hangs by the door", user_id="ann")
        assert {hit.id for hit in await second.memory.search("alarm code garage key", user_id="ann", threshold=0)} == {
            kept.id,
            gone.id,
        }
        await first.memory.update(kept.id, content="The alarm code is 1234", user_id="ann")
        await first.memory.delete(gone.id, user_id="ann")
        seen = await second.memory.search("alarm code garage key", user_id="ann", threshold=0)
        assert [hit.content for hit in seen] == ["The alarm code is 1234"]
