"""Reads instruments back, as an exporter would."""

from collections.abc import Mapping

from opentelemetry.sdk.metrics.export import HistogramDataPoint, NumberDataPoint

from lamina.observability.metrics import Metrics


def points(metrics: Metrics, name: str, *labels: str) -> Mapping[tuple[object, ...], float]:
    """The numbers of an instrument, a histogram's count, by the values of these labels."""
    assert metrics.reader is not None
    data = metrics.reader.get_metrics_data()
    resources = data.resource_metrics if data is not None else ()
    found: dict[tuple[object, ...], float] = {}
    for metric in (one for each in resources for scope in each.scope_metrics for one in scope.metrics):
        if metric.name == name:
            for point in metric.data.data_points:
                assert isinstance(point, NumberDataPoint | HistogramDataPoint)
                key = tuple((point.attributes or {})[label] for label in labels)
                found[key] = point.count if isinstance(point, HistogramDataPoint) else point.value
    return found
