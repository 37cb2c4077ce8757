"""`python -m benchmarks [--quick] [--only NAME ...] [--json FILE]`: one table, and the same as JSON."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from benchmarks.adk import measure_adk
from benchmarks.context import measure_context
from benchmarks.conversation import measure_conversation
from benchmarks.opening import measure_opening
from benchmarks.postgres import PostgresEngine
from benchmarks.proxy import measure_proxy
from benchmarks.report import Line, print_table, write_json
from benchmarks.search import measure_among, measure_bounded, measure_fresh, measure_search
from benchmarks.service import measure_service
from benchmarks.world import Engine, Sizes, SqliteEngine, World
from benchmarks.writes import measure_add, measure_adders, measure_bulk

# In this order, because adding to a store changes what a later search finds there.
BENCHES: Mapping[str, Callable[[World], Awaitable[list[Line]]]] = {
    "search": measure_search,
    "among": measure_among,
    "opening": measure_opening,
    "fresh": measure_fresh,
    "bounded": measure_bounded,
    "add": measure_add,
    "adders": measure_adders,
    "bulk": measure_bulk,
    "context": measure_context,
    "adk": measure_adk,
    "proxy": measure_proxy,
    "service": measure_service,
    "conversation": measure_conversation,
}
ENGINES: Mapping[str, Callable[[Path], Engine]] = {"sqlite": SqliteEngine, "postgresql": lambda _: PostgresEngine()}
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; exits with 0 whether or not targets are met, because machines differ."""
    names = [*ENGINES, *BENCHES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, 100,000 entries in place of a million")
    parser.add_argument("--tiny", action="store_true", help="only show that everything runs; the figures mean nothing")
    parser.add_argument("--only", nargs="+", choices=names, default=[], metavar="NAME", help=", ".join(names))
    parser.add_argument("--json", type=Path, default=Path("bench-results/bench.json"), help="where the figures go")
    given = parser.parse_args(arguments)
    sizes = Sizes.tiny() if given.tiny else Sizes.quick() if given.quick else Sizes()
    console = Console(stderr=True)
    lines = asyncio.run(measure(sizes, given.only, console))
    print_table(lines, Console(width=None if sys.stdout.isatty() else 160))
    write_json(lines, given.json, sizes=asdict(sizes))
    console.print(f"The same as JSON: {given.json}")
    return 0


async def measure(sizes: Sizes, only: Sequence[str], console: Console) -> list[Line]:
    """Run the benchmarks named, on the engines named; all where none is."""
    lines: list[Line] = []
    for engine_name in [name for name in ENGINES if name in only] or ENGINES:
        with tempfile.TemporaryDirectory(prefix="lamina-bench-") as folder:
            engine = ENGINES[engine_name](Path(folder))
            try:
                async with AsyncExitStack() as stack:
                    world = World(engine, sizes, stack)
                    for name in [name for name in BENCHES if name in only] or BENCHES:
                        started = time.perf_counter()
                        lines += await BENCHES[name](world)
                        console.print(f"{engine_name} {name}: {time.perf_counter() - started:.0f} s")
            finally:
                engine.close()
    return lines


def with_one_blas_thread() -> None:
    """Start this process again with BLAS held to one thread, which it only reads when numpy is imported."""
    if any(os.environ.get(name) != value for name, value in _ONE_THREAD.items()):
        os.environ.update(_ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]])


if __name__ == "__main__":
    with_one_blas_thread()
    sys.exit(main())
