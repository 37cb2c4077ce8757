"""The context-aware model for ADK, in front of a scripted one, with the real Runner."""

import asyncio
from dataclasses import replace

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from lamina.app import App, open
from lamina.context.service import ContextService
from lamina.context.types import ContextItem, ContextLayer, LayerRequest, LayerSource, Place
from lamina.errors import ConfigurationError
from lamina.integrations.adk import ERROR_KEY, RECEIPT_KEY, ContextAwareModel
from lamina.memory.types import Identifiers
from lamina.observability.prometheus import render_prometheus
from tests.context.samples import FixedSource, item
from tests.integrations.adk_scripts import (
    SYSTEM,
    ScriptedModel,
    ask,
    call,
    runner_for,
    spoken,
    system_of,
    text_of,
    texts_of,
)

pytestmark = pytest.mark.anyio
KEY = "telegram:42:7"


def deploy(target: str) -> str:
    """Deploy the app to a target."""
    return f"deployed to {target}"


def with_notes(context: ContextService) -> ContextService:
    """The same context with notes of one session, and a skill."""
    notes: dict[Place, LayerSource] = {
        place: FixedSource(item(place, place.value, f"A note among {place}.", session_key=KEY))
        for place in (ContextLayer.OBSERVATIONS, ContextLayer.REFLECTIONS, ContextLayer.SKILL_PATTERNS)
    }
    return replace(context, retriever=replace(context.retriever, sources={**context.retriever.sources, **notes}))


async def fill(app: App) -> None:
    """Something in every stored layer."""
    await app.knowledge.save("rule", "Never deploy on a Friday", category="rule", origin="user")
    await app.references.save("guide", type="wiki", location="https://example.org", summary="How to deploy")
    await app.learning.save("raise the timeout", trigger="the deploy times out", origin="user")
    await app.learning.correct("the deploy times out", "raise the timeout")


def headings(text: str) -> list[str]:
    """The headings of a prompt."""
    return [line for line in text.splitlines() if line.startswith("#")]


@pytest.mark.requirement("context.adapter.augments-prompt")
async def test_a_turn_carries_all_six_layers_and_the_notes_of_its_session(app: App) -> None:
    await fill(app)
    inner = ScriptedModel("Hello.")
    runner = runner_for(ContextAwareModel(inner, app, context=with_notes), tools=[deploy])
    with app.session(KEY):
        events = await ask(runner, "how do I deploy?")
    (asked,) = inner.asked
    assert system_of(asked).startswith(SYSTEM)
    assert headings(system_of(asked)) == [
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
    assert f"Session: {KEY} | Channel: telegram | Tools: 1" in system_of(asked)
    assert [text_of(content) for content in asked.contents] == ["how do I deploy?"]
    assert texts_of(events) == ["Hello."]


@pytest.mark.requirement("observation.session.absent")
async def test_without_a_session_key_there_are_no_notes(app: App) -> None:
    await fill(app)
    inner = ScriptedModel()
    await ask(runner_for(ContextAwareModel(inner, app, context=with_notes)), "how do I deploy?")
    assert "## User Knowledge" in system_of(inner.asked[0])
    assert "Conversation Memory" not in system_of(inner.asked[0])


async def test_memories_of_the_user_are_found_for_the_given_identifiers(app: App) -> None:
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="u1")
    mine, nobodys = ScriptedModel(), ScriptedModel()
    await ask(runner_for(ContextAwareModel(mine, app, identifiers=Identifiers(user_id="u1"))), "how do I deploy?")
    await ask(runner_for(ContextAwareModel(nobodys, app)), "how do I deploy?")
    assert "Likes to deploy from the terminal" in system_of(mine.asked[0])
    assert "terminal" not in system_of(nobodys.asked[0])


async def test_the_latest_message_of_the_user_is_the_query(app: App) -> None:
    await app.knowledge.save("db", "Postgres listens on 5433", category="fact", origin="user")
    await app.knowledge.save("ui", "The theme is solarized", category="fact", origin="user")
    inner = ScriptedModel("Yes.", call("deploy", target="x"), "Done.")
    runner = runner_for(ContextAwareModel(inner, app), tools=[deploy])
    await ask(runner, "where is postgres?")
    await ask(runner, "which theme is it?")
    first, second, third = map(system_of, inner.asked)
    assert "5433" in first
    assert "solarized" not in first
    assert "solarized" in second
    assert "5433" not in second
    assert second == third, "the result of a tool is not what the user said"


