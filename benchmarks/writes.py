"""How fast memories are stored: one at a time, many at once, in bulk."""

import asyncio
import time
from statistics import median

from benchmarks.report import Line, Target, timed
from benchmarks.timing import Call, take_turns
from benchmarks.world import BATCH, World
from lamina.app import App

ADDERS = 32
_EACH = 8


async def measure_add(world: World) -> list[Line]:
    """One durable add beside a bare transaction of one row."""
    app, _ = await world.open("add")
    count = world.sizes.adds + 3
    turns = world.language.turns(count, seed=21)

    async def add(number: int) -> None:
        turn = turns[number]
        await app.memory.add(turn.content, source=turn.source, user_id="owner")

    calls: dict[str, Call] = {"bare insert": world.engine.insert_floor([turn.content for turn in turns]), "lamina": add}
    taken = await take_turns(calls, count=world.sizes.adds, block=10)
    target = Target(bound=1.5, sense="<=")
    line = timed(taken, "bare insert", engine=world.engine.name, bench="add", case="one durable add", target=target)
    return [line]


async def measure_adders(world: World) -> list[Line]:
    """What many concurrent adders get done in a second, beside one."""
    app, _ = await world.open("adders")
    alone, together = [], []
    for number in range(world.sizes.rounds):
        alone.append(await _rate(app, world.language.notes(4 * _EACH, seed=100 + number), adders=1))
        together.append(await _rate(app, world.language.notes(ADDERS * _EACH, seed=200 + number), adders=ADDERS))
    return [
        Line(
            engine=world.engine.name,
            bench="adders",
            case=f"{ADDERS} concurrent adders",
            unit="add/s",
            value=median(together),
            floor_name="one adder",
            floor=median(alone),
            target=Target(bound=5, sense=">="),
        )
    ]


async def _rate(app: App, texts: list[str], *, adders: int) -> float:
    async def add(mine: list[str]) -> None:
        for text in mine:
            await app.memory.add(text, user_id="owner")

    started = time.perf_counter()
    await asyncio.gather(*(add(texts[number::adders]) for number in range(adders)))
    return len(texts) / (time.perf_counter() - started)


async def measure_bulk(world: World) -> list[Line]:
    """Entries a second in batches, embedding included."""
    app, _ = await world.open("bulk")
    memories = [turn.memory("owner") for turn in world.language.turns(world.sizes.bulk, seed=31)]
    rates = []
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        started = time.perf_counter()
        await app.memory.bulk_add(batch)
        rates.append(len(batch) / (time.perf_counter() - started))
    return [
        Line(
            engine=world.engine.name,
            bench="bulk",
            case=f"bulk add, batches of {BATCH:,}",
            unit="add/s",
            value=median(rates),
            target=Target(bound=4000, sense=">="),
            detail={"slowest batch, add/s": min(rates)},
        )
    ]
