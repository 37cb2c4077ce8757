"""Notes become fewer and smaller, or they stay as they are."""

import logging
from collections.abc import Sequence

import pytest

from lamina.errors import ModelFailedError
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from lamina.observation.render import render_note
from lamina.observation.settings import ObservationSettings
from lamina.observation.store import delete_observations_by_session
from lamina.observation.types import Entry, Note
from lamina.session.reading import required_session
from tests.observation.bench import SMALL, Bench, bench_on
from tests.observation.samples import entry
from tests.observation.scripted import ScriptedObserver, ScriptedReflector, merged, model_failure

pytestmark = pytest.mark.anyio

FREQUENT = ObservationSettings(
    message_token_threshold=100,
    observation_token_threshold=150,
    retained_tail_tokens=0,
    max_batch_tokens=200,
    consolidation_threshold=3,
)
"""Every second note makes a reflection, every third reflection one of the next generation."""


async def talk(bench: Bench, notes: int) -> None:
    """Speak until so many more notes were written, one turn after the other."""
    done = len(bench.observer.requests)
    while len(bench.observer.requests) < done + notes:
        await bench.say(2)
        await bench.turns()


def text(notes: Sequence[Note]) -> str:
    return "".join(map(render_note, notes))


@pytest.mark.requirement("observation.reflector.token-threshold", "observation.reflector.replaces")
async def test_observations_over_the_threshold_become_a_reflection_and_go(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(14)
        await bench.turns()
        before = await bench.notes()
        assert sum(note.tokens for note in before) <= SMALL.observation_token_threshold
        assert bench.reflector.requests == []
        await bench.say(14)
        turns = await bench.turns()
        assert sum(turn.reflected for turn in turns) == 1
        (request,) = bench.reflector.requests
        assert sum(note.tokens for note in request.notes) > SMALL.observation_token_threshold
        assert request.notes[: len(before)] == tuple(before)
        assert request.target_tokens < sum(note.tokens for note in request.notes)
        reflection = (await bench.notes())[0]
        assert (reflection.generation, reflection.first_sequence) == (1, 1)
        assert reflection.last_sequence == request.notes[-1].last_sequence
        assert reflection.entries[0].sources == tuple(range(1, reflection.last_sequence + 1))
        assert reflection.source_tokens == 24 * reflection.last_sequence
        assert reflection.tokens < sum(note.tokens for note in request.notes)
        stored = await bench.rows("note_entry")
        assert {row["note_row"] for row in stored} == {row["row"] for row in await bench.rows("note")}


async def test_more_observations_than_a_prompt_shows_are_condensed_below_the_threshold(store_url: str) -> None:
    settings = ObservationSettings(
        message_token_threshold=20,
        retained_tail_tokens=0,
        max_batch_tokens=30,
        observation_token_threshold=10_000,
        max_observations_in_context=4,
    )
    async with bench_on(store_url, settings=settings) as bench:
        await talk(bench, 4)
        assert bench.reflector.requests == []
        await talk(bench, 1)
        (request,) = bench.reflector.requests
        assert len(request.notes) == 5
        assert (await bench.notes())[0].generation == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda entries: (), id="empty"),
        pytest.param(tuple, id="identical"),
        pytest.param(lambda entries: (*entries, *entries), id="longer"),
        pytest.param(lambda entries: (entry("a short lie", sources=(999,)),), id="invented sources"),
    ],
)
async def test_a_reflection_that_is_no_gain_is_rejected_and_every_byte_of_the_old_text_stays(
    store_url: str, answer: object
) -> None:
    async with bench_on(store_url, settings=FREQUENT) as bench:
        bench.reflector.answer = answer  # type: ignore[assignment]
        await talk(bench, 1)
        before = await bench.notes()
        bench.observer.silent = True
        await talk(bench, 1)
        bench.observer.silent = False
        assert bench.reflector.requests == []
        await talk(bench, 1)
        after = await bench.notes()
        assert len(bench.reflector.requests) == 1
        assert text(after).startswith(text(before))
        assert after[: len(before)] == before
        assert [note.generation for note in after] == [0, 0]


