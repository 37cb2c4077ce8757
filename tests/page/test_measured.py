"""What the process counted, as the overview shows it."""

import pytest

from lamina.errors import InvalidInputError
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from lamina.page.measured import quantile, read_metrics


@pytest.mark.parametrize(
    ("share", "counts", "found"),
    [
        (0.5, (0, 10, 0, 0), 7.5),
        (0.5, (10, 0, 0, 0), 2.5),
        (0.95, (90, 0, 10, 0), 15.0),
        (0.95, (0, 0, 0, 3), 20.0),
        (0.5, (0, 0, 1, 0), 15.0),
    ],
)
def test_a_quantile_lies_within_its_bucket(share: float, counts: tuple[int, ...], found: float) -> None:
    assert quantile(share, (5.0, 10.0, 20.0), counts) == pytest.approx(found)


def test_operations_errors_and_drops_are_read_from_the_instruments() -> None:
    clock = ManualClock()
    metrics = Metrics.collecting(clock=clock)
    for _ in range(3):
        with metrics.measure("search"):
            clock.advance(0.004)
    with pytest.raises(InvalidInputError), metrics.measure("add"):
        raise InvalidInputError
    metrics.background_dropped("graph", 2)
    measured = read_metrics(metrics)
    metrics.shutdown()
    assert measured is not None
    search, add = measured.operations
    assert (search.name, search.count, search.failed) == ("search", 3, 0)
    assert 2.5 <= search.middle_ms <= 5
    assert (add.name, add.count, add.failed) == ("add", 1, 1)
    assert measured.errors == {("add", "INVALID_INPUT"): 1}
    assert measured.drops == {"graph": 2}
    assert (measured.count_of("search"), measured.count_of("search", "add")) == (3, 4)


def test_where_nothing_is_counted_nothing_is_read() -> None:
    assert read_metrics(Metrics()) is None
