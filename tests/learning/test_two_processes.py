"""Two processes learn about the same error at the same time, and no count is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.learning.opening import learning_app, loose_ends

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


def start(store: str, count: int) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.learning.worker", store, str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment
    )


@pytest.mark.requirement("knowledge.learning.confidence", "knowledge.learning.error-pattern")
async def test_two_processes_count_on_one_learning(store_url: str) -> None:
    async with learning_app(store_url) as app:
        workers = [start(store_url, 32), start(store_url, 32)]
        answers = [worker.communicate(timeout=120)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], "\n".join(answers)
        (one,) = (await app.learning.list()).learnings
        assert one.occurrence_count == 64
        told = 32
        assert one.success_count >= told
        assert one.failure_count >= told
        assert one.belief.alpha - 1 == one.success_count
        assert one.belief.beta - 1 == one.failure_count
        assert await loose_ends(app) == {}
