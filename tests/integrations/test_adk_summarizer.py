"""Our notes as ADK's compaction of events."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App as AdkApp
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from lamina.app import App
from lamina.errors import ModelFailedError
from lamina.integrations.adk import LaminaSummarizer
from lamina.integrations.adk_summarizer import HEADING, whole_exchanges, within
from lamina.kernel.tokens import estimate_tokens
from lamina.observability.prometheus import render_prometheus
from tests.integrations.adk_scripts import ScriptedModel, ask, spoken, text_of

pytestmark = pytest.mark.anyio
TALK = (
    "I prefer dark mode in every editor that I use at work.",
    "We decided to move the release of the web shop to Monday the 4th of May because the tests fail.",
    "Well, the weather is what it is today, and I do not have much to say about it, nor does anybody else, I think.",
    "My sister Anna visited me in Hamburg last week and we went to see the harbour and the new concert hall.",
    *(
        f"So, well, and then, you know, one thing led to another, as it does, for the {n}th time this day."
        for n in range(4, 9)
    ),
)


def said(text: str, author: str = "user", invocation: str = "i1", **fields: Any) -> Event:
    """An event that says something."""
    return Event(author=author, invocation_id=invocation, content=spoken(text, "user"), **fields)


def called(id: str, invocation: str = "i1") -> Event:
    """An event that asks for a tool."""
    part = types.Part(function_call=types.FunctionCall(id=id, name="look", args={"at": "the harbour"}))
    return Event(author="helper", invocation_id=invocation, content=types.Content(role="model", parts=[part]))


def answered(id: str, invocation: str = "i1") -> Event:
    """An event with the result of a tool."""
    response = types.FunctionResponse(id=id, name="look", response={"result": "There are 12 ships in the harbour."})
    part = types.Part(function_response=response)
    return Event(author="helper", invocation_id=invocation, content=types.Content(role="user", parts=[part]))


def notes_of(event: Event | None) -> str:
    """The text of a compaction."""
    assert event is not None
    assert event.actions.compaction is not None
    return text_of(event.actions.compaction.compacted_content)


async def test_a_stretch_becomes_notes_that_are_shorter_and_say_what_was_said(app: App) -> None:
    events = [event for text in TALK for event in (said(text), said("I see, thank you.", "helper"))]
    made = await LaminaSummarizer(app).maybe_summarize_events(events=events)
    text = notes_of(made)
    assert made is not None
    assert made.actions.compaction is not None
    assert text.startswith(HEADING)
    assert "dark mode" in text
    assert estimate_tokens(text) < estimate_tokens(" ".join(TALK))
    assert (made.actions.compaction.start_timestamp, made.actions.compaction.end_timestamp) == (
        events[0].timestamp,
        events[-1].timestamp,
    )
    assert made.actions.compaction.compacted_content.role == "model"


async def test_a_call_whose_result_is_not_there_yet_stays_out_with_everything_after_it(app: App) -> None:
    events = [*map(said, TALK), called("c1"), said("And this comes later.")]
    made = await LaminaSummarizer(app).maybe_summarize_events(events=events)
    assert made is not None
    assert made.actions.compaction is not None
    assert made.actions.compaction.end_timestamp == events[-3].timestamp
    assert "comes later" not in notes_of(made)


def test_a_call_and_its_result_are_taken_together_and_a_lost_call_does_not_block_for_ever() -> None:
    whole = [said("a"), called("c1"), answered("c1"), said("b")]
    assert whole_exchanges(whole) == whole
    assert whole_exchanges(whole[:2]) == whole[:1]
    lost = [said("a"), called("c1"), said("b", invocation="i2"), called("c2", "i2")]
    assert whole_exchanges(lost) == lost[:3]
    apart = [called("c1"), said("b", invocation="i2"), answered("c1", "i2")]
    assert whole_exchanges(apart) == apart
    assert whole_exchanges(apart[:2]) == apart[:2]


async def test_lines_of_an_earlier_compaction_are_carried_over_word_for_word(app: App) -> None:
    summarizer = LaminaSummarizer(app)
    first = await summarizer.maybe_summarize_events(events=list(map(said, TALK)))
    before = notes_of(first)
    seed = Event(author="model", invocation_id="x", content=spoken(before))
    more = [said("From now on I prefer light mode in the editor, because of the glare on my new screen.")]
    second = await summarizer.maybe_summarize_events(events=[seed, *more, *map(said, TALK[4:])])
    assert notes_of(second).startswith(before)
    assert "light mode" in notes_of(second)


async def test_nothing_is_compacted_into_something_longer(app: App) -> None:
    assert await LaminaSummarizer(app).maybe_summarize_events(events=[said("Use port 5433.")]) is None
    assert await LaminaSummarizer(app).maybe_summarize_events(events=[]) is None


async def test_secrets_are_hidden_in_notes(app: App) -> None:
    events = [*map(said, TALK), said("The password of the database is hunter2-Xyz, please remember that I said so.")]
    assert "hunter2" not in notes_of(await LaminaSummarizer(app).maybe_summarize_events(events=events))


async def test_an_observer_that_fails_leaves_the_events_as_they_are(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        async def observe(self, request: object) -> None:
            raise ModelFailedError("no answer")

    from lamina.integrations import adk_summarizer
    from lamina.observation.desk import Writers

    failing: Any = Failing()
    monkeypatch.setattr(adk_summarizer, "writers_of", lambda model: Writers(observer=failing, reflector=failing))
    assert await LaminaSummarizer(app).maybe_summarize_events(events=list(map(said, TALK))) is None
    assert 'operation="adk_compact"' in render_prometheus(app.metrics)


async def test_a_runner_compacts_a_session_with_our_notes_and_the_model_sees_them(app: App) -> None:
    model = ScriptedModel("I see, thank you for telling me.")
    adk = AdkApp(
        name="house",
        root_agent=LlmAgent(name="helper", model=model),
        events_compaction_config=EventsCompactionConfig(
            summarizer=LaminaSummarizer(app), compaction_interval=len(TALK), overlap_size=0
        ),
    )
    runner = Runner(app=adk, session_service=InMemorySessionService(), auto_create_session=True)
    for text in (*TALK, "What do you know about me?"):
        await ask(runner, text)
    told = [text_of(content) for content in model.asked[-1].contents]
    assert len(told) == 2
    assert HEADING in told[0]
    assert "dark mode" in told[0]
    assert told[1] == "What do you know about me?"


LINES = st.lists(
    st.sampled_from(
        [
            "2026-05-01\n",
            "2026-05-02\n",
            "- 10:00 user: It rains.\n",
            "- 10:01 Ann (decision): We go home.\n",
            "- 10:02 user (open task): Write it down.\n",
            "- 10:03 tool: 12 ships (decision): no\n",
        ]
    ),
    max_size=12,
)


@given(lines=LINES, budget=st.integers(0, 80))
def test_a_budget_is_kept_in_whole_lines_and_what_is_pinned_goes_last(lines: list[str], budget: int) -> None:
    kept = within(lines, budget)
    rest = iter(lines)
    assert all(line in rest for line in kept), "in order, and nothing new"
    spoken_lines = [line for line in kept if line.startswith("- ")]
    if budget:
        days = sum(estimate_tokens(line) for line in lines if not line.startswith("- "))
        assert (
            sum(map(estimate_tokens, spoken_lines)) <= max(0, budget - days)
            or sum(map(estimate_tokens, spoken_lines)) + days <= budget
        )
    else:
        assert spoken_lines == [line for line in lines if line.startswith("- ")]
    pinned = [line for line in lines if "(decision): We" in line or "(open task)" in line]
    if [line for line in kept if line in pinned] != pinned:
        assert all(line in pinned for line in spoken_lines), "a pinned line went while another stayed"
