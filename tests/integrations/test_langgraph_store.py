"""LangGraph's store on our memory: every operation, through LangGraph's own methods and graphs."""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from lamina.app import App, open
from lamina.errors import ConfigurationError, InvalidInputError, LaminaError
from lamina.integrations import langgraph
from lamina.integrations.langgraph import LaminaStore
from lamina.kernel.clock import ManualClock
from tests.context.opening import context_app

pytestmark = pytest.mark.anyio
ANN = ("user", "ann")


@pytest.fixture
def store(app: App) -> LaminaStore:
    """A store on the open app."""
    return LaminaStore(app)


@pytest.fixture
async def each_engine(store_url: str, clock: ManualClock) -> AsyncIterator[LaminaStore]:
    """A store on each engine in turn."""
    async with context_app(store_url, clock=clock) as app:
        yield LaminaStore(app)


def keys(found: Any) -> list[str]:
    """The keys of items."""
    return [item.key for item in found]


async def test_an_item_comes_back_as_it_was_put_and_changes_with_the_next_put(
    each_engine: LaminaStore, clock: ManualClock
) -> None:
    value = {"text": "Likes tea", "nested": {"a": [1, None, True, 1.5, "ü"]}, "empty": {}}
    begun = clock.now()
    await each_engine.aput(ANN, "drink", value)
    clock.advance(60)
    first = await each_engine.aget(ANN, "drink")
    assert first is not None
    assert (first.namespace, first.key, first.value) == (ANN, "drink", value)
    assert (first.created_at, first.updated_at) == (begun, begun)
    await each_engine.aput(ANN, "drink", {"text": "Likes coffee"})
    second = await each_engine.aget(ANN, "drink")
    assert second is not None
    assert second.value == {"text": "Likes coffee"}
    assert (second.created_at, second.updated_at) == (begun, clock.now())
    assert await each_engine.aget(ANN, "no such key") is None
    assert await each_engine.aget(("user", "ben"), "drink") is None
    await each_engine.adelete(ANN, "drink")
    await each_engine.adelete(ANN, "drink")
    assert await each_engine.aget(ANN, "drink") is None


async def test_a_search_finds_by_meaning_within_its_namespace(each_engine: LaminaStore) -> None:
    await each_engine.aput(ANN, "ui", {"text": "Prefers dark mode in every editor"})
    await each_engine.aput((*ANN, "work"), "pet", {"text": "Her cat is called Mina"})
    await each_engine.aput(("user", "ben"), "pet", {"text": "His cat is called Tom"})
    found = await each_engine.asearch(ANN, query="What is the cat called?")
    assert found[0].key == "pet"
    assert found[0].score is not None
    assert found[0].score > (found[1].score or 0 if len(found) > 1 else 0)
    assert found[0].value == {"text": "Her cat is called Mina"}
    assert keys(await each_engine.asearch((*ANN, "play"), query="cat")) == []
    everybody = await each_engine.asearch(("user",), query="What is the cat called?", limit=2)
    assert {item.namespace for item in everybody} == {(*ANN, "work"), ("user", "ben")}


async def test_a_search_without_words_lists_the_newest_first_page_by_page(
    store: LaminaStore, clock: ManualClock
) -> None:
    for number in range(0, 120, 2):
        clock.advance(1)
        await store.abatch([PutOp(ANN, f"k{number}", {"n": number}), PutOp(("docs",), f"k{number + 1}", {"n": number})])
    newest = await store.asearch((), limit=3)
    assert sorted(keys(newest)[:2]) == ["k118", "k119"]
    assert newest[0].score is None
    assert sorted(keys(await store.asearch((), limit=2, offset=2))) == ["k116", "k117"]
    assert keys(await store.asearch(("docs",), limit=2, offset=58)) == ["k3", "k1"]
    assert await store.asearch(("docs",), offset=60) == []


FILTERS: list[dict[str, Any]] = [
    {"status": "open"},
    {"status": {"$eq": "open"}},
    {"status": {"$ne": "open"}},
    {"n": {"$gt": 1}},
    {"n": {"$gte": 1, "$lt": 3}},
    {"n": {"$lte": 1}},
    {"by": {"name": "ann"}},
    {"status": "open", "n": {"$gt": 0}},
]


async def test_filters_let_through_what_langgraphs_own_store_lets_through(each_engine: LaminaStore) -> None:
    theirs = InMemoryStore()
    values: list[dict[str, Any]] = [
        {"status": "open", "n": 0, "by": {"name": "ann"}},
        {"status": "open", "n": 1, "by": {"name": "ben"}},
        {"status": "done", "n": 2, "by": {"name": "ann"}},
        {"status": "done", "n": 3},
    ]
    for one in (each_engine, theirs):
        await one.abatch([PutOp(("docs",), f"k{number}", value) for number, value in enumerate(values)])
    for filter in FILTERS:
        ours = await each_engine.asearch(("docs",), filter=filter)
        assert sorted(keys(ours)) == sorted(keys(await theirs.asearch(("docs",), filter=filter))), filter


