"""The context-aware model: augments a turn and never costs one."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from lamina.app import App
from lamina.context.adapter import ContextAdapter, ContextAwareModel, Message, ModelRequest, latest_user_text
from lamina.context.service import ContextService
from lamina.context.tools import ToolDescriptor
from lamina.context.types import ContextLayer, LayerSource, Place
from lamina.memory.types import Identifiers
from lamina.observability.prometheus import render_prometheus
from tests.context.samples import FixedSource, item

pytestmark = pytest.mark.anyio

SYSTEM = "You are a helpful agent."
TURN = (
    Message(role="user", text="hello"),
    Message(role="assistant", text="hi"),
    Message(role="user", text="how do I deploy?"),
    Message(role="tool"),
    Message(role="user", text="  "),
)


class RecordingModel:
    """A model that remembers what it was asked and answers in pieces."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    async def generate_content(self, request: ModelRequest) -> AsyncIterator[str]:
        self.asked.append(request)
        for piece in ("one", "two"):
            yield piece


def with_notes(context: ContextService) -> ContextService:
    """The same context with notes of the session `telegram:42:7`."""
    notes: dict[Place, LayerSource] = {
        place: FixedSource(item(place, place.value, f"A note among {place}.", session_key="telegram:42:7"))
        for place in (ContextLayer.OBSERVATIONS, ContextLayer.REFLECTIONS, ContextLayer.SKILL_PATTERNS)
    }
    return replace(context, retriever=replace(context.retriever, sources={**context.retriever.sources, **notes}))


async def fill(app: App) -> ContextService:
    """Something in all six layers, and notes."""
    await app.knowledge.save("rule", "Never deploy on a Friday", category="rule", origin="user")
    await app.references.save("guide", type="wiki", location="https://example.org", summary="How to deploy")
    await app.learning.save("raise the timeout", trigger="the deploy times out", origin="user")
    tool = ToolDescriptor(name="deploy", description="Deploy the app.")
    return with_notes(app.context.with_tools([tool]))


@pytest.mark.requirement("context.adapter.augments-prompt")
async def test_a_turn_is_augmented_and_forwarded(app: App) -> None:
    context = await fill(app)
    inner = RecordingModel()
    model = ContextAwareModel(inner=inner, adapter=ContextAdapter(context=context))
    with app.session("telegram:42:7"):
        answer = [piece async for piece in model.generate_content(ModelRequest(system=SYSTEM, messages=TURN))]
    assert answer == ["one", "two"]
    (asked,) = inner.asked
    assert asked.messages == TURN
    assert asked.system.startswith(SYSTEM)
    assert [line for line in asked.system.splitlines() if line.startswith("#")] == [
        "## Runtime Context",
        "## Available Tools",
        "## User Knowledge",
        "## Known Solutions",
        "## Available Skills",
        "## External References",
        "## Conversation Memory",
        "### Summary",
        "### Recent Observations",
    ]
    assert "Session: telegram:42:7 | Channel: telegram" in asked.system
    # Whoever looks from outside a request sees the session that was set last.
    assert context.runtime.get_runtime_context().session_key == "telegram:42:7"


async def test_the_query_is_the_latest_text_of_the_user(app: App) -> None:
    assert latest_user_text(TURN) == "how do I deploy?"
    assert latest_user_text([Message(role="assistant", text="x")]) == ""
    prompt = await ContextAdapter(context=await fill(app)).augment(SYSTEM, TURN)
    assert prompt.receipt.query == "how do I deploy?"


async def test_without_a_session_no_notes_of_anybody_are_shown(app: App) -> None:
    prompt = await ContextAdapter(context=await fill(app)).augment(SYSTEM, TURN)
    assert "Session: none" in prompt.text
    assert "Conversation Memory" not in prompt.text


async def test_a_turn_without_words_still_gets_its_session_and_notes(app: App) -> None:
    context = await fill(app)
    prompt = await ContextAdapter(context=context).augment(SYSTEM, [], session_key="telegram:42:7")
    assert "Session: telegram:42:7" in prompt.text
    assert "A note among observations." in prompt.text
    assert "## User Knowledge" not in prompt.text


async def test_memories_of_the_named_user_are_found(app: App) -> None:
    await app.memory.add("Wants to deploy from the terminal", layer="user", user_id="u1")
    adapter = ContextAdapter(context=app.context, identifiers=Identifiers(user_id="u1"))
    assert "terminal" in (await adapter.augment(SYSTEM, TURN)).text
    other = await adapter.augment(SYSTEM, TURN, identifiers=Identifiers(user_id="u2"))
    assert "terminal" not in other.text


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("x"), MemoryError()])
async def test_context_that_fails_as_a_whole_does_not_fail_the_turn(
    app: App, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ContextService, "assemble", fail)
    inner = RecordingModel()
    model = ContextAwareModel(inner=inner, adapter=ContextAdapter(context=app.context))
    request = ModelRequest(system=SYSTEM, messages=TURN)
    with caplog.at_level(logging.WARNING, "lamina.context"):
        assert [piece async for piece in model.generate_content(request)] == ["one", "two"]
    assert inner.asked == [request]
    assert "without context" in caplog.text
    assert "deploy" not in caplog.text
    assert 'operation="context_turn"' in render_prometheus(app.metrics)


async def test_context_that_hangs_does_not_hold_the_turn_up(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ContextService, "assemble", hang)
    context = replace(app.context, settings=replace(app.context.settings, turn_deadline_s=0.01))
    prompt = await ContextAdapter(context=context).augment(SYSTEM, TURN, session_key="s")
    assert prompt.text == SYSTEM
    assert (prompt.receipt.error, prompt.receipt.session_key, prompt.receipt.added_tokens) == ("TIMEOUT", "s", 0)


async def test_what_the_model_raises_reaches_the_caller(app: App) -> None:
    class Failing:
        async def generate_content(self, request: ModelRequest) -> AsyncIterator[str]:
            yield "one"
            raise ConnectionError

    model = ContextAwareModel(inner=Failing(), adapter=ContextAdapter(context=app.context))
    with pytest.raises(ConnectionError):
        _ = [piece async for piece in model.generate_content(ModelRequest(system=SYSTEM, messages=TURN))]


async def test_a_turn_that_is_given_up_is_given_up(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(ContextService, "assemble", hang)
    task = asyncio.ensure_future(ContextAdapter(context=app.context).augment(SYSTEM, TURN))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
