"""What the process counted, as the overview shows it: operations with their latency, errors, drops. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from opentelemetry.sdk.metrics.export import HistogramDataPoint, MetricsData

from lamina.observability.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One kind of operation since the process began."""

    name: str
    count: int
    failed: int
    middle_ms: float
    """Half of them took no longer."""
    slow_ms: float
    """Nineteen of twenty took no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Everything the overview needs of a reading."""

    operations: tuple[Operation, ...] = ()
    errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Failures by operation and error code."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """Items that full queues refused, by worker."""

    def count_of(self, *names: str) -> int:
        """How many operations of these names there were."""
        return sum(one.count for one in self.operations if one.name in names)


def read_metrics(metrics: Metrics) -> Measured | None:
    """What was counted until now; None where nothing is counted. Gauges read the store: call it in a thread."""
    data = None if metrics.reader is None else metrics.reader.get_metrics_data()
    if data is None:
        return None
    points = _points(data)
    statuses = points.get("memory.operations.total", ())
    failed = {point.attributes["operation"]: point.value for point in statuses if point.attributes["status"] == "error"}
    operations = [
        _operation(point, int(failed.get(point.attributes["operation"], 0)))
        for point in points.get("memory.operations.latency", ())
    ]
    return Measured(
        operations=tuple(sorted(operations, key=lambda one: -one.count)),
        errors={
            (point.attributes["operation"], point.attributes["code"]): int(point.value)
            for point in points.get("memory.operations.errors", ())
        },
        drops={point.attributes["worker"]: int(point.value) for point in points.get("background.dropped", ())},
    )


def quantile(share: float, bounds: Sequence[float], counts: Sequence[int]) -> float:
    """Below which value this share lies, within a bucket as if it were evenly filled; the last bucket has no end."""
    wanted = share * sum(counts)
    reached = list(accumulate(counts))
    at = next((index for index, upto in enumerate(reached) if upto >= wanted and upto > 0), len(counts) - 1)
    if at >= len(bounds):
        return bounds[-1]
    below = bounds[at - 1] if at else 0.0
    before = reached[at] - counts[at]
    return below + (bounds[at] - below) * (wanted - before) / counts[at]


def _operation(point: HistogramDataPoint, failed: int) -> Operation:
    bounds, counts = point.explicit_bounds, point.bucket_counts
    return Operation(
        name=str((point.attributes or {})["operation"]),
        count=point.count,
        failed=failed,
        middle_ms=quantile(0.5, bounds, counts),
        slow_ms=quantile(0.95, bounds, counts),
    )


def _points(data: MetricsData) -> dict[str, Iterable[Any]]:
    return {
        metric.name: metric.data.data_points
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