LISTINGS: list[dict[str, Any]] = [
    {},
    {"prefix": ("a", "b")},
    {"suffix": ("f",)},
    {"prefix": ("a", "*", "d")},
    {"prefix": ("a",), "suffix": ("e",)},
    {"max_depth": 2},
    {"prefix": ("a", "b"), "max_depth": 3},
    {"limit": 2, "offset": 1},
    {"prefix": ("user", "ann")},
]


async def test_namespaces_are_listed_as_langgraphs_own_store_lists_them(each_engine: LaminaStore) -> None:
    theirs = InMemoryStore()
    names = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "c", "f"), ANN, (*ANN, "f")]
    for one in (each_engine, theirs):
        await one.abatch([PutOp(namespace, key, {"x": 1}) for namespace in names for key in ("k1", "k2")])
    for how in LISTINGS:
        assert await each_engine.alist_namespaces(**how) == await theirs.alist_namespaces(**how), how


async def test_a_namespace_without_items_is_gone(store: LaminaStore, clock: ManualClock) -> None:
    await store.aput(("a",), "k", {"x": 1})
    await store.aput(("b",), "k", {"x": 1}, ttl=1)
    assert await store.alist_namespaces() == [("a",), ("b",)]
    await store.adelete(("a",), "k")
    clock.advance(61)
    assert await store.alist_namespaces() == []


async def test_a_batch_reads_before_it_writes_and_the_last_put_wins(store: LaminaStore) -> None:
    await store.aput(ANN, "k", {"x": "old"})
    results = await store.abatch(
        [
            PutOp(ANN, "k", {"x": "newer"}),
            GetOp(ANN, "k"),
            PutOp(ANN, "k", {"x": "newest"}),
            PutOp(ANN, "gone", {"x": 1}),
            PutOp(ANN, "gone", None),
            SearchOp(ANN),
            ListNamespacesOp(),
        ]
    )
    assert results[0] is None
    assert results[1].value == {"x": "old"}  # type: ignore[union-attr]
    assert keys(results[5]) == ["k"]
    assert results[6] == [ANN]
    assert keys(await store.asearch(ANN)) == ["k"]
    assert (await store.aget(ANN, "k")).value == {"x": "newest"}  # type: ignore[union-attr]


async def test_namespaces_are_layers_and_what_is_put_enters_prompts(app: App) -> None:
    store = LaminaStore(app, layouts=[("memories", "{user_id}"), ("{project_id}", "docs")], project_id="other")
    await store.aput(("memories", "ann", "facts"), "k1", {"text": "Likes to deploy from the terminal"})
    await store.aput(("web", "docs"), "k2", {"text": "The web app is deployed from the branch release"})
    await store.aput(("session", "ann", "s1"), "k3", {"text": "Wants to deploy now"})
    await store.aput(("agent", "helper", "ann"), "k4", {"text": "Deploys slowly"})
    await store.aput(("company",), "k5", {"text": "Nobody deploys"})
    assert (await app.memory.list(layer="user", user_id="ann")).memories[
        0
    ].content == "Likes to deploy from the terminal"
    assert (await app.memory.list(layer="project", project_id="web")).total_count == 1
    assert (await app.memory.list(layer="session", user_id="ann", session_id="s1")).total_count == 1
    assert (await app.memory.list(layer="agent", agent_id="helper", user_id="ann")).total_count == 1
    assert (await app.memory.list(layer="project", project_id="other")).total_count == 1
    prompt = await app.context.assemble("", query="how do I deploy?", user_id="ann")
    assert "Likes to deploy from the terminal" in prompt.text
    assert keys(await store.asearch(("memories",), query="deploy")) == ["k1"]
    assert len(await store.asearch((), query="who wants to deploy?")) == 5


async def test_a_layout_that_is_no_layer_is_refused(app: App) -> None:
    for layout in (("notes",), ("notes", "{session_id}"), ("notes", "{nobody}")):
        with pytest.raises(InvalidInputError, match="identifiers of one layer"):
            LaminaStore(app, layouts=[layout])


async def test_what_is_searched_can_be_chosen(app: App, store: LaminaStore) -> None:
    value = {"title": "Tea", "body": {"parts": [{"text": "About elephants"}, {"text": "and giraffes"}]}, "n": 3}
    await store.aput(("a",), "whole", value)
    await store.aput(("b",), "some", value, index=["body.parts[*].text"])
    await store.aput(("c",), "none", value, index=False)
    await LaminaStore(app, fields=["title"]).aput(("d",), "title", value)
    contents = {}
    for entry in (await app.memory.list(layer="project", project_id="langgraph")).memories:
        contents[entry.metadata["langgraph"]["key"]] = entry.content  # type: ignore[call-overload,index]
    assert contents["whole"].startswith("title: Tea\nbody: {")
    assert (contents["some"], contents["none"], contents["title"]) == ("About elephants\nand giraffes", "none", "Tea")
    assert keys(await store.asearch(("b",), query="elephants")) == ["some"]
    assert keys(await store.asearch(("c",), query="elephants none")) == []
    assert keys(await store.asearch(("c",))) == ["none"]


