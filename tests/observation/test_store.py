"""Notes as they are stored: nothing is lost on the way in and out, and the newest come back oldest first."""

from dataclasses import replace
from datetime import date

import pytest

from lamina.database.link import Link
from lamina.observation.store import (
    delete_notes,
    delete_observations_by_session,
    delete_reflections_by_session,
    find_note_sources,
    insert_note,
    list_recent_observations,
    list_recent_reflections,
    read_notes,
)
from lamina.observation.types import EntryKind, Note, Priority, Speaker, Status
from lamina.session.reading import StoredSession, required_session
from tests.observation.bench import KEY, TENANT, Bench, bench_on
from tests.observation.samples import entry, note

pytestmark = pytest.mark.anyio


async def store(bench: Bench, *notes: Note, key: str = KEY) -> list[int]:
    def work(link: Link) -> list[int]:
        held = required_session(link, TENANT, key, hold=True)
        return [insert_note(link, held, one) for one in notes]

    return await bench.database.write(work)


def made(number: int, *, generation: int = 0) -> Note:
    one = note(
        entry(f"fact {number}", sources=(number, number + 1), id=f"{generation}.{number}.a"),
        id=f"{generation}.{number}",
        generation=generation,
        first=number,
        last=number + 1,
        session_key=KEY,
    )
    return replace(one, session_key=KEY)


def of(link: Link, key: str = KEY) -> StoredSession:
    return required_session(link, TENANT, key)


async def test_a_note_comes_back_as_it_was_stored(store_url: str) -> None:
    everything = note(
        entry("Ann prefers tea; 100% 'sure' -- \u2603 \U0001f600.", kind=EntryKind.PREFERENCE, author="Ann", id="a"),
        entry(
            "The ferry leaves.",
            kind=EntryKind.EVENT,
            priority=Priority.HIGH,
            status=Status.DONE,
            origin=Speaker.TOOL,
            refers_to=(date(2026, 5, 3), date(2026, 5, 5)),
            sources=(3, 9, 20),
            minutes=0.123456,
            id="b",
        ),
        session_key=KEY,
    )
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await store(bench, everything)
        assert await bench.notes() == [everything]


@pytest.mark.requirement("observation.recent.observations", "observation.recent.reflections")
async def test_the_newest_come_back_oldest_first(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await store(bench, *(made(number) for number in range(1, 12, 2)))
        await store(bench, *(made(number, generation=1) for number in range(1, 8, 2)))

        def read(link: Link, limit: int) -> tuple[list[str], list[str]]:
            observations = list_recent_observations(link, of(link), limit=limit)
            reflections = list_recent_reflections(link, of(link), limit=limit)
            return [one.id for one in observations], [one.id for one in reflections]

        assert await bench.database.read(lambda link: read(link, 2)) == (["0.9", "0.11"], ["1.5", "1.7"])
        observations, reflections = await bench.database.read(lambda link: read(link, 0))
        assert observations == ["0.1", "0.3", "0.5", "0.7", "0.9", "0.11"]
        assert reflections == ["1.1", "1.3", "1.5", "1.7"]


@pytest.mark.requirement("observation.reflections.delete-session")
async def test_the_reflections_of_a_session_go_and_everything_else_stays(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await bench.say(1, key="direct:2")
        await store(bench, made(1), made(1, generation=1), made(3, generation=2))
        theirs = replace(made(5, generation=1), session_key="direct:2")
        await store(bench, theirs, key="direct:2")
        assert await bench.database.write(lambda link: delete_reflections_by_session(link, of(link))) == 2
        assert [one.id for one in await bench.notes()] == ["0.1"]
        assert await bench.notes("direct:2") == [theirs]
        assert len(await bench.rows("note_entry")) == 2


@pytest.mark.requirement("observation.reflections.delete-empty")
async def test_deleting_from_a_session_without_notes_is_no_error(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await store(bench, made(1))
        assert await bench.database.write(lambda link: delete_reflections_by_session(link, of(link))) == 0
        assert await bench.database.write(lambda link: delete_observations_by_session(link, of(link))) == 1
        assert await bench.database.write(lambda link: delete_observations_by_session(link, of(link))) == 0


async def test_only_notes_of_the_session_can_be_deleted_by_row(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await bench.say(1, key="direct:2")
        (mine,) = await store(bench, made(1))
        assert await bench.database.write(lambda link: delete_notes(link, of(link, "direct:2"), [mine, 999])) == 0
        assert await bench.database.write(lambda link: delete_notes(link, of(link), [])) == 0


async def test_a_note_or_an_entry_leads_to_its_messages_within_its_session(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await bench.say(1, key="direct:2")
        both = note(entry("one", sources=(4, 2), id="x"), entry("two", sources=(2, 7), id="y"), id="both")
        await store(bench, both)

        def sources(link: Link, id: str, key: str = KEY) -> tuple[int, ...] | None:
            return find_note_sources(link, of(link, key), id)

        assert await bench.database.read(lambda link: sources(link, "both")) == (2, 4, 7)
        assert await bench.database.read(lambda link: sources(link, "y")) == (2, 7)
        assert await bench.database.read(lambda link: sources(link, "nothing")) is None
        assert await bench.database.read(lambda link: sources(link, "both", "direct:2")) is None


async def test_notes_before_a_message_are_those_that_stand_for_earlier_ones_alone(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        await bench.say(1)
        await store(bench, *(made(number) for number in (1, 3, 5)))
        found = await bench.database.read(lambda link: read_notes(link, of(link), before=4))
        assert [one.note.id for one in found] == ["0.1"]
