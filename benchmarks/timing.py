"""Taking turns: what is compared runs in small blocks in turn, so that a busy moment hits both sides; and memory."""

import gc
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

Call = Callable[[int], Awaitable[object] | object]
"""One operation, blocking or not, told how many came before it."""


def resident_bytes() -> int:
    """The memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Durations of one operation, in milliseconds."""

    samples: tuple[float, ...]

    @property
    def p50(self) -> float:
        return median(self.samples)

    @property
    def p95(self) -> float:
        return quantiles(self.samples, n=20)[-1] if len(self.samples) > 1 else self.samples[0]


async def take_turns(calls: Mapping[str, Call], *, count: int, block: int = 5, warm_up: int = 3) -> dict[str, Timings]:
    """Time `count` operations of each call in blocks of `block`; the first `warm_up` of each are not counted.

    The garbage collector runs as it always does, but does not walk what the benchmark itself has prepared.
    """
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for number in range(warm_up):
            await _elapsed(call, number)
    gc.collect()
    gc.freeze()
    for start in range(warm_up, warm_up + count, block):
        for name, call in calls.items():
            for number in range(start, min(start + block, warm_up + count)):
                samples[name].append(await _elapsed(call, number))
    gc.unfreeze()
    return {name: Timings(samples=tuple(taken)) for name, taken in samples.items()}


async def _elapsed(call: Call, number: int) -> float:
    started = time.perf_counter()
    result = call(number)
    if inspect.isawaitable(result):
        await result
    return (time.perf_counter() - started) * 1000