async def test_two_items_that_say_the_same_are_two_items(store: LaminaStore) -> None:
    for number in range(3):
        await store.aput(ANN, f"k{number}", {"text": "Her cat is called Mina"})
    assert sorted(keys(await store.asearch(ANN, query="cat Mina"))) == ["k0", "k1", "k2"]


async def test_an_item_expires_after_its_last_use(store: LaminaStore, clock: ManualClock) -> None:
    assert store.supports_ttl
    await store.aput(ANN, "k", {"text": "On holiday"}, ttl=10)
    put = clock.now()
    clock.advance(9 * 60)
    item = await store.aget(ANN, "k")
    assert item is not None
    assert item.updated_at == put
    clock.advance(9 * 60)
    assert keys(await store.asearch(ANN, query="holiday")) == ["k"]
    clock.advance(9 * 60)
    assert await store.aget(ANN, "k", refresh_ttl=False) is not None
    clock.advance(61)
    assert await store.aget(ANN, "k") is None
    assert await store.asearch(ANN) == []
    await store.aput(ANN, "k", {"text": "At home"})  # the expired one is not swept yet
    clock.advance(1_000_000)
    assert await store.aget(ANN, "k") is not None


async def test_an_item_that_is_read_all_the_time_has_no_endless_history(app: App, clock: ManualClock) -> None:
    store = LaminaStore(app, ttl={"default_ttl": 10.0, "refresh_on_read": True})
    await store.aput(ANN, "k", {"text": "On holiday"})
    for _ in range(100):
        clock.advance(6)
        assert await store.aget(ANN, "k") is not None
    (entry,) = (await app.memory.list(user_id="ann")).memories
    assert entry.version <= 11


async def test_many_who_put_the_same_item_at_once_leave_one(store: LaminaStore) -> None:
    await asyncio.gather(*(store.aput(ANN, "k", {"n": number}) for number in range(8)))
    assert len(await store.asearch(ANN)) == 1


BAD: list[Any] = [
    {"n": 2**60},
    {"n": float("nan")},
    {"x": object()},
    {"x": "a" * 70_000},
    {"x": "\x00"},
    {"x": "\ud800"},
]


async def test_a_value_that_cannot_be_kept_is_refused_and_nothing_is_lost(store: LaminaStore) -> None:
    await store.aput(ANN, "k", {"x": "kept"})
    for value in BAD:
        with pytest.raises(LaminaError):
            await store.aput(ANN, "k", value)
    assert (await store.aget(ANN, "k")).value == {"x": "kept"}  # type: ignore[union-attr]


async def test_a_namespace_that_is_none_is_refused_in_a_batch_too(store: LaminaStore) -> None:
    for namespace in (("a.b",), ("",)):
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([PutOp(namespace, "k", {"x": 1})])
    with pytest.raises(InvalidInputError, match="number of minutes"):
        await store.abatch([PutOp(("a",), "k", {"x": 1}, ttl="soon")])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no operation"):
        await store.abatch([object()])  # type: ignore[list-item]


def remembering_graph(store: LaminaStore) -> Any:
    """A graph whose only node uses the store of the run, without awaiting."""

    def remember(state: MessagesState) -> dict[str, Any]:
        mine = get_runtime().store
        assert mine is not None
        mine.put(ANN, "said", {"text": str(state["messages"][-1].content)})
        return {"messages": [("ai", keys(mine.search(ANN, query="tea"))[0])]}

    builder = StateGraph(MessagesState)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    return builder.compile(store=store)


async def test_a_graph_uses_the_store_from_its_threads(store: LaminaStore) -> None:
    answer = await remembering_graph(store).ainvoke({"messages": [("user", "I like tea")]})
    assert answer["messages"][-1].content == "said"
    with pytest.raises(ConfigurationError, match="await instead"):
        store.get(ANN, "said")


def test_a_blocking_graph_uses_a_store_that_nobody_opened(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url, memory={"sweep_interval_s": 0.0})
    store = LaminaStore(app)
    for _ in range(2):
        answer = remembering_graph(store).invoke({"messages": [("user", "I like tea")]})
        assert answer["messages"][-1].content == "said"
    assert store.list_namespaces() == [ANN]
    asyncio.run(store.aclose())
    assert not app.is_open


def test_a_blocking_call_to_an_app_whose_loop_rests_is_refused(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url, memory={"sweep_interval_s": 0.0})
    with asyncio.Runner() as runner:
        runner.run(app.start())
        with pytest.raises(ConfigurationError, match="await instead"):
            LaminaStore(app).get(ANN, "k")
        runner.run(app.close())


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.store.base", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[langgraph\]'"):
        importlib.reload(langgraph)
