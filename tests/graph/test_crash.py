"""A process dies while it reads texts into the graph: nothing stays half, and a back-fill makes it whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.opening import graph_app
from tests.graph.test_concurrency import loose_ends

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("after", [1, 25])
async def test_a_kill_in_the_middle_is_made_good_by_a_back_fill(tmp_path: Path, after: int) -> None:
    store = tmp_path / "lamina.db"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.graph.worker", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as worker:
        assert worker.stdout is not None
        saved = [worker.stdout.readline().strip() for _ in range(after)]
        worker.kill()
        saved += [line.strip() for line in worker.stdout if line.endswith("\n")]
    async with graph_app(str(store)) as app:
        assert await loose_ends(app) == 0
        await app.graph.backfill()
        found = {one.object for one in await app.graph.find(subject="Ann", limit=500)}
        assert set(saved) <= found
        for name in found:
            assert (await app.knowledge.get(f"k{name.removeprefix('Bob')}")).content == f"Ann knows {name}."
        assert await loose_ends(app) == 0
