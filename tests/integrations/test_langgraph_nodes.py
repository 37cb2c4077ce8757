"""The nodes for LangGraph: the prompt is assembled for every turn, and what is said is stored once."""

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from lamina.app import App, open
from lamina.context.adapter import ContextAdapter
from lamina.integrations.attached import attach
from lamina.integrations.langgraph import prompt_node, record_node
from lamina.integrations.langgraph_nodes import message_of
from lamina.session.types import NewMessage, Role, ToolCall, ToolResult

pytestmark = pytest.mark.anyio
CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


class State(TypedDict):
    """A conversation, and what the model is sent."""

    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage]


def mirror(state: State) -> dict[str, Any]:
    """A model that answers with what it was told."""
    return {"messages": [AIMessage(state["llm_input_messages"][0].text)]}


def graph_on(app: Any) -> Any:
    """Prompt, model, record."""
    builder = StateGraph(State)
    builder.add_node("prompt", prompt_node(app, "You are kind."))
    builder.add_node("model", mirror)
    builder.add_node("record", record_node(app))
    for before, after in ((START, "prompt"), ("prompt", "model"), ("model", "record"), ("record", END)):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=InMemorySaver())


async def test_the_prompt_holds_what_is_known_and_the_conversation_is_stored_once(app: App) -> None:
    await app.knowledge.save("deploy-rule", "Never deploy on a Friday", category="rule", origin="user")
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="ann")
    graph = graph_on(app)
    state = await graph.ainvoke({"messages": [HumanMessage("how do I deploy?")]}, CONFIG)
    told = state["messages"][-1].text
    assert told.startswith("You are kind.")
    assert "Session: t1 " in told
    assert "deploy-rule: Never deploy on a Friday" in told
    assert "Likes to deploy from the terminal" in told
    assert [type(one) for one in state["messages"]] == [HumanMessage, AIMessage]
    assert [type(one) for one in state["llm_input_messages"]] == [SystemMessage, HumanMessage]
    await graph.ainvoke({"messages": [HumanMessage("thanks")]}, CONFIG)
    restarted = record_node(app)  # knows nothing of what is stored
    await restarted.ainvoke((await graph.aget_state(CONFIG)).values, CONFIG)
    stored = await app.sessions.messages("t1")
    assert [one.role.value for one in stored] == ["user", "assistant", "user", "assistant"]
    assert [one.content for one in stored][::2] == ["how do I deploy?", "thanks"]
    assert (await app.sessions.get("t1")).user_id == "ann"


def test_a_blocking_graph_remembers_too(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url, memory={"sweep_interval_s": 0.0})
    record = record_node(app)
    state = graph_on(app).invoke({"messages": [HumanMessage("hello")]}, CONFIG)
    assert state["messages"][-1].text.startswith("You are kind.")

    async def stored(app: App) -> list[str]:
        return [one.content for one in await app.sessions.messages("t1")]

    assert attach(app).block(lambda: attach(app).run(stored))[0] == "hello"
    attach(app).block(attach(app).close)
    assert record.name == "lamina_record"


async def test_without_a_thread_nothing_is_stored_and_without_context_the_turn_goes_on(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise OSError("no disk")

    said = {"messages": [HumanMessage("hello", id="m1")]}
    assert await record_node(app).ainvoke(said) == {}
    assert (await app.sessions.list()).total_count == 0
    monkeypatch.setattr(ContextAdapter, "augment", broken)
    prompt = await prompt_node(app, "You are kind.", output="asked").ainvoke(said)
    assert [one.text for one in prompt["asked"]] == ["You are kind.", "hello"]
    assert [one.text for one in (await prompt_node(app).ainvoke(said))["llm_input_messages"]] == ["hello"]


def test_tools_are_stored_as_calls_and_results() -> None:
    call = AIMessage("Let me see", tool_calls=[{"id": "c1", "name": "ferries", "args": {"day": "ü"}}], id="m1")
    assert message_of(call, 0) == NewMessage(
        role=Role.ASSISTANT,
        content="Let me see",
        parts=(ToolCall(id="c1", name="ferries", arguments='{"day": "ü"}'),),
        id="m1",
    )
    result = message_of(ToolMessage("no ferry\x00", tool_call_id="c1", status="error", id="m2"), 1)
    assert result is not None
    assert result.parts == (ToolResult(call_id="c1", content="no ferry\ufffd", is_error=True),)
    assert message_of(SystemMessage("You are kind.", id="m3"), 2) is None
    assert message_of(AIMessage("", id="m4"), 3) is None
    first, second = message_of(HumanMessage("hi"), 0), message_of(HumanMessage("hi"), 2)
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert message_of(HumanMessage("hi"), 0) == first
