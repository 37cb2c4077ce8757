"""Who writes the notes of an app, and what every kind of model on the other side can and cannot do to them."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy
from lamina.llm.settings import LlmSettings
from lamina.llm.types import ChatReply, ChatRequest
from lamina.memory.settings import MemorySettings
from lamina.observation.settings import ObservationSettings
from tests.llm.scripted import KEY, Behaviour, ChatServer, by, html, refused, running, said
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio
SESSION = "telegram:42:7"
SMALL = ObservationSettings(
    enabled=True,
    message_token_threshold=100,
    observation_token_threshold=150,
    retained_tail_tokens=0,
    max_batch_tokens=150,
    sweep_interval_s=0,
)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ChatServer(text='{"nothing": true}')) as started:
        yield started


@asynccontextmanager
async def app_with(
    url: str,
    *,
    clock: ManualClock | None = None,
    llm: LlmSettings | None = None,
    observed: ObservationSettings = SMALL,
    model: Any = None,
) -> AsyncIterator[App]:
    settings = Settings(
        database=DatabaseSettings(url=url),
        memory=MemorySettings(sweep_interval_s=0),
        llm=llm or LlmSettings(),
        observational_memory=observed,
        retry=RetryPolicy(retries=1, initial_s=0.1),
    )
    app = App(
        settings,
        embedder=static_embedder(),
        model=model,
        clock=clock or ManualClock(),
        environ={"OPENAI_API_KEY": KEY},
    )
    async with app:
        yield app


async def talk(app: App, exchanges: int, start: int = 0) -> None:
    for number in range(start, start + exchanges):
        said = f"We decided to move pier {number} to berth {number + 100} because crane {number} broke down."
        await app.sessions.append(role="user", content=said, session_key=SESSION)
        answer = f"Pier {number} is at berth {number + 100} now and crane {number} is in repair."
        await app.sessions.append(role="assistant", content=answer, session_key=SESSION)


class OwnModel:
    """A model that an application brings along."""

    name = "own"

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        return ChatReply(text='{"nothing": true}', model="own", input_tokens=1, output_tokens=1)

    async def aclose(self) -> None: ...


@pytest.mark.requirement("observation.observer.model")
async def test_the_configured_model_writes_and_without_one_the_primary_agents(
    store_url: str, server: ChatServer
) -> None:
    primary = LlmSettings(model="primary", base_url=server.url)
    chosen = ObservationSettings(
        enabled=True,
        provider="openai",
        model="notes",
        message_token_threshold=100,
        retained_tail_tokens=0,
        sweep_interval_s=0,
    )
    async with app_with(store_url, llm=primary, observed=chosen) as app:
        await talk(app, 5)
        await app.observation.observe_now(SESSION)
    assert {request["model"] for request in server.requests} == {"notes"}
    server.requests.clear()
    async with app_with(store_url, llm=primary) as app:
        await talk(app, 5, start=5)
        await app.observation.observe_now(SESSION)
    assert {request["model"] for request in server.requests} == {"primary"}
    server.requests.clear()
    own = OwnModel()
    async with app_with(store_url, llm=primary, model=own) as app:
        await talk(app, 5, start=10)
        await app.observation.observe_now(SESSION)
    assert own.asked
    assert server.requests == []


async def test_without_any_model_notes_are_extracted_and_a_model_that_comes_later_writes_them_anew(
    store_url: str, server: ChatServer
) -> None:
    async with app_with(store_url) as app:
        await talk(app, 10)
        await app.observation.observe_now(SESSION)
        before = await app.observation.notes(SESSION)
        assert all(note.provisional for note in before)
        watermark = (await app.observation.timeline(SESSION)).watermark
    server.always = by(good)
    async with app_with(store_url, llm=LlmSettings(model="primary", base_url=server.url)) as app:
        await app.observation.observe_now(SESSION)
        after = await app.observation.notes(SESSION)
        assert after
        assert {note.written_by for note in after} == {"openai:primary"}
        assert not any(note.provisional for note in after)
        assert (await app.observation.timeline(SESSION)).watermark >= watermark


async def test_a_provider_without_a_model_is_refused_when_the_app_is_opened(store_url: str) -> None:
    observed = ObservationSettings(enabled=True, provider="openai")
    with pytest.raises(ConfigurationError, match="without a model"):
        async with app_with(store_url, observed=observed):
            pass


def good(body: dict[str, Any]) -> str:
    """Notes every user's message in its own words, or condenses every second line."""
    shown = body["messages"][-1]["content"]
    lines = []
    for number in dict.fromkeys(re.findall(r"move pier (\d+) to berth", shown)):
        sequence = 2 * int(number) + 1
        text = f"Pier {number} moves to berth {int(number) + 100}."
        lines.append({"text": text, "kind": "decision", "priority": "high", "sources": [sequence]})
    return "\n".join(map(json.dumps, lines)) or '{"nothing": true}'


def lying(body: dict[str, Any]) -> str:
    """Every line invents something."""
    return "\n".join(
        json.dumps({"text": f"Invented: Zoltan paid {number}99 to Quentin.", "kind": "fact", "sources": [number]})
        for number in range(1, 60)
    )


MODELS: dict[str, Behaviour] = {
    "good": by(good),
    "lazy": said('{"nothing": true}'),
    "repetitive": said('{"text": "Invented: the same again.", "sources": [1]}\n' * 500),
    "empty": said(""),
    "lying": by(lying),
    "rambling": said("I am sorry, as a language model I cannot do that. Invented!"),
    "cut off": said('{"text": "Invented', finish_reason="length"),
    "broken": refused(500),
    "refusing": refused(401),
    "a page": html,
}


@pytest.mark.parametrize("name", MODELS)
async def test_whatever_the_model_is_no_message_is_lost_observed_twice_or_misquoted(
    store_url: str, server: ChatServer, name: str
) -> None:
    server.always = MODELS[name]
    clock = ManualClock()
    async with app_with(store_url, clock=clock, llm=LlmSettings(model="primary", base_url=server.url)) as app:
        for start in (0, 8, 16):
            await talk(app, 8, start=start)
            for _ in range(5):
                await app.observation.observe_now(SESSION)
                clock.advance(1000)
            notes = await app.observation.notes(SESSION)
            timeline = await app.observation.timeline(SESSION)
            ranges = [(note.first_sequence, note.last_sequence) for note in timeline.observations]
            assert ranges == sorted(ranges)
            assert all(one[1] < two[0] for one, two in pairwise(ranges))
            sources = {sequence for note in notes for entry in note.entries for sequence in entry.sources}
            assert sources <= set(range(1, timeline.watermark + 1))
            assert not any("Invented" in entry.text for note in notes for entry in note.entries)
            assert 0 < timeline.archived_through == timeline.watermark
        everything = await app.sessions.messages(SESSION, archived=None, limit=1000)
        assert [one.sequence for one in everything] == list(range(1, 49))
        for probe in (1, 24, 47):
            (found,) = await app.sessions.recall(first=probe, last=probe, session_key=SESSION)
            assert f"pier {(probe - 1) // 2} " in found.message.content.lower()