async def test_what_could_not_be_made_smaller_is_not_tried_again_until_another_note_comes(
    store_url: str, clock: ManualClock
) -> None:
    async with bench_on(store_url, settings=FREQUENT, clock=clock) as bench:
        bench.reflector.answer = tuple
        await talk(bench, 2)
        asked = len(bench.reflector.requests)
        assert asked == 1
        clock.advance(100_000)
        for _ in range(5):
            turn = await bench.turn()
            assert not turn.more
        assert len(bench.reflector.requests) == asked
    async with bench_on(store_url, settings=FREQUENT, clock=clock) as bench:
        assert not (await bench.turn()).acted
        assert bench.reflector.requests == []
        await talk(bench, 1)
        assert len(bench.reflector.requests) == 1
        assert [note.generation for note in await bench.notes()] == [1]


async def test_a_reflector_that_says_it_is_no_gain_is_not_asked_again_about_the_same_notes(
    store_url: str, clock: ManualClock
) -> None:
    async with bench_on(store_url, settings=FREQUENT, clock=clock) as bench:
        cost = {"calls": 3, "input_tokens": 900, "output_tokens": 30}
        bench.reflector.failing = ModelFailedError(details={"reason": "not_condensed", **cost})
        await talk(bench, 2)
        clock.advance(100_000)
        for _ in range(3):
            await bench.turn()
        assert len(bench.reflector.requests) == 1
        (row,) = await bench.rows("observation_state")
        assert [row[f"reflector_{name}"] for name in cost] == [3, 900, 30]


