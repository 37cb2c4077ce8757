"""A reflector that asks a model over the real protocol, with every kind of model on the other side."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from lamina.errors import LaminaError, ModelFailedError, OperationTimeoutError, RateLimitedError
from lamina.observation.faithful import find_faults
from lamina.observation.judging import entry_evidence
from lamina.observation.model_reflector import ModelReflector
from lamina.observation.reflecting import NOT_CONDENSED
from lamina.observation.reflector_prompt import LEVELS
from lamina.observation.render import entry_counter
from lamina.observation.types import (
    Entry,
    EntryKind,
    Note,
    Period,
    Priority,
    Reflected,
    ReflectorRequest,
    Speaker,
    Status,
)
from tests.llm.scripted import ChatServer, by, chat_model, cut_json, drip, html, refused, running, said
from tests.observation.samples import entry, note
from tests.observation.talk import condensed

pytestmark = pytest.mark.anyio

OLD = (
    entry("User plans a trip to Lisbon with her daughter Mia", kind=EntryKind.EVENT, sources=[1], minutes=1),
    entry("Assistant recommended Hotel Alfama at 120 EUR a night", origin=Speaker.ASSISTANT, sources=[2], minutes=2),
    entry(
        "User prefers a room with a balcony", kind=EntryKind.PREFERENCE, priority=Priority.HIGH, sources=[3], minutes=3
    ),
    entry(
        "User: never book anything on a Sunday",
        kind=EntryKind.CONSTRAINT,
        priority=Priority.HIGH,
        sources=[3],
        minutes=3,
    ),
    entry(
        "Tool hotels: Hotel Alfama has 3 rooms left",
        kind=EntryKind.OUTCOME,
        origin=Speaker.TOOL,
        sources=[5],
        minutes=5,
    ),
    entry("User chose Hotel Alfama", kind=EntryKind.DECISION, priority=Priority.HIGH, sources=[7], minutes=7),
    entry(
        "User asked how the weather is in Lisbon",
        kind=EntryKind.QUESTION,
        priority=Priority.LOW,
        sources=[7],
        minutes=7,
    ),
    entry(
        "Book the flights",
        kind=EntryKind.TASK,
        priority=Priority.HIGH,
        sources=[9],
        minutes=9,
        refers_to=(date(2026, 5, 2),) * 2,
    ),
    entry(
        "User greeted the assistant and spoke about the weather for a while",
        priority=Priority.LOW,
        sources=[10],
        minutes=10,
    ),
    entry(
        "User greeted the assistant again and spoke about the rain for a while",
        priority=Priority.LOW,
        sources=[11],
        minutes=11,
    ),
)
GOOD = "\n".join(
    [
        condensed("User plans a trip to Lisbon with her daughter Mia", "e1", "e7", kind="event"),
        condensed("Assistant recommended Hotel Alfama at 120 EUR a night", "e2"),
        condensed("User prefers a room with a balcony", "e3", kind="preference", priority="high"),
        condensed("User: never book anything on a Sunday", "e4", kind="constraint", priority="high"),
        condensed("Tool hotels: Hotel Alfama has 3 rooms left", "e5", kind="outcome"),
        condensed("User chose Hotel Alfama", "e6", kind="decision", priority="high"),
        condensed("Book the flights", "e8", kind="task", priority="high", refers_to="2026-05-02"),
    ]
)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ChatServer(text=GOOD)) as started:
        yield started


@pytest.fixture
async def reflector(server: ChatServer) -> AsyncIterator[ModelReflector]:
    model = chat_model(server)
    yield ModelReflector(model)
    await model.aclose()


def request(*entries: Entry, target: int = 10_000, notes: Sequence[Note] = ()) -> ReflectorRequest:
    given = tuple(notes) or (note(*(entries or OLD), last=12),)
    return ReflectorRequest(session_key="direct:1", notes=given, target_tokens=target)


def texts(reflected: Reflected) -> list[str]:
    return [one.text for one in reflected.entries]


def pinned(entries: Sequence[Entry]) -> set[str]:
    return {one.text for one in entries if one.pinned}


async def test_a_good_model_condenses_in_one_call(server: ChatServer, reflector: ModelReflector) -> None:
    reflected = await reflector.reflect(request())

    assert reflected.spent.calls == len(server.requests) == 1
    assert reflected.written_by == "openai:house-model"
    assert reflected.kept == 0
    assert not reflected.provisional
    assert entry_counter()(reflected.entries) < entry_counter()(OLD)
    first = reflected.entries[0]
    assert first.sources == (1, 7), "sources are the union of those it was made from"
    assert first.said_at == OLD[0].said_at
    task = next(one for one in reflected.entries if one.kind is EntryKind.TASK)
    assert task.refers_to == Period(first=date(2026, 5, 2), last=date(2026, 5, 2))
    assert pinned(reflected.entries) == pinned(OLD)


def joining(body: dict[str, Any]) -> str:
    """Joins what the user told and leaves out what is of low priority; everything else stays as it is."""
    lines = _NOTED.findall(body["messages"][-1]["content"])
    told = [(id, text) for id, kind, _, who, text in lines if (kind, who) == ("event", "user")]
    joined = condensed("; ".join(text for _, text in told), *(id for id, _ in told), kind="event") if told else ""
    others = [
        condensed(text, id, kind=kind, priority=priority)
        for id, kind, priority, who, text in lines
        if priority != "low" and (kind, who) != ("event", "user")
    ]
    return "\n".join([joined, *others])


_NOTED = re.compile(r"^(e\d+) \S+ \S+ (\w+), (\w+), \w+.*?, (\w+) \| (.*)$", re.MULTILINE)


async def test_sources_survive_several_generations(server: ChatServer, reflector: ModelReflector) -> None:
    server.always = by(joining)
    kept: tuple[Entry, ...] = OLD
    for generation in range(1, 6):
        minutes = 100 * generation
        new = (
            entry(f"User visited place number {minutes}", kind=EntryKind.EVENT, sources=[minutes], minutes=minutes),
            entry("User spoke of this and that", priority=Priority.LOW, sources=[minutes + 1], minutes=minutes + 1),
        )
        notes = (replace(note(*kept, id="r"), generation=generation - 1), note(*new, id="o"))
        kept = (await reflector.reflect(request(notes=notes))).entries

    (story,) = [one for one in kept if one.kind is EntryKind.EVENT]
    assert story.sources == (1, 100, 200, 300, 400, 500)
    assert story.said_at == OLD[0].said_at
    assert pinned(kept) == pinned(OLD)
    assert {one.text: one.sources for one in kept if one.pinned} == {one.text: one.sources for one in OLD if one.pinned}


async def test_a_lazy_model_loses_no_pinned_entry(server: ChatServer, reflector: ModelReflector) -> None:
    lazy = condensed("User plans a trip to Lisbon with her daughter Mia", "e1", "e2", "e5", "e7", kind="event")
    server.always = said(lazy)

    reflected = await reflector.reflect(request())

    assert pinned(reflected.entries) == pinned(OLD)
    assert reflected.kept == 4
    for one in reflected.entries:
        if one.pinned:
            before = next(old for old in OLD if old.text == one.text)
            assert (one.sources, one.kind, one.origin) == (before.sources, before.kind, before.origin)


async def test_a_model_that_accounts_for_hardly_anything_is_refused(
    server: ChatServer, reflector: ModelReflector
) -> None:
    server.always = said(condensed("User greeted the assistant", "e9"))

    with pytest.raises(ModelFailedError) as failure:
        await reflector.reflect(request())

    assert failure.value.details["reason"] == "unusable"
    assert failure.value.details["calls"] == len(LEVELS)
    assert "accounted for" in server.asked[1]


async def test_nothing_that_a_lying_model_invents_is_kept(server: ChatServer, reflector: ModelReflector) -> None:
    lies = [
        condensed("User plans a trip to Madrid with her daughter Mia", "e1", kind="event"),
        condensed("Assistant recommended Hotel Alfama at 95 EUR a night", "e2"),
        condensed("User plans a trip to Lisbon on 2026-06-01", "e1", kind="event"),
        condensed("User chose Hotel Adler", "e6", kind="decision"),
        condensed("User prefers a room with a balcony", "e77", kind="preference"),
        condensed("User is rich", kind="fact"),
        condensed("User: book everything on a Sunday", "e4", kind="constraint"),
        condensed("User wants the 3 rooms left at Hotel Alfama", "e5", kind="preference"),
    ]
    server.always = said("\n".join([*lies, *GOOD.splitlines()[:2], GOOD.splitlines()[4]]))

    reflected = await reflector.reflect(request())

    assert not {one.split('"')[3] for one in lies if "e77" not in one} & set(texts(reflected))
    for one in reflected.entries:
        cited = [entry_evidence(old) for old in OLD if set(old.sources) <= set(one.sources)]
        assert find_faults(one.text, cited) == ()
    assert pinned(reflected.entries) == pinned(OLD)


async def test_a_pinned_entry_is_only_superseded_by_something_newer(
    server: ChatServer, reflector: ModelReflector
) -> None:
    newer = entry(
        "User no longer prefers a room with a balcony, a garden is better",
        kind=EntryKind.PREFERENCE,
        sources=[20],
        minutes=20,
    )
    server.always = said(
        GOOD.replace('"from": ["e3"]', '"from": ["e1"]').replace(
            '"text": "User prefers a room with a balcony"', '"text": "User plans a trip to Lisbon"'
        )
        + "\n"
        + condensed(newer.text, "e11", kind="preference", supersedes=["e3", "e4", "e6"])
    )

    reflected = await reflector.reflect(request(*OLD, newer))

    assert "User prefers a room with a balcony" not in texts(reflected)
    assert next(one for one in reflected.entries if one.text == newer.text).sources == (3, 7, 20)
    assert "User: never book anything on a Sunday" in texts(reflected)
    assert "User chose Hotel Alfama" in texts(reflected)


async def test_what_binds_stays_binding_and_what_does_not_stays_so(
    server: ChatServer, reflector: ModelReflector
) -> None:
    server.always = said(
        GOOD.replace('"kind": "constraint"', '"kind": "fact"')
        .replace('"kind": "event"', '"kind": "constraint"')
        .replace('"kind": "task"', '"kind": "task", "status": "done"')
    )

    reflected = await reflector.reflect(request())

    kinds = {one.text: (one.kind, one.status) for one in reflected.entries}
    assert kinds["User: never book anything on a Sunday"] == (EntryKind.CONSTRAINT, Status.OPEN)
    assert kinds["User plans a trip to Lisbon with her daughter Mia"][0] is EntryKind.EVENT
    assert kinds["Book the flights"] == (EntryKind.TASK, Status.OPEN), "nothing says that it is done"


async def test_a_task_is_done_when_a_later_entry_says_so(server: ChatServer, reflector: ModelReflector) -> None:
    booked = entry(
        "Assistant booked the flights",
        kind=EntryKind.OUTCOME,
        origin=Speaker.ASSISTANT,
        status=Status.DONE,
        sources=[21],
        minutes=21,
    )
    server.always = said(
        GOOD.replace(
            '"text": "Book the flights"', '"text": "Book the flights: assistant booked the flights", "status": "done"'
        ).replace('"e8"', '"e8", "e11"')
    )

    reflected = await reflector.reflect(request(*OLD, booked))

    (task,) = [one for one in reflected.entries if one.kind is EntryKind.TASK]
    assert (task.status, task.sources) == (Status.DONE, (9, 21))


async def test_the_ladder_asks_for_more_and_says_what_was_wrong(server: ChatServer, reflector: ModelReflector) -> None:
    long = "\n".join(
        condensed(one.text, f"e{place}", kind=one.kind.value, priority=one.priority.value)
        for place, one in enumerate(OLD, 1)
    )
    server.say(long, long, GOOD)

    reflected = await reflector.reflect(request(target=150))

    assert len(server.requests) == reflected.spent.calls == 3
    assert [level in asked for level, asked in zip(LEVELS, server.asked, strict=True)] == [True] * 3
    assert "It was too long." in server.asked[1]
    assert len(reflected.entries) == 7


async def test_the_best_of_three_is_kept_though_none_is_within_the_target(
    server: ChatServer, reflector: ModelReflector
) -> None:
    faulty = GOOD.replace("120 EUR", "95 EUR")
    server.say(faulty, GOOD, faulty)

    reflected = await reflector.reflect(request(target=1))

    assert "Assistant recommended Hotel Alfama at 120 EUR a night" in texts(reflected)
    assert reflected.spent.calls == 3


@pytest.mark.parametrize("answer", ["", "  ", "I condensed it.", '{"nothing": true}', "[]", "{{{", '{"text": "User pl'])
async def test_a_model_that_gives_nothing_back_has_failed(
    answer: str, server: ChatServer, reflector: ModelReflector
) -> None:
    server.always = said(answer)

    with pytest.raises(ModelFailedError) as failure:
        await reflector.reflect(request())

    assert failure.value.retryable


async def test_what_is_not_smaller_has_failed(server: ChatServer, reflector: ModelReflector) -> None:
    server.always = said(
        "\n".join(
            condensed(one.text, f"e{place}", kind=one.kind.value, priority=one.priority.value)
            for place, one in enumerate(OLD, 1)
        )
    )

    with pytest.raises(ModelFailedError) as failure:
        await reflector.reflect(request())

    assert failure.value.details["reason"] == NOT_CONDENSED


async def test_a_repetitive_model_is_salvaged(server: ChatServer, reflector: ModelReflector) -> None:
    server.always = said("\n".join(GOOD.splitlines() * 50) + '\n{"text": "User', finish_reason="length")

    reflected = await reflector.reflect(request())

    assert len(reflected.entries) == 7


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (refused(500), ModelFailedError),
        (refused(429), RateLimitedError),
        (html, ModelFailedError),
        (cut_json, ModelFailedError),
    ],
)
async def test_what_a_broken_model_raises_is_raised(
    behaviour: Any, error: type[LaminaError], server: ChatServer, reflector: ModelReflector
) -> None:
    server.always = behaviour

    with pytest.raises(error):
        await reflector.reflect(request())


async def test_a_model_that_breaks_on_the_way_keeps_its_best_answer(
    server: ChatServer, reflector: ModelReflector
) -> None:
    server.say(GOOD)
    server.script.append(refused(500))

    reflected = await reflector.reflect(request(target=1))

    assert len(reflected.entries) == 7


async def test_a_slow_model_is_given_up(server: ChatServer) -> None:
    server.always = drip
    model = chat_model(server, timeout_s=0.05)

    with pytest.raises(OperationTimeoutError):
        await ModelReflector(model).reflect(request())

    await model.aclose()
