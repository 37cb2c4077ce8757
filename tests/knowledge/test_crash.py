"""A process dies while it saves knowledge: what it acknowledged is there, and nothing is half done."""

from pathlib import Path

import pytest

from tests.knowledge.opening import knowing_app, loose_ends, row_counts
from tests.knowledge.processes import start_worker

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("after", [1, 7, 25])
async def test_a_kill_during_saves_loses_nothing_acknowledged(tmp_path: Path, after: int) -> None:
    url = f"sqlite:///{tmp_path / 'lamina.db'}"
    with start_worker(url, "versions", "ann", 100_000) as worker:
        assert worker.stdout is not None
        seen = [worker.stdout.readline().strip() for _ in range(after)]
        worker.kill()
        seen += [line.strip() for line in worker.stdout if line.endswith("\n")]
    async with knowing_app(url) as app:
        history = await app.knowledge.history("shared")
        assert [str(version.version) for version in reversed(history)][: len(seen)] == seen
        assert len(seen) <= len(history) <= len(seen) + 1
        assert await loose_ends(app) == {}
        counts = await row_counts(app, "audit_log", "knowledge_version")
        assert counts["audit_log"] == counts["knowledge_version"], "every version has its audit row"
        (hit,) = await app.knowledge.search("ann", threshold=0)
        assert hit.entry.version == len(history)
