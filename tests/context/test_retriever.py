"""Layers are searched at once; one that fails, hangs or answers nonsense costs nobody but itself."""

import asyncio
import logging
import math
from dataclasses import replace

import pytest

from lamina.context.retriever import ContextRetriever
from lamina.context.runtime import RuntimeContext, RuntimeContextAdapter
from lamina.context.settings import ContextSettings
from lamina.context.tools import ToolDescriptor, ToolRegistryAdapter
from lamina.context.types import DEFAULT_LAYERS, TURN_LAYERS, ContextLayer, LayerSource, Origin, Place, Semantic
from lamina.errors import InvalidInputError, ProviderError
from lamina.kernel.session_key import using_session
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.context.samples import PLACES, FailingSource, FixedSource, GarbageSource, HangingSource, item

pytestmark = pytest.mark.anyio

KNOWLEDGE, SKILLS = ContextLayer.USER_KNOWLEDGE, ContextLayer.SKILL_PATTERNS


def full_house() -> dict[Place, FixedSource]:
    """A source for every place, each with one item."""
    return {place: FixedSource(item(place, f"{place}-key")) for place in PLACES}


def asked(sources: dict[Place, FixedSource]) -> set[Place]:
    """The places that were asked."""
    return {place for place, source in sources.items() if source.asked}


@pytest.mark.requirement("context.retrieve.default-layers")
async def test_without_named_layers_the_four_stored_ones_are_searched() -> None:
    sources = full_house()
    found = await ContextRetriever(sources=sources).retrieve("deploy the web app")
    assert asked(sources) == set(DEFAULT_LAYERS)
    assert set(found.items) == set(DEFAULT_LAYERS)


@pytest.mark.requirement("context.retrieve.named-layers")
async def test_only_named_layers_are_searched() -> None:
    sources = full_house()
    found = await ContextRetriever(sources=sources).retrieve("deploy", ["user_knowledge", KNOWLEDGE, "observations"])
    assert asked(sources) == {KNOWLEDGE, ContextLayer.OBSERVATIONS} == set(found.items)
    assert len(sources[KNOWLEDGE].asked) == 1


@pytest.mark.requirement("context.retrieve.limit-per-layer")
async def test_a_layer_gives_at_most_so_many_items() -> None:
    source = FixedSource(*(item(key=str(number)) for number in range(20)))
    retriever = ContextRetriever(sources={KNOWLEDGE: source})
    found = await retriever.retrieve("deploy")
    assert [one.key for one in found.items[KNOWLEDGE]] == ["0", "1", "2", "3", "4"]
    assert len(found.surplus) == 15
    assert source.asked[-1].limit == 5
    assert len((await retriever.retrieve("deploy", max_per_layer=2)).items[KNOWLEDGE]) == 2
    fewer = replace(retriever, settings=ContextSettings(max_per_layer=3))
    assert len((await fewer.retrieve("deploy")).items[KNOWLEDGE]) == 3


@pytest.mark.requirement("context.retrieve.no-keywords")
@pytest.mark.parametrize("query", ["", "   ", "the of and", "a b c", "?!"])
async def test_a_query_without_keywords_asks_nobody(query: str) -> None:
    sources = full_house()
    found = await ContextRetriever(sources=sources).retrieve(query)
    assert not found.items
    assert found.total == 0
    assert not asked(sources)


async def test_runtime_context_and_notes_need_no_keyword() -> None:
    sources = full_house()
    retriever = ContextRetriever(sources=sources, runtime=RuntimeContextAdapter())
    found = await retriever.retrieve("the", [*TURN_LAYERS, ContextLayer.REFLECTIONS], also=[Semantic.MEMORY])
    assert set(found.items) == {ContextLayer.RUNTIME_CONTEXT, ContextLayer.REFLECTIONS}


