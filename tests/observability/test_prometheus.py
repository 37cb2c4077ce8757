"""The text page, read back with Prometheus's own parser."""

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client.parser import text_string_to_metric_families

from lamina.errors import ConfigurationError
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus


def samples(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every line of the page by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def test_counters_and_gauges_appear_with_underscores_and_labels(clock: ManualClock) -> None:
    metrics = Metrics.collecting(clock=clock)
    metrics.operation_finished("add", "ok", 3.0)
    metrics.operation_failed("add", "TIMEOUT")
    metrics.index_bytes(512)
    metrics.observe_storage(lambda: {"user": 9})
    page = samples(render_prometheus(metrics))
    assert page["memory_operations_total", (("operation", "add"), ("status", "ok"))] == 1
    assert page["memory_operations_errors_total", (("code", "TIMEOUT"), ("operation", "add"))] == 1
    assert page["index_bytes", ()] == 512
    assert page["memory_storage_size", (("layer", "user"),)] == 9


def test_histograms_have_cumulative_buckets_a_sum_and_a_count(clock: ManualClock) -> None:
    metrics = Metrics.collecting(clock=clock)
    for latency in (0.3, 3.0, 4.0, 99_999.0):
        metrics.operation_finished("search", "ok", latency)
    page = samples(render_prometheus(metrics))

    def bucket(bound: str) -> float:
        return page["memory_operations_latency_bucket", (("le", bound), ("operation", "search"))]

    assert [bucket(bound) for bound in ("0.1", "0.5", "5.0", "10000.0", "+Inf")] == [0, 1, 3, 3, 4]
    assert page["memory_operations_latency_count", (("operation", "search"),)] == 4
    assert page["memory_operations_latency_sum", (("operation", "search"),)] == pytest.approx(100_006.3)


def test_label_values_cannot_break_the_page(clock: ManualClock) -> None:
    metrics = Metrics.collecting(clock=clock)
    hostile = 'a"} 1\nfake_total 5\\'
    metrics.background_dropped(hostile)
    assert samples(render_prometheus(metrics)) == {("background_dropped_total", (("worker", hostile),)): 1}


def test_a_page_can_be_read_again_and_keeps_counting(clock: ManualClock) -> None:
    metrics = Metrics.collecting(clock=clock)
    assert render_prometheus(metrics) == ""
    for expected in (1, 2):
        metrics.index_loaded()
        assert samples(render_prometheus(metrics)) == {("index_loads_total", ()): expected}


def test_metrics_that_go_elsewhere_have_no_page() -> None:
    for metrics in (Metrics(), Metrics(MeterProvider(shutdown_on_exit=False))):
        with pytest.raises(ConfigurationError, match="no metrics are collected here"):
            render_prometheus(metrics)
