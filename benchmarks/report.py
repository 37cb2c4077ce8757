"""What was measured, for people and for programs."""

import json
import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.timing import Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a ratio, or where there is no floor the value itself, should reach."""

    bound: float
    sense: Literal["<=", ">="]

    def met(self, value: float) -> bool:
        return value <= self.bound if self.sense == "<=" else value >= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One comparison. `value` and `floor` are medians in `unit`; the ratio is value to floor."""

    engine: str
    bench: str
    case: str
    unit: str
    value: float
    value_p95: float | None = None
    floor_name: str | None = None
    floor: float | None = None
    floor_p95: float | None = None
    target: Target | None = None
    detail: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return None if self.floor is None else self.value / self.floor

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        compared = self.value if self.ratio is None else self.ratio
        return None if self.target is None else self.target.met(compared)

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


def timed(
    taken: Mapping[str, Timings],
    floor_name: str | None,
    *,
    engine: str,
    bench: str,
    case: str,
    target: Target | None = None,
    detail: Mapping[str, float] | None = None,
) -> Line:
    """A line from what `take_turns` gives: its `lamina` against the one named `floor_name`."""
    mine, floor = taken["lamina"], None if floor_name is None else taken[floor_name]
    return Line(
        engine=engine,
        bench=bench,
        case=case,
        unit="ms",
        value=mine.p50,
        value_p95=mine.p95,
        floor_name=floor_name,
        floor=None if floor is None else floor.p50,
        floor_p95=None if floor is None else floor.p95,
        target=target,
        detail=detail or {},
    )


def print_table(lines: Sequence[Line], console: Console) -> None:
    """One table of everything."""
    table = Table(title="Lamina beside its floors", title_justify="left")
    for name, left in (("engine", True), ("what", True), ("Lamina p50", False), ("p95", False), ("floor", True)):
        table.add_column(name, justify="left" if left else "right")
    for name in ("floor p50", "p95", "ratio", "target", "met"):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            line.engine,
            line.case + "".join(f"\n[dim]{name}: {_number(value)}[/]" for name, value in line.detail.items()),
            f"{_number(line.value)} {line.unit}",
            _number(line.value_p95),
            line.floor_name or "",
            "" if line.floor is None else f"{_number(line.floor)} {line.unit}",
            _number(line.floor_p95),
            "" if line.ratio is None else f"{line.ratio:.2f}",
            "" if line.target is None else f"{'≤' if line.target.sense == '<=' else '≥'} {line.target.bound:,.2f}",
            {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[line.met],
        )
    console.print(table)


def write_json(lines: Sequence[Line], path: Path, *, sizes: Mapping[str, int]) -> None:
    """The same lines with the machine they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        "lamina": lamina.__version__,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "sqlite": sqlite3.sqlite_version,
            "load": os.getloadavg()[0],
        },
        "sizes": dict(sizes),
        "lines": [line.as_json() for line in lines],
    }
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
