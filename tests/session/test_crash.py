"""A process dies at the worst moment: what was acknowledged is there, numbers have no gaps, no exchange is half."""

import pytest

from tests.session.opening import loose_ends, numbers, talking_app
from tests.session.processes import start_worker

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("mode", "after"), [("append", 1), ("append", 25), ("exchange", 7), ("churn", 7)])
async def test_a_kill_loses_nothing_acknowledged(store_url: str, mode: str, after: int) -> None:
    with start_worker(store_url, mode, "ann", 100_000) as worker:
        assert worker.stdout is not None
        seen = [int(worker.stdout.readline()) for _ in range(after)]
        worker.kill()
        seen += [int(line) for line in worker.stdout if line.endswith("\n")]
    async with talking_app(store_url) as app:
        assert await loose_ends(app) == {}
        everything = await app.sessions.messages("shared", limit=1000, archived=None)
        assert numbers(everything) == list(range(1, len(everything) + 1))
        found = await app.sessions.get("shared")
        if mode == "churn":
            assert found.archived_count >= seen[-1]
        else:
            assert found.last_sequence >= seen[-1]
        if mode == "exchange":
            assert len(everything) % 2 == 0, "a call and its result were one transaction"
        hits = await app.sessions.recall("ann", session_key="shared", threshold=0, limit=1000)
        assert hits.total_count == len(everything)


async def test_a_resent_message_is_stored_once_after_a_crash(store_url: str) -> None:
    with start_worker(store_url, "append", "ann", 100_000) as worker:
        assert worker.stdout is not None
        for _ in range(5):
            worker.stdout.readline()
        worker.kill()
    again = start_worker(store_url, "append", "ann", 40)
    sent = [int(line) for line in again.communicate(timeout=120)[0].split()]
    async with talking_app(store_url) as app:
        stored = await app.sessions.messages("shared", limit=1000)
        assert numbers(stored) == list(range(1, len(stored) + 1))
        assert sent == sorted(sent)
        assert [one.id for one in stored][:40] == [f"ann-{number}" for number in range(40)]
