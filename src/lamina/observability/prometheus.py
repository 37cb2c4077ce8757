"""The Prometheus text page, from the same instruments that OpenTelemetry exports.

Dots in names become underscores (`memory.operations.latency` is `memory_operations_latency`); counters end in
`_total`, as Prometheus expects.
"""

from collections.abc import Iterable, Mapping

from opentelemetry.sdk.metrics.export import Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from lamina.errors import ConfigurationError
from lamina.observability.metrics import Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a page is served as."""


def render_prometheus(metrics: Metrics) -> str:
    """The current values of all instruments as Prometheus text; gauges' callbacks run now, in this thread.

    Raises ConfigurationError when metrics are off, or go to a provider that exports them itself.
    """
    if metrics.reader is None:
        raise ConfigurationError(
            "no metrics are collected here: they are off, or go to the meter provider that was given"
        )
    registry = CollectorRegistry()
    registry.register(_Snapshot(metrics))
    return generate_latest(registry).decode()


class _Snapshot(Collector):
    """Reads the instruments once for each page."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        reader = self._metrics.reader
        data = reader.get_metrics_data() if reader is not None else None
        if data is None:
            return
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in sorted(scope.metrics, key=lambda each: each.name):
                    yield _family(metric)


def _family(metric: Metric) -> Family:
    name = metric.name.replace(".", "_")
    text = metric.description or metric.name
    if isinstance(metric.data, Histogram):
        return _histogram(HistogramMetricFamily(name, text), metric.data.data_points)
    if isinstance(metric.data, Sum) and metric.data.is_monotonic:
        counter = CounterMetricFamily(name, text)
        return _numbers(counter, f"{counter.name}_total", metric.data.data_points)
    return _numbers(GaugeMetricFamily(name, text), name, metric.data.data_points)


def _numbers(family: Family, sample: str, points: Iterable[object]) -> Family:
    for point in points:
        assert isinstance(point, NumberDataPoint)
        family.add_sample(sample, _labels(point.attributes), point.value)
    return family


def _histogram(family: Family, points: Iterable[HistogramDataPoint]) -> Family:
    """Each point as cumulative buckets, sum and count; OpenTelemetry's buckets are not cumulative."""
    for point in points:
        labels = _labels(point.attributes)
        bounds = [*map(floatToGoString, point.explicit_bounds), "+Inf"]
        below = 0
        for bound, count in zip(bounds, point.bucket_counts, strict=True):
            below += count
            family.add_sample(f"{family.name}_bucket", labels | {"le": bound}, below)
        family.add_sample(f"{family.name}_count", labels, point.count)
        family.add_sample(f"{family.name}_sum", labels, point.sum)
    return family


def _labels(attributes: Mapping[str, object] | None) -> dict[str, str]:
    return {key.replace(".", "_"): str(value) for key, value in (attributes or {}).items()}