async def test_a_reflection_that_fails_leaves_the_notes_and_is_tried_again_after_a_pause(
    store_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench_on(store_url, settings=FREQUENT, clock=clock) as bench:
        bench.reflector.failing = model_failure()
        with caplog.at_level(logging.WARNING, logger="lamina.observation"):
            await talk(bench, 2)
        before = await bench.notes()
        assert [note.generation for note in before] == [0, 0]
        assert "condensing observations" in caplog.text
        assert (await bench.state()).unsettled
        await bench.say(10)
        turn = await bench.turn()
        assert (turn.failures, turn.observed, turn.more) == (("MODEL_FAILED",), 1, False)
        assert not (await bench.turn()).failures  # a pause
        clock.advance(10)
        bench.reflector.failing = None
        assert (await bench.turn()).reflected == 1
        assert not (await bench.state()).unsettled
        assert await bench.notes() != before


async def test_a_reflection_left_undone_by_a_stop_is_made_in_the_next_turn(store_url: str) -> None:
    async with bench_on(store_url, settings=FREQUENT) as bench:
        await talk(bench, 1)
        while len(bench.observer.requests) < 2:
            await bench.say(2)
            await bench.pipeline.turn("default", "telegram:42:7", stopping=lambda: len(bench.observer.requests) == 2)
        assert bench.reflector.requests == []
        assert (await bench.state()).unsettled
    async with bench_on(store_url, settings=FREQUENT) as bench:
        turn = await bench.turn()
        assert (turn.observed, turn.reflected) == (0, 1)


@pytest.mark.requirement("observation.meta.default-threshold")
async def test_without_a_setting_five_reflections_are_consolidated(store_url: str) -> None:
    settings = ObservationSettings(
        message_token_threshold=100, observation_token_threshold=150, retained_tail_tokens=0, max_batch_tokens=200
    )
    async with bench_on(store_url, settings=settings) as bench:
        while sum(note.generation == 1 for note in await bench.notes()) < 4:
            await talk(bench, 1)
        generations = {note.generation for note in await bench.notes()}
        assert generations <= {0, 1}
        while not any(note.generation == 2 for note in await bench.notes()):
            await talk(bench, 1)
        assert len(bench.reflector.requests) == 5 + 1
        assert [len(request.notes) for request in bench.reflector.requests][-1] == 5


@pytest.mark.requirement("observation.meta.triggered", "observation.reflector.generations")
async def test_reflections_at_the_threshold_become_one_of_the_next_generation_and_so_on(store_url: str) -> None:
    async with bench_on(store_url, settings=FREQUENT) as bench:
        while max((note.generation for note in await bench.notes()), default=0) < 3:
            await talk(bench, 1)
            reflections = [note for note in await bench.notes() if note.generation]
            assert len(reflections) < FREQUENT.consolidation_threshold
        highest = next(note for note in await bench.notes() if note.generation == 3)
        assert highest.first_sequence == 1
        assert highest.entries[0].sources == tuple(range(1, highest.last_sequence + 1))
        assert highest.source_tokens == 24 * highest.last_sequence
        covered = {sequence for note in await bench.notes() for one in note.entries for sequence in one.sources}
        assert covered == set(range(1, (await bench.state()).watermark + 1))


async def test_reflections_that_leave_no_room_for_observations_are_consolidated_before_they_are_many(
    store_url: str,
) -> None:
    settings = ObservationSettings(
        message_token_threshold=100,
        observation_token_threshold=150,
        retained_tail_tokens=0,
        max_batch_tokens=200,
        memory_token_budget=300,
        consolidation_threshold=50,
    )

    def half(entries: Sequence[Entry]) -> tuple[Entry, ...]:
        return (*merged(entries), *entries[: len(entries) // 2])

    async with bench_on(store_url, settings=settings) as bench:
        bench.reflector.answer = half
        while not any(note.generation > 1 for note in await bench.notes()):
            await talk(bench, 1)
            assert len(bench.reflector.requests) < 20
        last = bench.reflector.requests[-1]
        assert len(last.notes) < 50
        assert last.target_tokens < sum(note.tokens for note in last.notes)


async def test_a_reflector_that_shrinks_by_a_hair_is_not_asked_for_ever(store_url: str) -> None:
    settings = ObservationSettings(
        message_token_threshold=100,
        observation_token_threshold=150,
        retained_tail_tokens=0,
        max_batch_tokens=200,
        memory_token_budget=100,
    )
    async with bench_on(store_url, settings=settings) as bench:
        bench.reflector.answer = lambda entries: tuple(entries[1:])
        await talk(bench, 4)
        assert len(bench.reflector.requests) <= 8


@pytest.mark.requirement("observation.meta.failure")
async def test_a_failed_consolidation_is_logged_and_work_goes_on(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench_on(store_url, settings=FREQUENT, clock=ManualClock()) as bench:
        while sum(note.generation == 1 for note in await bench.notes()) < 2:
            await talk(bench, 1)
        reflect = bench.reflector.reflect

        async def failing(request: object) -> object:
            if all(note.generation for note in request.notes):  # type: ignore[attr-defined]
                raise model_failure()
            return await reflect(request)  # type: ignore[arg-type]

        bench.reflector.reflect = failing  # type: ignore[method-assign, assignment]
        with caplog.at_level(logging.WARNING, logger="lamina.observation"):
            await talk(bench, 3)
        assert "condensing reflections" in caplog.text
        notes = await bench.notes()
        assert sum(note.generation == 1 for note in notes) >= 3
        assert max(note.generation for note in notes) == 1
        assert bench.observer.sequences == list(range(1, (await bench.state()).watermark + 1))


async def test_notes_deleted_while_they_are_condensed_leave_no_reflection(store_url: str) -> None:
    async with bench_on(store_url, settings=FREQUENT) as bench:
        await talk(bench, 1)
        reflect = bench.reflector.reflect

        async def late(request: object) -> object:
            made = await reflect(request)  # type: ignore[arg-type]
            await bench.database.write(
                lambda link: delete_observations_by_session(
                    link, required_session(link, "default", "telegram:42:7", hold=True)
                )
            )
            return made

        bench.reflector.reflect = late  # type: ignore[method-assign, assignment]
        await talk(bench, 1)
        assert await bench.notes() == []
        assert (await bench.state()).lease_owner is None


async def test_provisional_notes_are_written_anew_oldest_first_once_there_is_a_model(store_url: str) -> None:
    extractive = ScriptedObserver(written_by="extractive", provisional=True)
    async with bench_on(store_url, observer=extractive, model=None) as bench:
        await bench.say(20)
        await bench.turns()
        before = await bench.notes()
        assert len(before) > 1
        assert all(note.provisional for note in before)
        assert (await bench.state()).provisional == len(before)
    async with bench_on(store_url) as bench:
        turns = await bench.turns()
        assert sum(turn.rewritten for turn in turns) == len(before)
        notes = await bench.notes()
        assert [(note.first_sequence, note.last_sequence) for note in notes] == [
            (note.first_sequence, note.last_sequence) for note in before
        ]
        assert {note.written_by for note in notes} == {"scripted"}
        assert bench.observer.sequences == list(range(1, before[-1].last_sequence + 1))
        state = await bench.state()
        assert (state.provisional, state.watermark) == (0, before[-1].last_sequence)
        assert not (await bench.turn()).acted


async def test_a_provisional_reflection_becomes_observations_again_and_goes_the_ordinary_way(store_url: str) -> None:
    extractive = ScriptedObserver(written_by="extractive", provisional=True)
    shortens = ScriptedReflector(provisional=True)
    shortens.answer = lambda entries: tuple(entries[::2])
    settings = ObservationSettings(
        message_token_threshold=100, observation_token_threshold=250, retained_tail_tokens=0, max_batch_tokens=200
    )
    async with bench_on(store_url, observer=extractive, reflector=shortens, model=None, settings=settings) as bench:
        await bench.say(60)
        await bench.turns()
        watermark = (await bench.state()).watermark
        assert all(note.provisional for note in await bench.notes())
        assert any(note.generation for note in await bench.notes())
    async with bench_on(store_url, settings=settings) as bench:
        for _ in range(200):
            if not (await bench.turn()).more:
                break
            covered = {s for note in await bench.notes() for one in note.entries for s in one.sources}
            assert covered <= set(range(1, watermark + 1))
        assert bench.observer.sequences == list(range(1, watermark + 1))
        notes = await bench.notes()
        assert not any(note.provisional for note in notes)
        assert any(note.generation for note in notes)
        assert {s for note in notes for one in note.entries for s in one.sources} == set(range(1, watermark + 1))


async def test_a_model_that_fails_on_one_note_writes_the_others_anew(store_url: str, clock: ManualClock) -> None:
    extractive = ScriptedObserver(written_by="extractive", provisional=True)
    async with bench_on(store_url, observer=extractive, model=None, clock=clock) as bench:
        await bench.say(20)
        await bench.turns()
        first = (await bench.notes())[0]
    poisoned = ScriptedObserver()

    def poison(_: str) -> None:
        poisoned.failing = model_failure() if poisoned.requests[-1].messages[0].sequence == 1 else None

    poisoned.entered = poison
    async with bench_on(store_url, observer=poisoned, clock=clock) as bench:
        for _ in range(12):
            await bench.turn()
            clock.advance(100_000)
        notes = await bench.notes()
        assert notes[0] == first
        assert not any(note.provisional for note in notes[1:])


async def test_without_a_model_provisional_notes_are_condensed_as_they_are(store_url: str) -> None:
    extractive = ScriptedObserver(written_by="extractive", provisional=True)
    async with bench_on(store_url, observer=extractive, model=None, settings=FREQUENT) as bench:
        while not any(note.generation for note in await bench.notes()):
            await talk(bench, 1)
        assert all(note.provisional for note in await bench.notes())


async def test_condensations_are_counted_by_kind_and_outcome(store_url: str) -> None:
    metrics = Metrics.collecting()
    async with bench_on(store_url, settings=FREQUENT, metrics=metrics) as bench:
        while not any(note.generation == 2 for note in await bench.notes()):
            await talk(bench, 1)
        stored = len(bench.reflector.requests) - 1
        bench.reflector.answer = tuple
        while len(bench.reflector.requests) == stored + 1:
            await talk(bench, 1)
    page = render_prometheus(metrics)
    metrics.shutdown()
    assert f'observation_reflections_total{{kind="observations",outcome="stored"}} {stored}' in page
    assert 'observation_reflections_total{kind="reflections",outcome="stored"} 1' in page
    assert 'observation_reflections_total{kind="observations",outcome="rejected"} 1' in page
    assert f'observation_calls_total{{by="reflector"}} {stored + 2}' in page