async def test_the_receipt_is_named_by_complete_answers_only(app: App) -> None:
    inner = ScriptedModel("one two")
    events = await ask(runner_for(ContextAwareModel(inner, app)), "hello", stream=True)
    assert [(event.partial, event.custom_metadata is None) for event in events] == [
        (True, True),
        (True, True),
        (None, False),
    ]
    metadata = events[-1].custom_metadata or {}
    assert set(metadata) == {RECEIPT_KEY}


async def test_a_stored_receipt_is_found_by_what_the_answer_names(sqlite_store_url: str) -> None:
    async with open(sqlite_store_url, context={"store_receipts": True}) as app:
        events = await ask(runner_for(ContextAwareModel(ScriptedModel(), app)), "where do we deploy?")
        metadata = events[-1].custom_metadata or {}
        receipt = await app.context.get_receipt(metadata[RECEIPT_KEY])
    assert receipt.query == "where do we deploy?"


async def test_answers_stream_back_unchanged(app: App) -> None:
    answers = [
        LlmResponse(content=spoken("a"), partial=True, custom_metadata={"mine": 1}),
        LlmResponse(error_code="SAFETY", error_message="no"),
        LlmResponse(content=spoken("ab"), turn_complete=True, custom_metadata={"mine": 2}),
    ]

    class Answering(ScriptedModel):
        async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):  # type: ignore[no-untyped-def]
            assert stream
            for answer in answers:
                yield answer

    model = ContextAwareModel(Answering(), app)
    given = [answer async for answer in model.generate_content_async(LlmRequest(), stream=True)]
    assert given[0] is answers[0]
    for answer, original in zip(given, answers, strict=True):
        assert answer.model_copy(update={"custom_metadata": None}) == original.model_copy(
            update={"custom_metadata": None}
        )
    assert (given[2].custom_metadata or {}).keys() == {"mine", RECEIPT_KEY}
    assert answers[2].custom_metadata == {"mine": 2}


async def test_the_request_that_was_handed_in_is_not_changed(app: App) -> None:
    await fill(app)
    for placement in ("system", "turn"):
        inner = ScriptedModel()
        config = types.GenerateContentConfig(system_instruction=SYSTEM)
        request = LlmRequest(contents=[spoken("how do I deploy?", "user")], config=config)
        model = ContextAwareModel(inner, app, placement=placement)
        for _ in range(2):
            async for _answer in model.generate_content_async(request):
                pass
        assert request.config.system_instruction == SYSTEM
        assert len(request.contents) == 1
        assert inner.asked[0] == inner.asked[1]


@pytest.mark.parametrize(
    "instruction",
    [
        None,
        SYSTEM,
        types.Content(role="user", parts=[types.Part(text=SYSTEM), types.Part(text="Be kind.")]),
        types.Part(text=SYSTEM),
        [SYSTEM, types.Part(text="Be kind."), types.File(uri="gs://x")],
    ],
)
async def test_every_form_of_system_instruction_is_extended_and_keeps_its_own_parts(
    app: App, instruction: types.ContentUnion | None
) -> None:
    await fill(app)
    inner = ScriptedModel()
    request = LlmRequest(
        contents=[spoken("how do I deploy?", "user")],
        config=types.GenerateContentConfig(system_instruction=instruction, temperature=0.1),
    )
    async for _ in ContextAwareModel(inner, app).generate_content_async(request):
        pass
    (asked,) = inner.asked
    assert asked.config.temperature == 0.1
    extended = asked.config.system_instruction
    match instruction:
        case None:
            assert isinstance(extended, str)
            assert extended.startswith("The sections below")
        case str():
            assert isinstance(extended, str)
            assert extended.startswith(f"{SYSTEM}\n\nThe sections below")
        case types.Content():
            assert isinstance(extended, types.Content)
            assert extended.parts is not None
            assert extended.parts[:-1] == instruction.parts
            assert "Never deploy on a Friday" in (extended.parts[-1].text or "")
            assert len(instruction.parts or []) == 2
        case _:
            assert isinstance(extended, list)
            assert extended[:-1] == (instruction if isinstance(instruction, list) else [instruction])


