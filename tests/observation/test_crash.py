"""A process dies at any statement, or a statement fails: the result is that of a run that nothing disturbed."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lamina.errors import LaminaError, ProviderError
from lamina.kernel.clock import ManualClock
from lamina.session.types import MessageKind
from tests.observation.bench import Bench, bench_on
from tests.observation.dying import SETTINGS, before_each_statement, prepare, session_of, talk
from tests.observation.scripted import ScriptedObserver

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]


async def outcome(bench: Bench, key: str) -> dict[str, object]:
    """What is left of a session in the end, without what differs from run to run."""
    state = await bench.state(key)
    session = await bench.sessions.get(key)
    live = await bench.live(key)
    return {
        "notes": [
            (
                note.generation,
                note.first_sequence,
                note.last_sequence,
                note.tokens,
                note.source_tokens,
                [(entry.text, entry.sources) for entry in note.entries],
            )
            for note in await bench.notes(key)
        ],
        "state": (state.watermark, state.observed_tokens, state.lease_owner, state.unsettled, state.provisional),
        "archived": session.archived_count,
        "live": [(one.sequence, one.kind, one.content) for one in live],
    }


async def undisturbed(bench: Bench) -> dict[str, object]:
    await talk(bench, "direct:undisturbed")
    await bench.turns("direct:undisturbed")
    wanted = await outcome(bench, "direct:undisturbed")
    assert {note[0] for note in wanted["notes"]} >= {2}  # type: ignore[attr-defined]
    assert wanted["archived"] == 6
    return wanted


async def test_what_a_process_killed_at_any_statement_leaves_is_finished_by_the_next_one(store_url: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.observation.dying", store_url]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr
    died, children = map(int, run.stdout.split())
    assert died > 25
    later = ManualClock()
    later.advance(SETTINGS.lease_s)
    async with bench_on(store_url, settings=SETTINGS, clock=later) as bench:
        wanted = await undisturbed(bench)
        for number in range(1, children + 1):
            key = session_of(number)
            bench.observer.requests.clear()
            watermark = (await bench.state(key)).watermark
            await bench.turns(key)
            assert await outcome(bench, key) == wanted, f"killed at statement {number}"
            assert bench.observer.sequences == list(range(watermark + 1, 7)), f"killed at statement {number}"
        rows = {row["row"] for row in await bench.rows("note")}
        assert {row["note_row"] for row in await bench.rows("note_entry")} == rows
        summaries = [row for row in await bench.rows("message") if row["kind"] == MessageKind.SUMMARY.value]
        assert len(summaries) == children + 1


async def test_a_statement_that_fails_undoes_its_step_and_the_next_turn_makes_it_good(
    store_url: str, clock: ManualClock
) -> None:
    async with bench_on(store_url, settings=SETTINGS, clock=clock) as bench:
        wanted = await undisturbed(bench)
        number, failed = 0, True
        while failed:
            number += 1
            failed = await fails_at(bench, number)
            key = session_of(number)
            clock.advance(SETTINGS.lease_s)  # where the lease could not be given back, it is over
            await bench.turns(key)
            assert await outcome(bench, key) == wanted, f"failed at statement {number}"
        assert number > 25


async def fails_at(bench: Bench, number: int, *, prepared: bool = False) -> bool:
    """Take a turn in a new session; the store fails at one statement. Whether it got that far."""
    if not prepared:
        await prepare(bench, session_of(number))
    left = number

    def fail() -> None:
        nonlocal left
        left -= 1
        if not left:
            raise ProviderError("The disk failed.")

    undo = before_each_statement(fail)
    try:
        with suppress(LaminaError):
            await bench.turn(session_of(number))
    finally:
        undo()
    return left <= 0


async def test_a_rewriting_that_fails_at_any_statement_loses_neither_the_old_note_nor_the_new_one(
    store_url: str, clock: ManualClock
) -> None:
    extractive = ScriptedObserver(written_by="extractive", provisional=True)
    quiet = replace(SETTINGS, observation_token_threshold=10_000)
    number, failed = 0, True
    while failed:
        number += 1
        key = session_of(number)
        async with bench_on(store_url, settings=quiet, observer=extractive, model=None, clock=clock) as bench:
            await talk(bench, key)
            await bench.turns(key)
            old = await bench.notes(key)
        async with bench_on(store_url, settings=quiet, clock=clock) as bench:
            failed = await fails_at(bench, number, prepared=True)
            for before, note in zip(old, await bench.notes(key), strict=True):
                assert note.provisional == (note == before)
                assert (note.first_sequence, note.last_sequence) == (before.first_sequence, before.last_sequence)
            clock.advance(SETTINGS.lease_s)
            await bench.turns(key)
            notes = await bench.notes(key)
            assert {note.written_by for note in notes} == {"scripted"}
            assert [entry.sources for note in notes for entry in note.entries] == [(s,) for s in range(1, 7)]
            assert (await bench.state(key)).provisional == 0
    assert number > 20
