"""An observer that asks a model over the real protocol, with every kind of model on the other side."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import date
from typing import Any

import pytest

from lamina.errors import LaminaError, ModelFailedError, OperationTimeoutError, RateLimitedError, UnauthorizedError
from lamina.observation.faithful import find_faults
from lamina.observation.model_observer import ModelObserver
from lamina.observation.transcript import show_messages
from lamina.observation.types import EntryKind, Observed, ObserverRequest, Period, Priority, Speaker, Status
from lamina.session.types import Role
from tests.llm.scripted import ChatServer, chat_model, cut_json, drip, html, no_choices, refused, running, said
from tests.observation.samples import entry
from tests.observation.talk import GOOD, HOLIDAY, assistant, called, line, message, returned, talk

pytestmark = pytest.mark.anyio
NOTHING = '{"nothing": true}'
SMALL_TALK = talk(message(1, "Hello, how are you?"), assistant(2, "Fine, thanks!"), message(3, "Great, thank you."))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ChatServer(text=NOTHING)) as started:
        yield started


@pytest.fixture
async def observer(server: ChatServer) -> AsyncIterator[ModelObserver]:
    model = chat_model(server)
    yield ModelObserver(model)
    await model.aclose()


def assert_borne_out(observed: Observed, request: ObserverRequest) -> None:
    """No entry says anything that the messages it cites do not say."""
    shown = {one.message.sequence: one for one in show_messages(request.messages)}
    for one in observed.entries:
        evidence = [piece for sequence in one.sources for piece in shown[sequence].evidence]
        assert find_faults(one.text, evidence) == (), one.text


def texts(observed: Observed) -> list[str]:
    return [one.text for one in observed.entries]


@pytest.mark.requirement("observation.observer.content")
async def test_a_good_model_notes_decisions_wishes_facts_and_outcomes_in_one_call(
    server: ChatServer, observer: ModelObserver
) -> None:
    server.say(GOOD)

    observed = await observer.observe(HOLIDAY)

    assert len(server.requests) == 1
    assert observed.dropped == ()
    assert observed.written_by == "openai:house-model"
    assert not observed.provisional
    assert (observed.spent.calls, observed.spent.input_tokens, observed.spent.output_tokens) == (1, 11, 7)
    noted = {one.kind: one for one in observed.entries}
    assert noted[EntryKind.DECISION].text == "Ann decided to go with Hotel Alfama"
    assert noted[EntryKind.CONSTRAINT].sources == (3,)
    assert noted[EntryKind.PREFERENCE].priority is Priority.HIGH
    assert noted[EntryKind.TASK].refers_to == Period(first=date(2026, 5, 2), last=date(2026, 5, 2))
    assert noted[EntryKind.OUTCOME].origin is Speaker.TOOL
    assert noted[EntryKind.QUESTION].author == "Ann"
    assert all("row" not in one.text for one in observed.entries), "what a tool returned is not copied"
    assert_borne_out(observed, HOLIDAY)


async def test_a_model_that_copies_a_tools_output_is_refused(server: ChatServer, observer: ModelObserver) -> None:
    listing = "row of the table with many values " * 40
    asked = talk(message(1, "list the table"), called(2), returned(3, listing), message(4, "thanks"))
    server.say(line("Tool search: " + listing[:900], 3, kind="outcome"), NOTHING)

    observed = await observer.observe(asked)

    assert observed.entries == ()
    assert len(observed.dropped) == 1


async def test_nothing_is_an_outcome_of_its_own(server: ChatServer, observer: ModelObserver) -> None:
    observed = await observer.observe(SMALL_TALK)

    assert observed.entries == ()
    assert observed.spent.calls == len(server.requests) == 1


async def test_a_lazy_model_is_asked_once_for_what_it_left_out(server: ChatServer, observer: ModelObserver) -> None:
    server.say(line("Ann plans a trip to Lisbon", 1), GOOD)

    observed = await observer.observe(HOLIDAY)

    mend = server.asked[1]
    assert "never book anything on a Sunday" in mend
    assert "Let's go with Hotel Alfama then" in mend
    assert len(observed.entries) == 9
    assert observed.spent.calls == 2
    assert_borne_out(observed, HOLIDAY)


@pytest.mark.parametrize("answer", [NOTHING, line("Ann plans a trip to Lisbon", 1)], ids=["nothing", "one line"])
async def test_what_a_lazy_model_never_notes_is_kept_in_the_users_own_words(
    answer: str, server: ChatServer, observer: ModelObserver
) -> None:
    server.say(answer, NOTHING)

    observed = await observer.observe(HOLIDAY)

    said = {one.kind: one for one in observed.entries}
    assert "never book anything on a Sunday" in said[EntryKind.CONSTRAINT].text
    assert said[EntryKind.PREFERENCE].text == "I prefer a room with a balcony."
    assert said[EntryKind.DECISION].text == "Let's go with Hotel Alfama then."
    assert (said[EntryKind.DECISION].sources, said[EntryKind.DECISION].origin) == ((7,), Speaker.USER)
    assert_borne_out(observed, HOLIDAY)


@pytest.mark.parametrize("period", [1, 3])
async def test_a_repetitive_model_is_salvaged(period: int, server: ChatServer, observer: ModelObserver) -> None:
    lines = GOOD.splitlines()
    server.always = said("\n".join([*lines, *(lines[-period:] * 400)]) + '\n{"text": "Ann as', finish_reason="length")

    observed = await observer.observe(HOLIDAY)

    assert len(observed.entries) == len(lines)
    assert len(set(texts(observed))) == len(lines)


@pytest.mark.parametrize("answer", ["", "   \n\n"])
async def test_an_empty_answer_is_a_failure_and_can_be_tried_again(
    answer: str, server: ChatServer, observer: ModelObserver
) -> None:
    server.always = said(answer)

    with pytest.raises(ModelFailedError) as failure:
        await observer.observe(HOLIDAY)

    assert failure.value.retryable
    assert failure.value.details["reason"] == "empty"
    assert failure.value.details["calls"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        "I could not find anything worth noting.",
        "# Notes\n- Ann likes balconies",
        "{{{{",
        '{"text": "Ann pl',
        "[]",
        "<html>",
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_failure_never_nothing(
    answer: str, server: ChatServer, observer: ModelObserver
) -> None:
    server.always = said(answer)

    for asked in (HOLIDAY, SMALL_TALK):
        with pytest.raises(ModelFailedError) as failure:
            await observer.observe(asked)
        assert failure.value.details["reason"] == "unreadable"


async def test_a_model_that_forgets_the_form_once_is_told(server: ChatServer, observer: ModelObserver) -> None:
    server.say("Sure! Ann wants a balcony.", GOOD)

    observed = await observer.observe(HOLIDAY)

    assert len(observed.entries) == 8
    assert '{"nothing": true}' in server.asked[1]


LIES = [
    line("Ann plans a trip to Madrid", 1),
    line("Ann has 3 daughters called Mia", 1),
    line("Ann books the flights on 2026-05-07", 1, refers_to="2026-05-07"),
    line("Assistant recommended Hotel Alfama at 95 EUR a night", 2),
    line("Assistant recommended Hotel Bairro", 2),
    line("Ann prefers a room with a balcony", 99, kind="preference"),
    line("Ann prefers a room with a balcony and a view of the harbour of Porto", 3, kind="preference"),
    line("Ann: book everything on a Sunday", 3, kind="constraint"),
    line("Ann decided to go with Hotel Adler", 7, kind="decision"),
    line("Ann's flight is TP1234 at 06:45", 1),
    line("See https://alfama.example/book/17 and /etc/passwd", 5, kind="outcome"),
    line('Ann said "I love Sundays"', 3),
    line("Ann owns a yacht and two helicopters", 1),
    line("User's name is Robert Smith", 1, 3, 7),
]


async def test_nothing_that_a_lying_model_invents_is_kept(server: ChatServer, observer: ModelObserver) -> None:
    """Numbers, names, dates, citations, quotations, addresses, codes, and the opposite of what was said."""
    server.say("\n".join([line("Ann plans a trip to Lisbon", 1), *LIES]), "\n".join(LIES))

    observed = await observer.observe(HOLIDAY)

    assert not {json.loads(one)["text"] for one in LIES} & set(texts(observed))
    assert_borne_out(observed, HOLIDAY)
    assert len(observed.dropped) == len(LIES)
    assert "Ann plans a trip to Lisbon" in texts(observed)
    assert any("never book anything on a Sunday" in text for text in texts(observed))


async def test_a_model_that_only_lies_has_failed(server: ChatServer, observer: ModelObserver) -> None:
    server.always = said("\n".join(LIES))

    with pytest.raises(ModelFailedError) as failure:
        await observer.observe(HOLIDAY)

    assert failure.value.details == {"reason": "unproved", "calls": 2, "input_tokens": 22, "output_tokens": 14}


async def test_lies_about_a_talk_of_nothing_leave_nothing_to_record(
    server: ChatServer, observer: ModelObserver
) -> None:
    server.always = said(line("User met Sofia in Paris", 1))

    observed = await observer.observe(SMALL_TALK)

    assert observed.entries == ()
    assert len(observed.dropped) == 1


async def test_a_repaired_line_is_kept_and_its_fault_was_named(server: ChatServer, observer: ModelObserver) -> None:
    good = GOOD.splitlines()
    wrong = line("Ann decided to go with Hotel Adler", 7, kind="decision", priority="high")
    server.say("\n".join([*good[:6], wrong, good[7]]), good[6])

    observed = await observer.observe(HOLIDAY)

    assert "`Adler` is not in the messages it cites" in server.asked[1]
    assert observed.dropped == ()
    assert "Ann decided to go with Hotel Alfama" in texts(observed)


@pytest.mark.parametrize("second", [refused(500), said(""), html], ids=["error", "empty", "page"])
async def test_a_repair_that_fails_costs_nothing_that_was_proved(
    second: Any, server: ChatServer, observer: ModelObserver
) -> None:
    server.say(line("Ann plans a trip to Lisbon", 1))
    server.script.append(second)

    observed = await observer.observe(HOLIDAY)

    assert "Ann plans a trip to Lisbon" in texts(observed)
    assert "Let's go with Hotel Alfama then." in texts(observed)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (refused(500), ModelFailedError),
        (refused(429), RateLimitedError),
        (refused(401), UnauthorizedError),
        (html, ModelFailedError),
        (cut_json, ModelFailedError),
        (no_choices, ModelFailedError),
    ],
)
async def test_what_a_broken_model_raises_is_raised(
    behaviour: Any, error: type[LaminaError], server: ChatServer, observer: ModelObserver
) -> None:
    server.always = behaviour

    with pytest.raises(error):
        await observer.observe(HOLIDAY)


async def test_a_slow_model_is_given_up(server: ChatServer) -> None:
    server.always = drip
    model = chat_model(server, timeout_s=0.05)

    with pytest.raises(OperationTimeoutError):
        await ModelObserver(model).observe(HOLIDAY)

    await model.aclose()


async def test_a_model_is_not_asked_about_nothing(server: ChatServer, observer: ModelObserver) -> None:
    observed = await observer.observe(talk(message(1, "You are helpful.", role=Role.SYSTEM), message(2, "  ")))

    assert (observed.entries, observed.spent.calls, server.requests) == ((), 0, [])


async def test_what_is_noted_already_is_shown_and_not_noted_again(server: ChatServer, observer: ModelObserver) -> None:
    asked = talk(
        message(9, "I prefer tea now, no more coffee."),
        recent=[entry("User prefers coffee from Brazil", kind=EntryKind.PREFERENCE)],
    )
    server.say(
        "\n".join(
            [
                line("User prefers coffee from Brazil", 9, kind="preference"),
                line("User prefers tea now, replacing coffee from Brazil", 9, kind="preference", replaces=["r1"]),
            ]
        )
    )

    observed = await observer.observe(asked)

    assert "r1 2026-05-01 preference, open: User prefers coffee from Brazil" in server.asked[0]
    assert texts(observed) == ["User prefers tea now, replacing coffee from Brazil"]
    assert observed.entries[0].sources == (9,)


async def test_a_long_result_is_shown_shortened_with_a_mark(server: ChatServer, observer: ModelObserver) -> None:
    asked = talk(
        message(1, "fetch"), called(2, "fetch"), returned(3, "begin " + "x" * 10_000_000 + " end", name="fetch")
    )

    await observer.observe(asked)

    prompt = server.asked[0]
    assert len(prompt) < 4_000
    assert "characters left out" in prompt
    assert "begin" in prompt
    assert "end" in prompt


async def test_an_entry_is_done_only_when_it_is_said_to_be(server: ChatServer, observer: ModelObserver) -> None:
    asked = talk(message(1, "deploy v2 to staging"), assistant(2, "I deployed v2 to staging, all checks passed."))
    server.say(
        "\n".join(
            [
                line("Assistant deployed v2 to staging", 2, kind="outcome", status="done"),
                line("User asked to deploy v2 to staging", 1, kind="task", status="superseded"),
            ]
        )
    )

    observed = await observer.observe(asked)

    assert [one.status for one in observed.entries] == [Status.OPEN, Status.DONE]
