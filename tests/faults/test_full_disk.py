"""The disk fills up: an error with a code, and a store that can still be read and written once there is room."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from tests.faults.processes import ROOT
from tests.loose_ends import loose_ends

pytestmark = pytest.mark.anyio

_FILL = """
import asyncio, json, sys
import lamina
from lamina.errors import LaminaError

async def fill(store):
    acknowledged, failure, after = [], None, None
    async with lamina.open(store, retry={"retries": 0}) as app:
        try:
            for number in range(100_000):
                added = await app.memory.add(f"{number} " + "harbour " * 500, user_id="ann")
                acknowledged.append(added.id)
        except LaminaError as error:
            failure = error.to_dict()
        after = await app.memory.get(acknowledged[0], user_id="ann") is not None
    print(json.dumps({"acknowledged": acknowledged, "failure": failure, "readable": after}))

asyncio.run(fill(sys.argv[1]))
"""


def _no_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))


async def test_a_full_disk_is_an_error_and_the_store_stays_readable(tmp_path: Path) -> None:
    store = tmp_path / "lamina.db"
    answer = subprocess.run(
        [sys.executable, "-c", _FILL, str(store)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=_no_room,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    report = json.loads(answer.stdout)
    assert report["acknowledged"]
    assert report["failure"]["code"] == "PROVIDER_ERROR"
    assert report["failure"]["retryable"] is True
    assert report["readable"] is True
    assert loose_ends(store) == {}
    async with lamina.open(store) as app:
        assert (await app.memory.list(user_id="ann")).total_count == len(report["acknowledged"])
        await app.memory.add("there is room again", user_id="ann")
