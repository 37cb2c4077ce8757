"""Numbers and times of day, however they are written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.quantities import find_quantities, find_times, plain, readings


def values(text: str) -> list[set[str]]:
    return [set(one.values) for one in find_quantities(plain(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10,000", "10000"),
        ("10 000", "10000"),
        ("10\u00a0000", "10000"),
        ("10'000", "10000"),
        ("1.234.567,50", "1234567.5"),
        ("12,5", "12.5"),
        ("007", "7"),
        ("1.50", "1.5"),
        ("٣٤", "34"),
        ("１２", "12"),
        ("two", "2"),
        ("twenty-one", "21"),
        ("zwölf", "12"),
        ("two million", "2000000"),
        ("2 million", "2000000"),
        ("5k", "5000"),
        ("3rd", "3"),
        ("-5", "-5"),
        ("5%", "5"),
    ],
)
def test_a_number_has_one_value_in_every_spelling(text: str, expected: str) -> None:
    assert values(f"about {text} of them") == [{expected}]


def test_a_point_before_three_digits_can_mean_two_things() -> None:
    assert readings("1.500") == {"1500", "1.5"}
    assert readings("1,500") == {"1500"}


@pytest.mark.parametrize(
    "text", ["v2.3.1", "PROJ-123", "k8s", "192.168.0.1", "src/a5.py", "#42", "550e8400-e29b", "a_5"]
)
def test_numbers_inside_codes_are_no_numbers(text: str) -> None:
    assert values(f"see {text} there") == []


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("10 MB", "mb"),
        ("10MB", "mb"),
        ("5 percent", "%"),
        ("€40", "€"),
        ("40 euros", "€"),
        ("3 days", "day"),
        ("3 cats", None),
    ],
)
def test_a_unit_is_known_in_every_spelling(text: str, unit: str | None) -> None:
    (one,) = find_quantities(plain(text))

    assert one.unit == unit


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("14:30", {"14:30"}),
        ("2:30 pm", {"14:30"}),
        ("2:30", {"02:30", "14:30"}),
        ("3pm", {"15:00"}),
        ("12 am", {"00:00"}),
        ("14h30", {"14:30"}),
        ("9.30 Uhr", {"09:30", "21:30"}),
    ],
)
def test_times_are_read_on_one_clock(text: str, clock: set[str]) -> None:
    ((found, _, _),) = find_times(plain(f"at {text} sharp"))

    assert found == clock


def test_versions_and_ratios_are_no_times() -> None:
    assert list(find_times("ratio 16:9, version 3.14.2, range 10-12")) == []


@settings(deadline=None)
@given(st.text(max_size=80))
def test_plain_text_is_plain_and_is_read_without_failing(text: str) -> None:
    once = plain(text)

    assert plain(once) == once
    for one in find_quantities(once):
        assert 0 <= one.start < one.end <= len(once)
    list(find_times(once))


@settings(deadline=None)
@given(st.integers(0, 10**12))
def test_grouping_never_changes_a_number(number: int) -> None:
    assert values(f"about {number:,} of") == values(f"about {number} of") == [{str(number)}]
