"""The layers of the store, read in one go: the same as each by itself, and nobody's failure but the layer's own."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.app import App, open
from lamina.context.retriever import ContextRetriever
from lamina.context.service import ContextService
from lamina.context.stored import ItemSearch, StoredSource
from lamina.context.tools import ToolDescriptor
from lamina.context.types import TURN_LAYERS, ContextItem, ContextLayer, LayerRequest, Place, RetrievalResult, Semantic
from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.index import ranking
from lamina.index.engine import SearchEngine
from lamina.index.query import Query
from lamina.index.search import Search
from lamina.kernel.clock import ManualClock
from lamina.memory.types import Identifiers
from tests.context.samples import HangingSource

pytestmark = pytest.mark.anyio

QUERIES = ("how do I deploy?", "which port was refused?", "rollback on Friday", "nothing of the kind")
STORED = (*TURN_LAYERS[1:], Semantic.MEMORY)


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    """An app that lets everything be saved, and waits for its layers."""
    known = {"enabled": True, "max_saves_per_session": 0}
    waiting = {"deadline_s": 0.0}
    async with open(store_url, clock=clock, context=waiting, knowledge=known, skill={"max_per_day": 0}) as opened:
        yield opened


async def fill(app: App) -> ContextService:
    """Enough in every room that something is left out everywhere."""
    for number in range(9):
        await app.knowledge.save(f"rule-{number}", f"Never deploy part {number} on a Friday", category="rule")
        await app.references.save(
            f"guide-{number}", type="wiki", location=f"/{number}", summary=f"Deploy part {number}"
        )
        await app.learning.correct(f"port {number} refused", f"Open port {number} and deploy again", tool="deploy")
        await app.skills.create(
            f"deploy-{number}", description=f"Deploys part {number}", type="template", definition={"template": "x"}
        )
        await app.memory.add(f"Deploys part {number} from the terminal", layer="user", user_id="u1")
        await app.memory.add(f"Asked about rollback {number}", layer="session", user_id="u1", session_id="s1")
    for skill in (await app.skills.list(limit=50)).skills:
        if skill.name != "deploy-3":
            await app.skills.approve(skill.name)
    tools = [ToolDescriptor(name=f"deploy_{number}", description=f"Deploy part {number}.") for number in range(9)]
    return app.context.with_tools(tools)


async def found(context: ContextService, query: str) -> RetrievalResult:
    named = Identifiers(user_id="u1", session_id="s1")
    return await context.retriever.retrieve(
        query, TURN_LAYERS, session_key="s1", identifiers=named, also=(Semantic.MEMORY,)
    )


def comparable(items: Mapping[Place, Sequence[ContextItem]]) -> dict[Place, list[ContextItem]]:
    return {place: [replace(item, signals=dict(item.signals)) for item in some] for place, some in items.items()}


def reads_of(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every read of the store from now on."""
    reads: list[object] = []
    read = Database.read

    async def counted(self: Database, work: Any) -> Any:
        reads.append(work)
        return await read(self, work)

    monkeypatch.setattr(Database, "read", counted)
    return reads


