"""Notes condensed without a model: what stays, what goes, and how small they become."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.extractive_reflector import ExtractiveReflector
from lamina.observation.render import entry_counter, render_entries
from lamina.observation.settings import ObservationSettings
from lamina.observation.settling import settle
from lamina.observation.targets import (
    observations_target,
    reflections_due,
    reflections_target,
    spare_tokens,
)
from lamina.observation.types import Entry, EntryKind, Note, Period, Priority, ReflectorRequest, Speaker, Status
from tests.observation.samples import entry, note

CITIES = ("Oslo", "Kyoto", "Quito", "Turin", "Lagos", "Perth", "Minsk", "Dakar", "Lyon", "Omaha", "Basel", "Hanoi")


def condensed(entries: Sequence[Entry], target: int, *, generation: int = 0) -> list[Entry]:
    request = ReflectorRequest(
        session_key="direct:1", notes=(note(*entries, generation=generation),), target_tokens=target
    )
    return ExtractiveReflector().condense(request)


def tokens(entries: Sequence[Entry]) -> int:
    return entry_counter()(entries)


def visits(count: int = 12) -> list[Entry]:
    return [
        entry(
            f"I really visited the market of {city} and bought {n} lamps", sources=(n,), author="Ann", minutes=n * 1500
        )
        for n, city in enumerate(CITIES[:count], start=1)
    ]


@pytest.mark.anyio
async def test_a_reflection_is_within_its_target_and_written_without_a_model() -> None:
    notes = (note(*visits(6), id="a"), note(*visits(12)[6:], id="b"))
    whole = sum(one.tokens for one in notes)
    reflected = await ExtractiveReflector().reflect(
        ReflectorRequest(session_key="direct:1", notes=notes, target_tokens=whole // 2)
    )
    assert 0 < tokens(reflected.entries) <= whole // 2
    assert (reflected.written_by, reflected.provisional, reflected.spent.calls) == ("extractive", True, 0)


def test_what_is_worth_more_stays_when_not_all_can() -> None:
    entries = [
        entry("It was so much fun", sources=(1,), priority=Priority.LOW, minutes=1),
        entry("I adopted a guinea pig named Oscar in Trondheim", sources=(2,), minutes=1500),
        entry("You are doing great with all of this", sources=(3,), priority=Priority.LOW, minutes=3000),
    ]
    (kept,) = condensed(entries, 36)
    assert kept.text == "adopted guinea pig named Oscar in Trondheim"


def test_what_one_speaker_told_on_one_day_is_one_line_with_all_its_sources() -> None:
    entries = [
        entry("I moved to Lyon", author="Ann", sources=(1,)),
        entry("This flat is not for me", author="Ben", sources=(2,), minutes=1),
        entry("I work at the opera", author="Ann", sources=(3,), minutes=2),
        entry("I swim in the lake", author="Ann", sources=(4,), minutes=60 * 24),
    ]
    made = condensed(entries, tokens(entries) - 1)
    assert [(one.text, one.author, one.sources) for one in made] == [
        ("moved to Lyon; work at opera", "Ann", (1, 3)),
        ("This flat is not for me", "Ben", (2,)),
        ("swim in lake", "Ann", (4,)),
    ]
    assert made[0].said_at == entries[0].said_at


def test_days_stay_with_what_happened_on_them() -> None:
    yesterday = (date(2026, 4, 30), date(2026, 4, 30))
    entries = [
        entry("I ran a race yesterday", author="Ann", sources=(1,), refers_to=yesterday),
        entry("I live in Lyon", author="Ann", sources=(2,), minutes=1),
    ]
    (line,) = condensed(entries, 60)
    assert line.text == "ran race yesterday (2026-04-30); live in Lyon"
    again = condensed([line], 60, generation=1)
    assert [one.text for one in again] == [line.text]
    (alone,) = condensed(entries[:1], 60)
    assert (alone.text, alone.refers_to) == ("ran race yesterday", Period(first=yesterday[0], last=yesterday[1]))


def test_a_day_that_the_words_do_not_name_is_not_lost() -> None:
    trip = entry("Ann travels; she takes the train", refers_to=(date(2026, 6, 1), date(2026, 6, 3)), sources=(1,))
    (kept,) = condensed([trip], 60)
    assert kept.refers_to == trip.refers_to


def test_no_pinned_entry_goes_however_small_the_target() -> None:
    pinned = [
        entry("I'd rather have short answers", kind=EntryKind.PREFERENCE, sources=(1,)),
        entry("Never deploy on a Friday", kind=EntryKind.CONSTRAINT, sources=(2,)),
        entry("We use PostgreSQL 16", kind=EntryKind.DECISION, sources=(3,)),
        entry("Remind me to renew the passport", kind=EntryKind.TASK, sources=(4,)),
    ]
    made = condensed([*visits(), *pinned], 1)
    assert {one.kind for one in made} == {one.kind for one in pinned}
    assert [one.sources for one in made] == [(1,), (2,), (3,), (4,)]


def test_what_is_settled_is_no_longer_pinned() -> None:
    entries = [
        entry("Remind me to renew the passport", kind=EntryKind.TASK, sources=(1,)),
        entry("We use MySQL for the invoices", kind=EntryKind.DECISION, sources=(2,), minutes=1),
        entry(
            "I've renewed the passport",
            kind=EntryKind.OUTCOME,
            status=Status.DONE,
            origin=Speaker.ASSISTANT,
            sources=(3,),
        ),
        entry("We use PostgreSQL for the invoices instead of MySQL", kind=EntryKind.DECISION, sources=(4,), minutes=3),
    ]
    settled = settle(entries)
    assert [one.status for one in settled] == [Status.DONE, Status.SUPERSEDED, Status.DONE, Status.OPEN]
    assert [one.sources for one in condensed(entries, 1)] == [(4,)]


def test_what_comes_before_settles_nothing() -> None:
    report = entry("I've renewed the passport", kind=EntryKind.OUTCOME, status=Status.DONE, sources=(1,))
    task = entry("Remind me to renew the passport", kind=EntryKind.TASK, sources=(2,), minutes=1)
    other = entry(
        "No longer use tabs for indentation", kind=EntryKind.PREFERENCE, author="Ben", sources=(3,), minutes=2
    )
    wish = entry("I prefer tabs for indentation", kind=EntryKind.PREFERENCE, author="Ann", sources=(4,), minutes=3)
    assert [one.status for one in settle([report, task, other, wish])] == [
        Status.DONE,
        Status.OPEN,
        Status.OPEN,
        Status.OPEN,
    ]


def test_what_is_said_again_is_kept_once_with_all_sources() -> None:
    first = entry("The staging server runs Debian 13 in Frankfurt", sources=(1,))
    again = entry("The staging server really runs Debian 13 in Frankfurt", sources=(9,), minutes=9)
    (kept,) = settle([first, again])
    assert (kept.text, kept.sources) == (again.text, (1, 9))


@pytest.mark.parametrize(
    "other",
    [
        "The staging server runs Debian 12 in Frankfurt",
        "The staging server never runs Debian 13 in Frankfurt",
        "The staging server doesn't run Debian 13 in Frankfurt",
        "The staging server runs Debian 13 in Dublin",
    ],
)
def test_a_number_a_denial_or_a_name_makes_two_of_it(other: str) -> None:
    one = entry("The staging server runs Debian 13 in Frankfurt", sources=(1,))
    assert len(settle([one, entry(other, sources=(2,), minutes=1)])) == 2


def test_the_same_of_another_speaker_is_not_the_same() -> None:
    one = entry("I moved from Sweden to Norway", author="Ann", sources=(1,))
    assert len(settle([one, replace(one, id="other", author="Ben", sources=(2,))])) == 2


TEXTS = st.sampled_from([one.text for one in visits()] + ["It was fun", "我喜欢喝龙井茶", "Never deploy on a Friday"])
ENTRIES = st.lists(
    st.tuples(TEXTS, st.sampled_from(EntryKind), st.sampled_from(Priority), st.integers(0, 5000), st.booleans()),
    min_size=1,
    max_size=30,
)


def made_of(rows: Sequence[tuple[str, EntryKind, Priority, int, bool]]) -> list[Entry]:
    made = [
        entry(text, kind=kind, priority=priority, minutes=minutes, author="Ann" if ann else None)
        for text, kind, priority, minutes, ann in sorted(rows, key=lambda row: row[3])
    ]
    return [replace(one, id=str(n), sources=(n,)) for n, one in enumerate(made, start=1)]


@settings(deadline=None)
@given(rows=ENTRIES, share=st.floats(0.2, 0.95))
def test_nothing_is_invented_nothing_pinned_lost_and_the_target_kept(
    rows: list[tuple[str, EntryKind, Priority, int, bool]], share: float
) -> None:
    entries = made_of(rows)
    target = int(share * tokens(entries))
    made = condensed(entries, target)
    again = condensed(entries, target)
    assert [(one.text, one.sources) for one in made] == [(one.text, one.sources) for one in again]
    by_source = {one.sources[0]: one for one in entries}
    for one in made:
        said = " ".join(by_source[source].text for source in one.sources).split()
        assert all(word.strip(";") in said for word in one.text.split())
        assert {by_source[source].author for source in one.sources} == {one.author}
    kept = {source for one in made for source in one.sources}
    assert kept >= {one.sources[0] for one in settle(entries) if one.pinned}
    assert tokens(made) <= target or all(one.pinned for one in made)


def test_facts_from_the_whole_conversation_survive_many_generations() -> None:
    """Eighty days are condensed a few at a time into one note of 400 tokens."""
    kept: Note | None = None
    for day in range(80):
        city = CITIES[day % 12]
        new = [
            entry(f"I met {city}-{day} and it was nice", sources=(2 * day + 1,), minutes=day * 1440, author="Ann"),
            entry("It was so much fun", sources=(2 * day + 2,), minutes=day * 1440 + 1, author="Ann"),
        ]
        notes = (*((kept,) if kept else ()), note(*new))
        request = ReflectorRequest(session_key="direct:1", notes=notes, target_tokens=400)
        kept = note(*ExtractiveReflector().condense(request), generation=day + 1)
    assert kept is not None
    assert tokens(kept.entries) <= 400
    days = sorted({(source - 1) // 2 for one in kept.entries for source in one.sources})
    assert len(days) >= 15
    assert days[0] < 20
    assert days[-1] == 79


DEFAULTS = ObservationSettings()


def test_reflections_and_observations_together_fill_the_memory_section() -> None:
    room = DEFAULTS.memory_token_budget
    beside = observations_target(2_100, reflection_tokens=0, settings=DEFAULTS, model=False)
    assert 2_000 * 0.85 < beside < 2_100
    tight = observations_target(2_100, reflection_tokens=2_500, settings=DEFAULTS, model=False)
    assert 2_500 + tight <= room - spare_tokens(DEFAULTS, model=False)
    shrunk = reflections_target(3_900, observation_tokens=800, settings=DEFAULTS, model=False)
    assert 0.85 * room < shrunk + 800 < room


def test_reflections_wait_until_they_are_many_or_leave_no_room() -> None:
    def due(reflections: int, reflection_tokens: int, observation_tokens: int) -> bool:
        return reflections_due(
            reflections=reflections,
            reflection_tokens=reflection_tokens,
            observation_tokens=observation_tokens,
            settings=DEFAULTS,
        )

    assert not due(2, 3_000, 500)
    assert due(2, 3_000, 1_100)
    assert due(5, 100, 0)
    assert not due(0, 0, 9_000)


@given(
    budget=st.integers(0, 20_000),
    threshold=st.integers(1, 10_000),
    condensed_tokens=st.integers(1, 30_000),
    beside=st.integers(0, 20_000),
    model=st.booleans(),
)
def test_a_target_is_below_what_is_condensed_and_afterwards_nothing_is_due(
    budget: int, threshold: int, condensed_tokens: int, beside: int, model: bool
) -> None:
    knobs = ObservationSettings(memory_token_budget=budget, observation_token_threshold=threshold)
    first = observations_target(condensed_tokens, reflection_tokens=beside, settings=knobs, model=model)
    second = reflections_target(condensed_tokens, observation_tokens=beside, settings=knobs, model=model)
    assert 1 <= first <= max(1, condensed_tokens * 0.9)
    assert 1 <= second <= max(1, condensed_tokens * 0.98)
    assert spare_tokens(knobs, model=True) >= spare_tokens(knobs, model=False)
    if budget and beside < budget // 2 and budget > 1_000:
        assert not reflections_due(reflections=1, reflection_tokens=second, observation_tokens=beside, settings=knobs)


def test_a_model_is_asked_less_often_than_it_costs_nothing() -> None:
    assert spare_tokens(DEFAULTS, model=True) > spare_tokens(DEFAULTS, model=False)
    assert observations_target(2_000, reflection_tokens=0, settings=DEFAULTS, model=True) < observations_target(
        2_000, reflection_tokens=0, settings=DEFAULTS, model=False
    )


def test_a_reflection_renders_like_any_note() -> None:
    text = render_entries(condensed(visits(3), 200))
    assert text.splitlines()[0] == "2026-05-02, messages 1-3"
