"""Limits, then the budget: the newest notes stay, and what is left out is reported."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.observation.choice import Choice, Reason, choose_notes
from lamina.observation.render import render_note
from lamina.observation.settings import ObservationSettings
from lamina.observation.types import EntryKind, Note, Priority
from tests.observation.samples import entry, note


def many(number: int, *, generation: int = 0, tokens: int = 10) -> list[Note]:
    """Notes in the order they were written."""
    return [note(id=f"{generation}.{place}", generation=generation, tokens=tokens) for place in range(number)]


def choose(notes: Sequence[Note], settings: ObservationSettings | None = None) -> Choice:
    chosen = settings or ObservationSettings()
    return choose_notes(
        notes,
        max_reflections=chosen.reflections_shown,
        max_observations=chosen.observations_shown,
        token_budget=chosen.memory_token_budget,
    )


def ids(notes: Sequence[Note]) -> list[str]:
    return [one.id for one in notes]


@pytest.mark.requirement("observation.limits.default")
def test_unset_limits_are_five_reflections_and_twenty_observations() -> None:
    chosen = choose([*many(9, generation=1), *many(30)])
    assert ids(chosen.reflections) == [f"1.{place}" for place in range(4, 9)]
    assert ids(chosen.observations) == [f"0.{place}" for place in range(10, 30)]


@pytest.mark.requirement("observation.limits.custom")
def test_only_as_many_of_the_newest_notes_as_configured_are_chosen() -> None:
    settings = ObservationSettings(max_reflections_in_context=3, max_observations_in_context=10)
    chosen = choose([*many(9, generation=1), *many(30)], settings)
    assert ids(chosen.reflections) == ["1.6", "1.7", "1.8"]
    assert ids(chosen.observations) == [f"0.{place}" for place in range(20, 30)]
    assert {one.reason for one in chosen.left_out} == {Reason.LIMIT}
    assert len(chosen.left_out) == 6 + 20


def test_zero_is_unlimited() -> None:
    settings = ObservationSettings(max_reflections_in_context=0, max_observations_in_context=0, memory_token_budget=0)
    chosen = choose([*many(50, generation=1, tokens=1000), *many(100, tokens=1000)], settings)
    assert (len(chosen.reflections), len(chosen.observations), chosen.left_out) == (50, 100, ())


@pytest.mark.requirement("observation.budget.default")
def test_without_a_setting_the_budget_is_4000_tokens() -> None:
    assert ids(choose(many(5, tokens=1000)).observations) == ["0.1", "0.2", "0.3", "0.4"]
    assert choose(many(5, tokens=1000)).tokens == 4000


@pytest.mark.requirement("observation.budget.custom")
def test_a_configured_budget_replaces_the_default() -> None:
    chosen = choose(many(5, tokens=1000), ObservationSettings(memory_token_budget=2000))
    assert ids(chosen.observations) == ["0.3", "0.4"]


@pytest.mark.requirement("observation.budget.reflections-exceed")
def test_reflections_that_exceed_the_budget_leave_out_every_observation() -> None:
    chosen = choose([*many(5, generation=1, tokens=1500), *many(3, tokens=1)])
    assert ids(chosen.reflections) == ["1.3", "1.4"]
    assert chosen.observations == ()
    assert [(one.note.id, one.reason) for one in chosen.left_out] == [
        (id, Reason.BUDGET) for id in ("1.2", "1.1", "1.0", "0.2", "0.1", "0.0")
    ]


@pytest.mark.requirement("observation.budget.shared")
def test_observations_fill_what_reflections_leave_and_stop_before_the_one_that_does_not_fit() -> None:
    small = note(id="small", tokens=10)
    large = note(id="large", tokens=900)
    newest = note(id="newest", tokens=600)
    chosen = choose([small, large, newest, *many(1, generation=1, tokens=3000)])
    assert ids(chosen.reflections) == ["1.0"]
    assert ids(chosen.observations) == ["newest"]
    assert ids([one.note for one in chosen.left_out]) == ["large", "small"]


def test_the_highest_generation_comes_first_into_the_budget_and_is_shown_in_order() -> None:
    notes = [note(id="old", generation=2, tokens=3000), *many(2, generation=1, tokens=900)]
    chosen = choose(notes)
    assert ids(chosen.reflections) == ["old", "1.1"]
    assert ids([one.note for one in chosen.left_out]) == ["1.0"]


def test_a_note_larger_than_the_budget_is_shown_in_part_rather_than_nothing() -> None:
    entries = [entry(f"Ann said a thing of little weight, number {place}.", minutes=place) for place in range(40)]
    entries[3] = entry("Ann wants no mail at night.", kind=EntryKind.PREFERENCE, minutes=3)
    entries[5] = entry("The key is under the mat.", priority=Priority.HIGH, minutes=5)
    large = note(*entries, id="large")
    chosen = choose([large], ObservationSettings(memory_token_budget=100))
    (shown,) = chosen.observations
    assert shown.tokens <= 100
    text = render_note(shown)
    assert "no mail at night" in text
    assert "under the mat" in text
    assert "number 39" in text
    assert [(one.note, one.reason, one.entries) for one in chosen.left_out] == [
        (large, Reason.BUDGET, 40 - len(shown.entries))
    ]


def test_a_budget_too_small_for_a_single_entry_chooses_nothing_and_says_so() -> None:
    chosen = choose([note(id="only")], ObservationSettings(memory_token_budget=1))
    assert (chosen.reflections, chosen.observations) == ((), ())
    assert [one.note.id for one in chosen.left_out] == ["only"]


def test_no_notes_are_no_choice() -> None:
    assert choose([]) == Choice()


notes_of_a_session = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 300)), max_size=30).map(
    lambda made: [note(id=str(place), generation=g, tokens=t) for place, (g, t) in enumerate(made)]
)


@given(
    notes=notes_of_a_session,
    budget=st.integers(30, 2000),
    most=st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_a_budget_is_never_exceeded_and_every_note_is_chosen_or_reported(
    notes: list[Note], budget: int, most: tuple[int, int]
) -> None:
    chosen = choose_notes(notes, max_reflections=most[0], max_observations=most[1], token_budget=budget)
    assert chosen.tokens <= budget
    shown = [*chosen.reflections, *chosen.observations]
    assert {one.id for one in shown} | {one.note.id for one in chosen.left_out} == {one.id for one in notes}
    for kind in (chosen.reflections, chosen.observations):
        assert [int(one.id) for one in kind] == sorted(int(one.id) for one in kind)


@given(notes=notes_of_a_session, tokens=st.integers(1, 100))
def test_a_new_observation_that_fits_only_adds_at_the_end(notes: list[Note], tokens: int) -> None:
    before = choose_notes(notes, max_reflections=0, max_observations=0, token_budget=0)
    later = [*notes, note(id="new", tokens=tokens)]
    after = choose_notes(later, max_reflections=0, max_observations=0, token_budget=0)
    assert after.reflections == before.reflections
    assert ids(after.observations) == [*ids(before.observations), "new"]