@pytest.mark.requirement("context.retrieve.failing-layer")
@pytest.mark.parametrize("error", [ValueError("boom"), ProviderError(), asyncio.CancelledError(), TimeoutError()])
async def test_a_failing_layer_is_logged_counted_and_skipped(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics.collecting()
    sources: dict[Place, LayerSource] = {**full_house(), SKILLS: FailingSource(error)}
    with caplog.at_level(logging.WARNING, "lamina.context"):
        found = await ContextRetriever(sources=sources, metrics=metrics).retrieve("secret words to deploy")
    assert set(found.items) == set(DEFAULT_LAYERS) - {SKILLS}
    ((layer, reason),) = [(failure.layer, failure.reason) for failure in found.failures]
    assert (layer, reason) == (SKILLS, "failed")
    assert "skill_patterns" in caplog.text
    assert "secret" not in caplog.text
    assert 'operation="context_skill_patterns"' in render_prometheus(metrics)
    metrics.shutdown()


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_hanging_layer_is_given_up_at_the_deadline(stubborn: bool) -> None:
    hanging = HangingSource(stubborn=stubborn)
    retriever = ContextRetriever(sources={**full_house(), SKILLS: hanging}, settings=ContextSettings(deadline_s=0.01))
    found = await retriever.retrieve("deploy")
    assert set(found.items) == set(DEFAULT_LAYERS) - {SKILLS}
    assert [(failure.layer, failure.reason) for failure in found.failures] == [(SKILLS, "timed out")]
    await asyncio.sleep(0)
    assert hanging.cancelled == 1
    hanging.free.set()
    await asyncio.sleep(0)


async def test_a_request_that_is_given_up_gives_up_its_searches() -> None:
    hanging = HangingSource()
    task = asyncio.ensure_future(ContextRetriever(sources={KNOWLEDGE: hanging}).retrieve("deploy"))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert hanging.cancelled == 1


@pytest.mark.parametrize(
    "answer",
    [
        None,
        42,
        "text",
        b"bytes",
        {"key": "value"},
        ["text"],
        [None],
        [item(SKILLS)],
        [replace(item(), score=math.nan)],
        [replace(item(), score="high")],  # type: ignore[arg-type]
        [replace(item(), key=None)],  # type: ignore[arg-type]
        [replace(item(), content=b"x")],  # type: ignore[arg-type]
        [replace(item(), content="x" * 200_000)],
        [replace(item(), origin="user")],  # type: ignore[arg-type]
        [replace(item(), signals=[1])],  # type: ignore[arg-type]
        [replace(item(), signals={"a": math.inf})],
        [replace(item(), category=3)],  # type: ignore[arg-type]
        [replace(item(), at="today")],  # type: ignore[arg-type]
    ],
)
async def test_garbage_of_a_layer_is_left_out_and_reported(answer: object) -> None:
    sources: dict[Place, LayerSource] = {**full_house(), KNOWLEDGE: GarbageSource(answer)}
    found = await ContextRetriever(sources=sources).retrieve("deploy")
    assert set(found.items) == set(DEFAULT_LAYERS) - {KNOWLEDGE}
    assert [(failure.layer, failure.reason) for failure in found.failures] == [(KNOWLEDGE, "garbage")]


async def test_good_items_among_garbage_are_kept() -> None:
    found = await ContextRetriever(sources={KNOWLEDGE: GarbageSource(["x", item(key="good")])}).retrieve("deploy")
    assert [one.key for one in found.items[KNOWLEDGE]] == ["good"]
    assert [failure.reason for failure in found.failures] == ["garbage"]


async def test_what_belongs_to_another_session_never_passes() -> None:
    source = FixedSource(item(key="mine", session_key="a"), item(key="theirs", session_key="b"), item(key="all"))
    retriever = ContextRetriever(sources={KNOWLEDGE: source})
    with using_session("a"):
        found = await retriever.retrieve("deploy")
    assert [one.key for one in found.items[KNOWLEDGE]] == ["mine", "all"]
    assert [failure.reason for failure in found.failures] == ["other session"]
    assert [one.key for one in (await retriever.retrieve("deploy")).items[KNOWLEDGE]] == ["all"]


async def test_layers_are_searched_at_the_same_time() -> None:
    waiting: set[Place] = set()
    everybody = asyncio.Event()

    class Meeting(FixedSource):
        async def retrieve(self, request: object) -> tuple[()]:
            waiting.add(self.items[0].layer)
            if waiting == set(DEFAULT_LAYERS):
                everybody.set()
            await everybody.wait()
            return ()

    found = await ContextRetriever(sources={place: Meeting(item(place)) for place in DEFAULT_LAYERS}).retrieve("deploy")
    assert not found.failures


async def test_a_layer_is_told_everything_about_the_request() -> None:
    source = FixedSource()
    retriever = ContextRetriever(sources={KNOWLEDGE: source}, tenant="acme", settings=ContextSettings(threshold=0.4))
    with using_session("slack:1"):
        await retriever.retrieve("deploy the App")
    (request,) = source.asked
    assert (request.query, request.keywords, request.threshold) == ("deploy the App", ("deploy", "app"), 0.4)
    assert (request.tenant, request.session_key) == ("acme", "slack:1")


@pytest.mark.requirement("context.tools.retrieve-by-keyword")
async def test_tools_are_found_by_any_keyword_and_become_items() -> None:
    tools = ToolRegistryAdapter(
        [
            ToolDescriptor(name="deploy_app", description="Deploy the web app."),
            ToolDescriptor(name="read_mail", description="Read mail."),
        ]
    )
    retriever = ContextRetriever(sources=full_house()).with_tool_registry(tools)
    found = await retriever.retrieve("please deploy my great project", [ContextLayer.TOOL_REGISTRY])
    (one,) = found.items[ContextLayer.TOOL_REGISTRY]
    assert (one.layer, one.key, one.content) == (ContextLayer.TOOL_REGISTRY, "deploy_app", "Deploy the web app.")
    assert one.origin is Origin.HOST
    assert 0 < one.score <= 1


@pytest.mark.requirement("context.tools.no-provider", "context.runtime.no-provider")
async def test_without_providers_tools_and_runtime_are_empty_and_no_error() -> None:
    found = await ContextRetriever().retrieve("deploy", [ContextLayer.TOOL_REGISTRY, ContextLayer.RUNTIME_CONTEXT])
    assert not found.items
    assert not found.failures


@pytest.mark.requirement("context.runtime.retrieve")
async def test_the_runtime_layer_is_one_item_with_the_state_of_the_session() -> None:
    retriever = ContextRetriever().with_runtime_context(
        RuntimeContextAdapter(active_tool_count=3, knowledge_enabled=True)
    )
    found = await retriever.retrieve("hello", [ContextLayer.RUNTIME_CONTEXT], session_key="telegram:42:7")
    (one,) = found.items[ContextLayer.RUNTIME_CONTEXT]
    assert one.key == "session-state"
    assert one.content == (
        "Session: telegram:42:7 | Channel: telegram | Tools: 3 | Encryption: off | Knowledge: on | Memory: off"
    )


async def test_a_runtime_provider_that_fails_costs_its_own_layer_only() -> None:
    class Broken(RuntimeContextAdapter):
        def get_runtime_context(self) -> RuntimeContext:
            raise RuntimeError

    retriever = ContextRetriever(sources=full_house(), runtime=Broken())
    found = await retriever.retrieve("deploy", [ContextLayer.RUNTIME_CONTEXT, KNOWLEDGE])
    assert set(found.items) == {KNOWLEDGE}
    assert [failure.layer for failure in found.failures] == [ContextLayer.RUNTIME_CONTEXT]


@pytest.mark.parametrize("limit", [0, -1, True, "5", 1.5])
async def test_a_limit_that_is_none_is_refused(limit: object) -> None:
    with pytest.raises(InvalidInputError, match="max_per_layer"):
        await ContextRetriever().retrieve("deploy", max_per_layer=limit)  # type: ignore[arg-type]


async def test_one_layer_may_be_named_without_a_list() -> None:
    found = await ContextRetriever(sources=full_house()).retrieve("deploy", "user_knowledge")
    assert set(found.items) == {KNOWLEDGE}
    with pytest.raises(InvalidInputError, match="no context layer 'knowledge'"):
        await ContextRetriever(sources=full_house()).retrieve("deploy", "knowledge")
