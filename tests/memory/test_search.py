"""Searching several layers at once: access, concurrency, failures, precedence, duplicates."""

from dataclasses import replace

import anyio
import pytest

from lamina.app import App
from lamina.errors import LaminaError, MissingIdentifierError, ProviderError
from lamina.kernel.clock import ManualClock
from lamina.memory.provider import MemoryProvider, ScopeResults, SearchRequest
from lamina.memory.service import MemoryService
from lamina.memory.types import MemoryLayer
from lamina.observability.prometheus import render_prometheus
from tests.stores import CountingEmbedder, app_on
from tests.wrapping import WrappingProvider

pytestmark = pytest.mark.anyio

EVERYBODY = {
    "agent_id": "a",
    "user_id": "u",
    "session_id": "s",
    "project_id": "p",
    "team_id": "t",
    "org_id": "o",
    "company_id": "c",
}
INDENT = {
    MemoryLayer.AGENT: "The agent indents Python code with two tabs",
    MemoryLayer.USER: "Indent Python code with four spaces, says Ulla",
    MemoryLayer.SESSION: "For now we indent Python code like the file at hand",
    MemoryLayer.PROJECT: "In this project Python code has an indent of eight spaces",
    MemoryLayer.TEAM: "The team wants Python code indented by the formatter",
    MemoryLayer.ORG: "The org leaves the indent of Python code to teams",
    MemoryLayer.COMPANY: "Company rule: indent Python code with spaces only",
}


async def fill(memory: MemoryService) -> None:
    for layer, content in INDENT.items():
        await memory.add(content, layer=layer, **EVERYBODY)  # type: ignore[arg-type]


@pytest.mark.requirement("memory.search.accessible-layers", "memory.merge.precedence")
async def test_all_accessible_layers_are_searched_and_sorted_by_precedence_then_score(
    store_url: str, clock: ManualClock, embedder: CountingEmbedder
) -> None:
    async with app_on(store_url, clock=clock, embedder=embedder) as app:
        await fill(app.memory)
        await app.memory.add("How to indent Python code: with spaces", layer="project", project_id="p")
        weak = await app.memory.add("The canteen closes at three", user_id="u")
        embedder.texts.clear()
        hits = await app.memory.search("how do we indent Python code", threshold=0, **EVERYBODY)  # type: ignore[arg-type]
        cut = await app.memory.search("how do we indent Python code", **EVERYBODY)  # type: ignore[arg-type]
    assert embedder.texts == ["how do we indent Python code"]
    assert hits.searched_layers == tuple(MemoryLayer)
    assert cut.hits == tuple(hit for hit in hits if hit.score >= 0.7)
    assert {hit.id for hit in hits} - {hit.id for hit in cut} == {weak.id}
    assert [hit.layer for hit in hits] == sorted([hit.layer for hit in hits], key=lambda layer: layer.precedence)
    assert {hit.layer for hit in hits} == set(MemoryLayer)
    project = [hit for hit in hits if hit.layer == "project"]
    assert [hit.score for hit in project] == sorted([hit.score for hit in project], reverse=True)
    assert project[0].content.startswith("How to indent")


@pytest.mark.requirement("memory.search.layer-filter")
async def test_only_named_layers_are_searched(memory: MemoryService) -> None:
    await fill(memory)
    hits = await memory.search("indent Python code", layers=["company", "user"], threshold=0, **EVERYBODY)  # type: ignore[arg-type]
    assert hits.searched_layers == (MemoryLayer.USER, MemoryLayer.COMPANY)
    assert [hit.layer for hit in hits] == ["user", "company"]


@pytest.mark.requirement("memory.search.default-threshold")
async def test_a_threshold_cuts_and_is_seven_tenths_unless_told_otherwise(memory: MemoryService) -> None:
    await fill(memory)
    question = "company rule on the indent of Python code"
    everything = await memory.search(question, threshold=0, **EVERYBODY)  # type: ignore[arg-type]
    usual = await memory.search(question, **EVERYBODY)  # type: ignore[arg-type]
    assert [hit.id for hit in usual] == [hit.id for hit in everything if hit.score >= 0.7]
    assert len(usual) > 0
    off_topic = await memory.search("Who won the football world cup in Brazil?", **EVERYBODY)  # type: ignore[arg-type]
    assert len(off_topic) == 0
    score = everything[0].score
    kept = await memory.search(question, threshold=score, layers=["agent"], **EVERYBODY)  # type: ignore[arg-type]
    assert [hit.id for hit in kept] == [everything[0].id]


async def test_a_limit_applies_per_layer_and_to_the_whole_and_the_total_counts_before_it(memory: MemoryService) -> None:
    for number in range(4):
        await memory.add(f"The printer of floor {number} is out of paper", user_id="u")
        await memory.add(f"The printer of house {number} is out of ink", layer="project", project_id="p")
    hits = await memory.search("printer out of paper", user_id="u", project_id="p", threshold=0, limit=3)
    assert [hit.layer for hit in hits] == ["user"] * 3
    assert hits.total_count == 8


@pytest.mark.requirement("memory.access.accessible-layers")
async def test_user_and_project_open_their_layers_and_those_above(memory: MemoryService) -> None:
    hits = await memory.search("anything", user_id="u", project_id="p")
    assert hits.searched_layers == ("user", "project", "team", "org", "company")
    assert (await memory.search("anything", user_id="u")).searched_layers == ("user",)
    assert (await memory.search("anything", org_id="o")).searched_layers == ("org", "company")


@pytest.mark.requirement("memory.access.missing-identifier")
async def test_a_named_layer_without_its_identifier_is_refused(memory: MemoryService) -> None:
    with pytest.raises(MissingIdentifierError) as caught:
        await memory.search("x", layers=["user", "session"], user_id="u")
    assert caught.value.details["missing"] == ["session_id"]
    with pytest.raises(MissingIdentifierError) as caught:
        await memory.list(layer="agent", user_id="u")
    assert caught.value.details["missing"] == ["agent_id"]