async def test_context_can_stand_just_before_the_turn_and_leaves_the_rest_to_the_cache(app: App) -> None:
    await fill(app)
    inner = ScriptedModel("Hi.", call("deploy", target="x"), "Done.")
    runner = runner_for(ContextAwareModel(inner, app, placement="turn"), tools=[deploy])
    await ask(runner, "hello")
    await ask(runner, "how do I deploy?")
    _, second, third = inner.asked
    assert "##" not in system_of(second)
    told = [text_of(content) for content in second.contents]
    assert told[:2] == ["hello", "Hi."]
    assert told[2].startswith("The sections below")
    assert "Never deploy on a Friday" in told[2]
    assert told[3:] == ["how do I deploy?"]
    assert [content.role for content in second.contents] == ["user", "model", "user", "user"]
    assert third.contents[:4] == second.contents, "within a turn what was sent before stays as it was"
    assert third.contents[4].parts is not None
    assert third.contents[4].parts[0].function_call is not None


async def test_what_another_agent_said_is_not_taken_for_the_user(app: App) -> None:
    await app.knowledge.save("db", "Postgres listens on 5433", category="fact", origin="user")
    await app.knowledge.save("ui", "The theme is solarized", category="fact", origin="user")
    first = ScriptedModel(call("transfer_to_agent", agent_name="second"))
    second = ScriptedModel("It is dark.")
    agent = LlmAgent(
        name="first",
        model=first,
        sub_agents=[LlmAgent(name="second", description="theme theme", model=ContextAwareModel(second, app))],
    )
    runner = runner_for(first)
    runner.agent = agent
    await ask(runner, "where is postgres?")
    (asked,) = second.asked
    assert any("For context" in text_of(content) for content in asked.contents)
    assert "5433" in system_of(asked)


async def test_capabilities_name_and_live_connection_are_those_of_the_model_inside(app: App) -> None:
    class Live(ScriptedModel):
        def connect(self, llm_request: LlmRequest):  # type: ignore[no-untyped-def]
            return ("connected", llm_request)

    inner = Live()
    model = ContextAwareModel(inner, app)
    request = LlmRequest()
    assert model.capabilities == LlmCapabilities(output_schema_and_tools=True)
    assert model.model == "scripted"
    assert model.connect(request) == ("connected", request)  # type: ignore[comparison-overlap]
    with pytest.raises(NotImplementedError):
        ContextAwareModel(ScriptedModel(), app).connect(request)


async def test_an_error_of_the_model_is_raised_as_it_is(app: App) -> None:
    error = ValueError("quota")
    runner = runner_for(ContextAwareModel(ScriptedModel(error), app))
    with pytest.raises(ValueError, match="quota"):
        await ask(runner, "hello")


async def test_an_unknown_placement_is_refused(app: App) -> None:
    with pytest.raises(ValueError, match="placement"):
        ContextAwareModel(ScriptedModel(), app, placement="bottom")  # type: ignore[arg-type]


async def test_a_model_is_found_by_its_name(app: App) -> None:
    class Named(ScriptedModel):
        @classmethod
        def supported_models(cls) -> list[str]:
            return ["lamina-test-.*"]

        def __init__(self, model: str) -> None:
            super().__init__()
            self.model = model

    from google.adk.models.registry import LLMRegistry

    LLMRegistry.register(Named)
    model = ContextAwareModel("lamina-test-1", app)
    assert isinstance(model.inner, Named)
    assert model.model == "lamina-test-1"


class Hanging:
    """A layer that never answers."""

    async def retrieve(self, request: LayerRequest) -> list[ContextItem]:
        await asyncio.Event().wait()
        raise AssertionError


def hanging(context: ContextService) -> ContextService:
    """The same context with a layer that never answers, and no time to wait for it."""
    sources = {**context.retriever.sources, ContextLayer.USER_KNOWLEDGE: Hanging()}
    return replace(
        context,
        settings=replace(context.settings, turn_deadline_s=0.01),
        retriever=replace(context.retriever, sources=sources),
    )


async def test_a_retrieval_that_takes_too_long_costs_the_context_and_not_the_turn(app: App) -> None:
    inner = ScriptedModel("Hello.")
    events = await ask(runner_for(ContextAwareModel(inner, app, context=hanging)), "where do we deploy?")
    assert texts_of(events) == ["Hello."]
    assert "##" not in system_of(inner.asked[0])
    assert (events[-1].custom_metadata or {})[ERROR_KEY] == "TIMEOUT"
    assert 'code="TIMEOUT",operation="context_turn"' in render_prometheus(app.metrics)