async def test_layers_read_together_give_what_each_gives_alone(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    context = await fill(app)
    await found(context, QUERIES[0])  # the indexes are read, and the tools embedded
    reads = reads_of(monkeypatch)
    together = [await found(context, query) for query in QUERIES]
    assert len(reads) == len(QUERIES)
    monkeypatch.setattr(SearchEngine, "_is_loaded", lambda self, scope: False)
    alone = [await found(context, query) for query in QUERIES]
    assert len(reads) >= len(QUERIES) * (2 + len(STORED))
    assert [comparable(one.items) for one in together] == [comparable(one.items) for one in alone]
    assert set(STORED) <= set(together[0].items)
    assert not any(one.failures for one in (*together, *alone))


async def test_a_room_that_searches_by_itself_finds_what_its_layer_finds(app: App) -> None:
    context = await fill(app)
    items = (await found(context, QUERIES[0])).items
    threshold = app.settings.context.threshold
    entries = await app.knowledge.search(QUERIES[0], limit=5, threshold=threshold)
    assert [(one.key, one.score) for one in items[ContextLayer.USER_KNOWLEDGE]] == [
        (hit.entry.key, hit.score) for hit in entries
    ]
    skills = await app.skills.search(QUERIES[0], limit=5, threshold=threshold)
    assert [(one.key, one.score) for one in items[ContextLayer.SKILL_PATTERNS]] == [
        (hit.skill.name, hit.score) for hit in skills
    ]
    memories = await app.memory.search(QUERIES[0], limit=5, user_id="u1", session_id="s1", explain=True)
    assert [(one.key, one.score, dict(one.signals)) for one in items[Semantic.MEMORY]] == [
        (hit.id, hit.score, dict(hit.explain or {})) for hit in memories
    ]


async def test_a_room_without_its_table_costs_its_own_layer_only(app: App) -> None:
    context = await fill(app)
    whole = await found(context, QUERIES[0])
    await app.parts.database.write(lambda link: link.execute(sa.text("DROP TABLE external_reference")))
    broken = await found(context, QUERIES[0])
    assert [failure.layer for failure in broken.failures] == [ContextLayer.EXTERNAL_KNOWLEDGE]
    expected = comparable(whole.items)
    del expected[ContextLayer.EXTERNAL_KNOWLEDGE]
    assert comparable(broken.items) == expected


class Misbehaving(StoredSource):
    """A layer of the store that fails before or after its ranking, or never comes to it."""

    def __init__(self, *, before: bool = False, hanging: bool = False) -> None:
        self.before = before
        self.hanging = hanging

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        if self.before:
            raise RuntimeError("before")
        if self.hanging:
            await asyncio.Event().wait()

        def finish(link: Link, rankings: Sequence[object]) -> Sequence[ContextItem]:
            raise RuntimeError("after")

        return Search(wanted=(), finish=finish)


@pytest.mark.requirement("context.retrieve.failing-layer")
@pytest.mark.parametrize("before", [True, False])
async def test_a_stored_layer_that_raises_is_left_out_and_reported(app: App, before: bool) -> None:
    context = await fill(app)
    place = ContextLayer.SKILL_PATTERNS
    sources = {**context.retriever.sources, place: Misbehaving(before=before)}
    broken = await found(replace(context, retriever=replace(context.retriever, sources=sources)), QUERIES[0])
    assert [(one.layer, one.reason, one.error) for one in broken.failures] == [(place, "failed", "RuntimeError")]
    assert set(broken.items) >= set(STORED) - {place}


async def test_layers_that_are_late_are_reported_once_each(app: App) -> None:
    context = await fill(app)
    settings = replace(context.retriever.settings, deadline_s=0.05)
    place = ContextLayer.USER_KNOWLEDGE
    for source in (Misbehaving(hanging=True), HangingSource()):
        retriever = ContextRetriever(sources={place: source}, settings=settings, store=context.retriever.store)
        late = await retriever.retrieve(QUERIES[0])
        assert [(one.layer, one.reason) for one in late.failures] == [(place, "timed out")]


async def test_a_question_that_nobody_is_asked_is_not_embedded(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = reads_of(monkeypatch)
    nobody = await app.context.retriever.retrieve("deploy", [], also=(Semantic.MEMORY,))
    assert not nobody.items
    assert not reads


async def test_why_a_score_is_what_it_is_is_worked_out_when_a_receipt_is_read(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = await fill(app)
    await found(context, QUERIES[0])
    worked_out: list[object] = []
    work_out = ranking._signals

    def counted(*given: Any) -> Any:
        worked_out.append(given)
        return work_out(*given)

    monkeypatch.setattr(ranking, "_signals", counted)
    prompt = await context.assemble("You are ...", query=QUERIES[0], user_id="u1", session_key="s1")
    assert not worked_out
    shown = prompt.receipt.to_dict()["injected"]
    assert worked_out
    for one in shown:
        if one["layer"] not in ("runtime_context", "agent_learnings"):
            assert sum(one["signals"].values()) == pytest.approx(one["score"], abs=1e-4)
