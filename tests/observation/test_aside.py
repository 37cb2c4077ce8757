"""However much a conversation decides: what must not be lost is kept, and leaves room for the rest."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lamina.database.link import Link
from lamina.kernel.tokens import estimate_tokens
from lamina.observation.aside import Parted, set_aside
from lamina.observation.economics import read_status
from lamina.observation.render import entry_counter
from lamina.observation.settings import ObservationSettings
from lamina.observation.store import StoredNote, find_note_sources, read_notes
from lamina.observation.types import SET_ASIDE, Entry, EntryKind, Note, Observed, ObserverRequest, Priority
from lamina.session.reading import required_session
from tests.observation.bench import KEY, TENANT, Bench, bench_on
from tests.observation.samples import START, entry, note
from tests.observation.scripted import ScriptedObserver

pytestmark = pytest.mark.anyio

SETTINGS = ObservationSettings(memory_token_budget=400)


def part(*notes: Note, settings: ObservationSettings = SETTINGS) -> Parted:
    return set_aside(notes, settings=settings, count=estimate_tokens, now=START)


def decisions(number: int, *, urgent: Sequence[int] = ()) -> list[Entry]:
    return [
        entry(
            f"The harbour project number {at} gets a lighthouse.",
            kind=EntryKind.DECISION,
            priority=Priority.HIGH if at in urgent else Priority.MEDIUM,
            minutes=at,
            sources=(at + 1,),
        )
        for at in range(number)
    ]


def pinned_tokens(notes: Sequence[Note]) -> int:
    return entry_counter()([one for each in notes for one in each.entries if one.pinned])


def test_notes_whose_pinned_entries_have_room_stay_as_they_are() -> None:
    notes = (note(*decisions(3), *(entry(f"fact {at}", minutes=at) for at in range(200))), note(*decisions(2)))
    assert part(*notes) == Parted(notes=notes)


def test_pinned_entries_beyond_their_share_are_set_aside_and_none_is_lost() -> None:
    fact = entry("The weather was fine.", minutes=1)
    many = decisions(60)
    parted = part(note(*many[:30], fact), note(*many[30:], id="later"))
    assert parted.aside is not None
    assert parted.aside.generation == SET_ASIDE
    assert 0 < pinned_tokens(parted.notes) <= 0.3 * 400
    left = [one for each in parted.notes for one in each.entries]
    assert sorted(one.id for one in (*left, *parted.aside.entries)) == sorted(one.id for one in (*many, fact))
    assert fact in left
    assert (parted.aside.first_sequence, parted.aside.last_sequence) == (1, max(parted.aside.entries[-1].sources))


def test_the_urgent_and_the_newest_stay() -> None:
    parted = part(note(*decisions(60, urgent=[0])))
    (left,) = parted.notes
    assert left.entries[0].sources == (1,)
    assert [one.sources[0] for one in left.entries[1:]] == list(range(62 - len(left.entries), 61))


def test_without_a_budget_nothing_is_set_aside() -> None:
    notes = (note(*decisions(60)),)
    assert part(*notes, settings=ObservationSettings(memory_token_budget=0)) == Parted(notes=notes)


def test_one_pinned_entry_larger_than_all_stays() -> None:
    huge = entry("lighthouse " * 900, kind=EntryKind.PREFERENCE)
    assert part(note(huge)).aside is None


class Deciding(ScriptedObserver):
    """Takes every message for a decision."""

    async def observe(self, request: ObserverRequest) -> Observed:
        seen = await super().observe(request)
        return replace(seen, entries=tuple(replace(one, kind=EntryKind.DECISION) for one in seen.entries))


async def _aside(bench: Bench) -> list[StoredNote]:
    def read(link: Link) -> list[StoredNote]:
        return read_notes(link, required_session(link, TENANT, KEY), least=SET_ASIDE, most=SET_ASIDE)

    return await bench.database.read(read)


async def test_notes_stay_small_when_everything_is_a_decision_and_every_one_is_found_again(store_url: str) -> None:
    settings = ObservationSettings(
        message_token_threshold=100,
        observation_token_threshold=150,
        retained_tail_tokens=0,
        max_batch_tokens=200,
        memory_token_budget=400,
    )
    async with bench_on(store_url, settings=settings, observer=Deciding()) as bench:
        bench.reflector.answer = tuple
        for _ in range(30):
            await bench.say(6)
            await bench.turns()
            assert sum(one.tokens for one in await bench.notes()) < 2 * settings.memory_token_budget
        kept = await _aside(bench)
        assert kept
        shown = [one for each in await bench.notes() for one in each.entries]
        hidden = [one for each in kept for one in each.note.entries]
        watermark = (await bench.state()).watermark
        assert sorted(one.sources[0] for one in (*shown, *hidden)) == list(range(1, watermark + 1))

        def read(link: Link) -> tuple[object, int]:
            held = required_session(link, TENANT, KEY)
            return find_note_sources(link, held, hidden[0].id), read_status(link, TENANT, held).aside_tokens

        assert await bench.database.read(read) == (hidden[0].sources, sum(one.note.tokens for one in kept))
        await bench.sessions.delete(KEY)
        assert await bench.rows("note") == await bench.rows("note_entry") == []