async def test_what_was_added_for_a_derived_team_is_found_by_the_same_project(app: App) -> None:
    memory = app.memory
    added = await memory.add("The team deploys on Tuesdays", layer="team", project_id="web")
    assert added.memory.identifiers.team_id == "default"
    assert [hit.id for hit in await memory.search("When does the team deploy?", project_id="web")] == [added.id]
    await app.hierarchy.set(tenant="default", project_id="web", team_id="ui", org_id="labs")
    assert await memory.get(added.id, project_id="web") is None
    moved = await memory.add("The UI team deploys on Mondays", layer="team", project_id="web")
    assert moved.memory.identifiers.team_id == "ui"
    assert await memory.get(moved.id, team_id="ui") == moved.memory
    assert await memory.get(moved.id, project_id="other") is None


class Barrier(WrappingProvider):
    """No layer's search ends before all have begun."""

    def __init__(self, inner: MemoryProvider, parties: int) -> None:
        super().__init__(inner)
        self.parties = parties
        self.begun: list[MemoryLayer] = []
        self.ended: list[MemoryLayer] = []
        self.all_here = anyio.Event()

    async def search(self, request: SearchRequest) -> ScopeResults:
        self.begun.append(request.scope.layer)
        if len(self.begun) == self.parties:
            self.all_here.set()
        with anyio.fail_after(10):
            await self.all_here.wait()
        results = await self.inner.search(request)
        self.ended.append(request.scope.layer)
        return results


@pytest.mark.requirement("memory.search.concurrent-layers", "memory.search.accessible-layers")
async def test_layers_are_searched_at_once_and_merged_when_all_are_done(memory: MemoryService) -> None:
    await fill(memory)
    barrier = Barrier(memory.provider, parties=7)
    hits = await replace(memory, provider=barrier).search("indent Python code", threshold=0, **EVERYBODY)  # type: ignore[arg-type]
    assert set(barrier.begun) == set(barrier.ended) == set(MemoryLayer)
    assert {hit.layer for hit in hits} == set(MemoryLayer)


class Failing(WrappingProvider):
    """Fails for some layers."""

    def __init__(self, inner: MemoryProvider, failures: dict[MemoryLayer, Exception]) -> None:
        super().__init__(inner)
        self.failures = failures

    async def search(self, request: SearchRequest) -> ScopeResults:
        if error := self.failures.get(request.scope.layer):
            raise error
        return await self.inner.search(request)


async def test_one_failing_layer_leaves_the_others_and_a_warning(app: App) -> None:
    await fill(app.memory)
    failures: dict[MemoryLayer, Exception] = {
        MemoryLayer.ORG: ProviderError("the org store is gone"),
        MemoryLayer.USER: ZeroDivisionError("a bug of a third party"),
    }
    memory = replace(app.memory, provider=Failing(app.memory.provider, failures))
    hits = await memory.search("indent Python code", threshold=0, **EVERYBODY)  # type: ignore[arg-type]
    assert {hit.layer for hit in hits} == set(MemoryLayer) - {"user", "org"}
    assert [(one.layer, one.code) for one in hits.warnings] == [("user", "PROVIDER_ERROR"), ("org", "PROVIDER_ERROR")]
    assert "user" not in hits.searched_layers
    page = render_prometheus(app.metrics)
    assert 'memory_operations_errors_total{code="PROVIDER_ERROR",operation="search"} 2.0' in page
    assert 'memory_operations_total{operation="search",status="ok"} 1.0' in page


async def test_only_when_every_layer_fails_is_it_an_error(memory: MemoryService) -> None:
    failures: dict[MemoryLayer, Exception] = {layer: ProviderError(f"{layer} is gone") for layer in MemoryLayer}
    broken = replace(memory, provider=Failing(memory.provider, failures))
    with pytest.raises(ProviderError, match="user is gone") as caught:
        await broken.search("x", user_id="u", project_id="p")
    assert (caught.value.operation, caught.value.retryable) == ("search", True)
    with pytest.raises(LaminaError, match="team is gone"):
        await broken.search("x", layers=["org", "team"], project_id="p")


@pytest.mark.requirement("memory.merge.duplicates")
async def test_a_repetition_in_a_weaker_layer_is_left_out_and_reported(memory: MemoryService) -> None:
    kept = await memory.add("Always write tests before the code", user_id="u")
    copy = await memory.add("Always write tests before the code", layer="project", project_id="p")
    other = await memory.add("Never write tests before the code", layer="project", project_id="p")
    hits = await memory.search("write tests before the code", user_id="u", project_id="p", threshold=0)
    assert {hit.id for hit in hits} == {kept.id, other.id}
    assert [(one.id, one.layer, one.kept_id) for one in hits.duplicates] == [(copy.id, "project", kept.id)]
    assert await memory.get(copy.id, project_id="p") == copy.memory


async def test_explain_shows_the_parts_of_a_score(memory: MemoryService) -> None:
    await memory.add("The printer is out of paper", user_id="u")
    (plain,) = await memory.search("printer paper", user_id="u", threshold=0)
    (explained,) = await memory.search("printer paper", user_id="u", threshold=0, explain=True)
    assert plain.explain is None
    assert explained.explain is not None
    assert sum(explained.explain.values()) == pytest.approx(explained.score, abs=1e-3)


async def test_the_query_is_embedded_once_for_all_layers(memory: MemoryService, embedder: CountingEmbedder) -> None:
    await memory.search("one question", **EVERYBODY)  # type: ignore[arg-type]
    assert embedder.texts == ["one question"]
