"""Opening a store in a new process, which is `newcomer`."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.report import Line
from benchmarks.world import Filled, World

_ROOT = Path(__file__).parent.parent


async def measure_opening(world: World) -> list[Line]:
    """Import, open and first search of a small scope, in a large store beside a store of nothing else."""
    large, corner = await world.alone(world.sizes.large), await world.alone(world.sizes.corner)
    taken: dict[str, list[dict[str, float]]] = {"large": [], "corner": []}
    question = corner.ask(1, seed=41)[0]
    for _ in range(world.sizes.opens):
        taken["corner"].append(await asyncio.to_thread(_open, corner, "owner", question))
        taken["large"].append(await asyncio.to_thread(_open, large, "corner", question))
    middle = {name: {step: median(once[step] for once in times) for step in times[0]} for name, times in taken.items()}
    return [
        Line(
            engine=world.engine.name,
            bench="opening",
            case=f"new process: open {world.sizes.large:,}, search a scope of {world.sizes.corner:,}",
            unit="ms",
            value=middle["large"]["open"] + middle["large"]["first_search"],
            floor_name=f"store of {world.sizes.corner:,}",
            floor=middle["corner"]["open"] + middle["corner"]["first_search"],
            detail={f"{step.replace('_', ' ')}, ms": value for step, value in middle["large"].items()},
        )
    ]


def _open(filled: Filled, user_id: str, question: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.newcomer", filled.url, user_id, question]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=_ROOT).stdout
    steps: dict[str, float] = json.loads(printed)
    return steps
