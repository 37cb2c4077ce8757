"""Instruments with the specification's names, read back through OpenTelemetry's own reader."""

import threading
from collections.abc import Callable, Mapping

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint

from lamina.errors import ProviderError
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics

Labels = tuple[tuple[str, object], ...]


def read(metrics: Metrics, name: str) -> dict[Labels, NumberDataPoint | HistogramDataPoint]:
    """The points of one instrument by their labels."""
    assert metrics.reader is not None
    data = metrics.reader.get_metrics_data()
    found: dict[Labels, NumberDataPoint | HistogramDataPoint] = {}
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name == name:
                    for point in metric.data.data_points:
                        assert isinstance(point, NumberDataPoint | HistogramDataPoint)
                        found[tuple(sorted((point.attributes or {}).items()))] = point
    return found


def values(metrics: Metrics, name: str) -> dict[Labels, float]:
    """The numbers of a counter or gauge by their labels."""
    points = read(metrics, name)
    return {labels: point.value for labels, point in points.items() if isinstance(point, NumberDataPoint)}


@pytest.fixture
def metrics(clock: ManualClock) -> Metrics:
    return Metrics.collecting(clock=clock)


def test_a_measured_operation_is_counted_and_timed_by_its_name(metrics: Metrics, clock: ManualClock) -> None:
    with metrics.measure("add"):
        clock.advance(0.25)
    assert values(metrics, "memory.operations.total") == {(("operation", "add"), ("status", "ok")): 1}
    latency = read(metrics, "memory.operations.latency")[(("operation", "add"),)]
    assert isinstance(latency, HistogramDataPoint)
    assert (latency.count, latency.sum) == (1, 250)


def test_a_failed_operation_is_counted_by_its_error_code(metrics: Metrics) -> None:
    for error in (ProviderError("gone"), ProviderError("gone"), ZeroDivisionError()):
        with pytest.raises(type(error)), metrics.measure("search"):
            raise error
    assert values(metrics, "memory.operations.errors") == {
        (("code", "PROVIDER_ERROR"), ("operation", "search")): 2,
        (("code", "INTERNAL_ERROR"), ("operation", "search")): 1,
    }
    assert values(metrics, "memory.operations.total") == {(("operation", "search"), ("status", "error")): 3}


@pytest.mark.anyio
async def test_a_cancelled_operation_is_no_error(metrics: Metrics) -> None:
    with anyio.CancelScope() as scope:
        with metrics.measure("search"):
            scope.cancel()
            await anyio.sleep_forever()
    assert values(metrics, "memory.operations.errors") == {}
    assert values(metrics, "memory.operations.total") == {(("operation", "search"), ("status", "cancelled")): 1}


def test_results_and_stored_entries_are_shown_by_layer(metrics: Metrics) -> None:
    metrics.search_results("user", 3)
    metrics.search_results("user", 0)
    metrics.observe_storage(lambda: {"user": 12, "team": 5})
    results = read(metrics, "memory.search.results")[(("layer", "user"),)]
    assert isinstance(results, HistogramDataPoint)
    assert (results.count, results.sum) == (2, 3)
    sizes = {(("layer", "user"),): 12, (("layer", "team"),): 5}
    assert values(metrics, "memory.storage.size") == sizes


def test_a_failing_storage_callback_leaves_the_other_instruments_readable(metrics: Metrics) -> None:
    def broken() -> Mapping[str, int]:
        raise ProviderError("gone")

    metrics.observe_storage(broken)
    metrics.index_loaded()
    assert values(metrics, "memory.storage.size") == {}
    assert values(metrics, "index.loads") == {(): 1}


@pytest.mark.parametrize(
    ("act", "name", "expected"),
    [
        (lambda m: m.embedded(7), "embedding.requests", {(): 1}),
        (lambda m: m.embedded(7), "embedding.texts", {(): 7}),
        (lambda m: m.embedding_cache(hits=3, misses=0), "embedding.cache.hits", {(): 3}),
        (lambda m: m.embedding_cache(hits=3, misses=0), "embedding.cache.misses", {}),
        (lambda m: m.embedding_cache(hits=0, misses=2), "embedding.cache.misses", {(): 2}),
        (
            lambda m: m.retried("embed", "RATE_LIMITED"),
            "retry.attempts",
            {(("code", "RATE_LIMITED"), ("operation", "embed")): 1},
        ),
        (lambda m: m.background_dropped("graph", 4), "background.dropped", {(("worker", "graph"),): 4}),
        (lambda m: m.index_evicted(2), "index.evictions", {(): 2}),
        (lambda m: m.index_bytes(4096), "index.bytes", {(): 4096}),
    ],
)
def test_each_event_reaches_its_instrument(
    metrics: Metrics, act: Callable[[Metrics], None], name: str, expected: dict[Labels, float]
) -> None:
    act(metrics)
    assert values(metrics, name) == expected


def test_two_instances_share_nothing(metrics: Metrics, clock: ManualClock) -> None:
    other = Metrics.collecting(clock=clock)
    metrics.index_loaded()
    assert values(other, "index.loads") == {}


def test_a_given_provider_receives_the_values_and_is_left_running() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    metrics = Metrics(provider, reader=reader)
    metrics.shutdown()
    metrics.index_loaded()
    assert values(metrics, "index.loads") == {(): 1}
    provider.shutdown()


def test_instances_on_one_provider_add_up() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    first, second = Metrics(provider, reader=reader), Metrics(provider)
    first.index_loaded()
    second.index_loaded()
    assert values(first, "index.loads") == {(): 2}
    provider.shutdown()


def test_counting_from_many_threads_loses_nothing(metrics: Metrics) -> None:
    def count() -> None:
        for _ in range(2000):
            metrics.background_dropped("graph")

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(metrics, "background.dropped") == {(("worker", "graph"),): 16000}


def test_without_a_provider_nothing_is_recorded_and_errors_pass_through() -> None:
    metrics = Metrics()
    metrics.observe_storage(dict)
    metrics.search_results("user", 1)
    metrics.index_bytes(1)
    with pytest.raises(ProviderError), metrics.measure("add"):
        raise ProviderError("gone")
    assert metrics.reader is None


def test_shutting_down_twice_is_harmless(metrics: Metrics) -> None:
    metrics.shutdown()
    metrics.shutdown()
