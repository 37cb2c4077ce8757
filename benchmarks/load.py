"""`python -m benchmarks.load`: many callers at once for a minute, against `lamina serve` in a process of its own.

Nobody may be told of a fault, nothing acknowledged may be lost, and memory must not grow: callers replace what they
wrote, so the store stays as large as it is. Exits with 1 where one of these does not hold.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

import httpx2
from rich.console import Console
from rich.table import Table

from benchmarks.served import Server, server
from benchmarks.traffic import Ledger, drive, missing

_GROWTH = 0.05
"""How much more memory the last third of a run may take than the second: caches fill in the first."""
_UNBOUNDED = httpx2.Limits(max_connections=None, max_keepalive_connections=None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load and print what came of it; 0 when everything held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--callers", type=int, default=200, metavar="N", help="requests in flight; 200")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long; 60")
    parser.add_argument("--store", metavar="ADDRESS", help="an empty store; a new SQLite file unless given")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="lamina-load-") as folder,
        server(given.store or str(Path(folder) / "lamina.db")) as served,
    ):
        ledger, resident, lost = asyncio.run(load(served, callers=given.callers, seconds=given.seconds))
    held = verdict(ledger, resident, lost)
    report(ledger, resident, lost, given.seconds, held)
    return 0 if all(held.values()) else 1


async def load(served: Server, *, callers: int, seconds: float) -> tuple[Ledger, list[float], list[str]]:
    """The ledger, the server's memory every second in megabytes, and what was lost."""
    async with httpx2.AsyncClient(base_url=served.url, timeout=120, limits=_UNBOUNDED) as client:
        resident: list[float] = []
        watching = asyncio.create_task(_watch(served, resident))
        end = time.monotonic() + seconds
        ledger = await drive(client.request, callers=callers, until=lambda _: time.monotonic() >= end)
        watching.cancel()
        return ledger, resident, await missing(client.request, ledger)


async def _watch(served: Server, resident: list[float]) -> None:
    while True:
        resident.append(served.resident_mb())
        await asyncio.sleep(1)


def verdict(ledger: Ledger, resident: Sequence[float], lost: Sequence[str]) -> dict[str, bool]:
    """What had to hold, and whether it did."""
    third = len(resident) // 3
    middle, last = resident[third : 2 * third], resident[2 * third :]
    return {
        "no faults": ledger.faults == 0,
        "every caller sees what it wrote": not ledger.unseen,
        "nothing lost": not lost,
        "memory flat": not middle or median(last) <= median(middle) * (1 + _GROWTH),
    }


def report(
    ledger: Ledger, resident: Sequence[float], lost: Sequence[str], seconds: float, held: dict[str, bool]
) -> None:
    """Print the figures."""
    console = Console()
    table = Table("asked for", "count", "p50 ms", "p95 ms", "p99 ms", title="Under load")
    for what, taken in sorted(ledger.took_ms.items()):
        cuts = quantiles(taken, n=100) if len(taken) > 1 else taken * 99
        table.add_row(what, str(len(taken)), *(f"{cuts[place]:.1f}" for place in (49, 94, 98)))
    console.print(table)
    console.print(f"{ledger.requests} requests, {ledger.requests / seconds:.0f} a second; {dict(ledger.statuses)}")
    console.print(f"{len(ledger.memories)} memories, {len(ledger.deleted)} deleted, {len(lost)} lost")
    console.print("memory: " + " ".join(f"{one:.0f}" for one in resident[:: max(1, len(resident) // 12)]) + " MB")
    for what in (*ledger.failures[:5], *ledger.unseen[:5], *lost[:5]):
        console.print(what, style="red")
    for name, good in held.items():
        console.print(f"{name}: {'yes' if good else 'NO'}", style="green" if good else "red")


if __name__ == "__main__":
    sys.exit(main())
