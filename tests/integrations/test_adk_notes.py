"""Notes on sessions of ADK: written by themselves from what the plugin stores, and shown to the model."""

from collections.abc import AsyncIterator

import pytest

from lamina.app import App, open
from lamina.integrations.adk import ContextAwareModel, LaminaPlugin
from tests.integrations.adk_scripts import ScriptedModel, ask, runner_for, system_of

pytestmark = pytest.mark.anyio
KEY = "house:u1:s1"
TALK = (
    "I prefer dark mode in every editor that I use at work, please remember that for the next time.",
    "We decided to move the release of the web shop to the end of the month because the tests fail.",
    "Well, the weather is what it is today, and I do not have much to say about it, nor does anybody else.",
)


@pytest.fixture
async def observing(sqlite_store_url: str) -> AsyncIterator[App]:
    """An app that takes notes early."""
    early = {"enabled": True, "message_token_threshold": 40, "retained_tail_tokens": 0}
    async with open(sqlite_store_url, observational_memory=early) as app:
        yield app


@pytest.mark.requirement("observation.session.from-request", "observation.session.to-retrieval")
async def test_what_was_said_becomes_notes_by_itself_and_only_its_own_session_sees_them(observing: App) -> None:
    inner = ScriptedModel("I see.")
    runner = runner_for(ContextAwareModel(inner, observing), plugins=[LaminaPlugin(observing)])
    for text in TALK:
        await ask(runner, text)
    await observing.observation.drain()
    assert (await observing.observation.timeline(KEY)).observations
    await ask(runner, "which mode do I like?")
    await ask(runner, "which mode do I like?", session="another", user="u2")
    mine, another = map(system_of, inner.asked[-2:])
    assert "## Conversation Memory" in mine
    assert "I prefer dark mode" in mine
    assert "dark mode" not in another