async def test_a_context_that_fails_as_a_whole_costs_no_turn(app: App) -> None:
    def broken(context: ContextService) -> ContextService:
        raise RuntimeError("no")

    inner = ScriptedModel("Hello.")
    events = await ask(runner_for(ContextAwareModel(inner, app, context=broken)), "where do we deploy?")
    assert texts_of(events) == ["Hello."]
    assert (events[-1].custom_metadata or {})[ERROR_KEY] == "RuntimeError"
    assert 'code="RuntimeError",operation="context_turn"' in render_prometheus(app.metrics)


async def test_a_store_that_goes_away_between_two_calls_of_a_turn_costs_the_layers_and_not_the_turn(app: App) -> None:
    await fill(app)

    async def lose(target: str) -> str:
        """Deploy, and lose the store."""
        await app.parts.database.close()
        return "deployed"

    inner = ScriptedModel(call("lose", target="x"), "Done.")
    events = await ask(runner_for(ContextAwareModel(inner, app), tools=[lose]), "how do I deploy?")
    assert texts_of(events) == ["Done."]
    first, second = map(system_of, inner.asked)
    assert "## User Knowledge" in first
    assert "## User Knowledge" not in second
    assert 'operation="context_user_knowledge"' in render_prometheus(app.metrics)


async def test_an_app_that_is_not_open_is_opened_by_the_first_turn_and_only_once(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    inner = ScriptedModel()
    runner = runner_for(ContextAwareModel(inner, app))
    turns = [ask(runner, "where do we deploy?", session=f"s{number}") for number in range(8)]
    await asyncio.gather(*turns)
    assert app.is_open
    assert all("## Runtime Context" in system_of(asked) for asked in inner.asked)
    await app.close()


async def test_an_app_that_cannot_be_opened_costs_no_turn_and_is_tried_again(sqlite_url: str) -> None:
    app = open(sqlite_url.replace("lamina.db", "folder/lamina.db"))
    inner = ScriptedModel("Hello.")
    runner = runner_for(ContextAwareModel(inner, app))
    for _ in range(2):
        events = await ask(runner, "hello")
        assert texts_of(events) == ["Hello."]
        assert (events[-1].custom_metadata or {})[ERROR_KEY] == ConfigurationError.code
    counted = [line for line in render_prometheus(app.metrics).splitlines() if 'operation="context_turn"' in line]
    assert counted[0].endswith(" 2.0") or counted[0].endswith(" 2")


async def test_an_app_that_its_owner_closed_is_not_opened_again(sqlite_store_url: str) -> None:
    inner = ScriptedModel("Hello.")
    async with open(sqlite_store_url) as app:
        runner = runner_for(ContextAwareModel(inner, app))
        await ask(runner, "hello")
    events = await ask(runner, "hello")
    assert not app.is_open
    assert texts_of(events) == ["Hello."]
    assert (events[-1].custom_metadata or {})[ERROR_KEY] == ConfigurationError.code


async def test_a_turn_that_is_cancelled_while_it_retrieves_ends_at_once(app: App) -> None:
    inner = ScriptedModel()
    waiting = asyncio.Event()

    class Waiting(Hanging):
        async def retrieve(self, request: LayerRequest) -> list[ContextItem]:
            waiting.set()
            return await super().retrieve(request)

    def slow(context: ContextService) -> ContextService:
        sources = {**context.retriever.sources, ContextLayer.USER_KNOWLEDGE: Waiting()}
        return replace(context, retriever=replace(context.retriever, sources=sources))

    turn = asyncio.create_task(ask(runner_for(ContextAwareModel(inner, app, context=slow)), "how do I deploy?"))
    await waiting.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert inner.asked == []


async def test_leaving_a_stream_early_closes_that_of_the_model_inside(app: App) -> None:
    closed: list[bool] = []

    class Streaming(ScriptedModel):
        async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):  # type: ignore[no-untyped-def]
            try:
                yield LlmResponse(content=spoken("a"), partial=True)
                yield LlmResponse(content=spoken("b"), partial=True)
            finally:
                closed.append(True)

    stream = ContextAwareModel(Streaming(), app).generate_content_async(LlmRequest(), stream=True)
    async for _ in stream:
        break
    await stream.aclose()
    assert closed == [True]


async def test_an_agent_that_is_cloned_shares_the_model(app: App) -> None:
    model = ContextAwareModel(ScriptedModel(), app)
    clone = LlmAgent(name="one", model=model).clone(update={"name": "two"})
    assert isinstance(clone.model, BaseLlm)
    assert clone.canonical_model is model
