"""Sessions of the OpenAI Agents SDK on our store, with the SDK's own runner and its scripted model."""

import asyncio
import importlib
import json
import sys
from typing import Any, cast

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.memory import Session, SessionSettings
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.app import App
from lamina.context.adapter import ContextAdapter
from lamina.errors import ConfigurationError, InvalidInputError
from lamina.integrations import openai_agents
from lamina.integrations.openai_agents import LaminaSession, items_of, message_of
from lamina.session.types import NewMessage, Role, ToolCall, ToolResult

pytestmark = pytest.mark.anyio
QUIET = RunConfig(tracing_disabled=True)
FIELDS = st.sampled_from(["role", "type", "content", "call_id", "id", "name", "arguments", "output", "text", "z"])

ITEMS: list[Any] = [
    {"role": "user", "content": "Is there a ferry?"},
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
    {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "ferries", "arguments": '{ "day":1}', "n": 1.0},
    {"type": "function_call_output", "call_id": "c1", "output": "07:30"},
    {"type": "function_call_output", "call_id": "c0", "output": [{"type": "input_text", "text": "08:30"}]},
    {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "ferry"}},
    {"type": "mcp_call", "id": "m1", "name": "tide", "arguments": "{}", "server_label": "sea", "output": "low"},
    {"type": "item_reference", "id": "msg_0"},
    {"content": [{"type": "output_text", "text": "At 07:30.", "annotations": []}], "role": "assistant", "id": "msg_1"},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}]},
    {"role": "developer", "content": "Be brief."},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "a NUL \x00, half a pair \ud800, and ü"},
    {"type": "something_new", "nested": {"a": [None, True, 1e300]}},
]


async def test_a_session_is_one_of_the_sdk(app: App) -> None:
    session = LaminaSession("s", app)
    assert isinstance(session, Session)
    assert (session.session_id, session.session_settings) == ("s", None)


async def test_items_come_back_exactly_as_they_went_in(app: App) -> None:
    session = LaminaSession("s", app, user_id="ann")
    assert await session.get_items() == []
    await session.add_items([])
    await session.add_items(ITEMS[:3])
    await session.add_items(ITEMS[3:])
    assert json.dumps(await LaminaSession("s", app).get_items()) == json.dumps(ITEMS)
    assert await session.get_items(limit=2) == ITEMS[-2:]
    assert await session.get_items(limit=0) == []
    assert (await app.sessions.get("s")).user_id == "ann"
    assert await LaminaSession("other", app).get_items() == []


WORDS = st.sampled_from(["", " ", "user", "tool", "x_call", "x_output", "reasoning", "\x00", "\ud800", "ü", "{"])
VALUES = (
    st.none() | st.booleans() | st.floats() | WORDS | st.lists(st.dictionaries(FIELDS, WORDS, max_size=2), max_size=2)
)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(FIELDS, VALUES, max_size=5))
def test_any_json_object_survives_being_a_message(item: dict[str, Any]) -> None:
    assert json.dumps([item]) == json.dumps(items_of(message_of(item)))


async def test_what_was_said_and_called_is_there_for_everybody(app: App) -> None:
    await LaminaSession("s", app).add_items(ITEMS)
    stored = await app.sessions.messages("s")
    assert [(one.role.value, one.content) for one in stored][8] == ("assistant", "At 07:30.")
    assert stored[2].parts == (ToolCall(id="c1", name="ferries", arguments='{ "day":1}'),)
    assert stored[3].parts == (ToolResult(call_id="c1", content="07:30"),)
    assert stored[0].original is stored[3].original is None  # said by the message alone
    assert stored[6].results[0].content == "low"
    assert not any("summary" in one.content for one in stored)
    found = await app.sessions.recall("when does the ferry go?", session_key="s")
    assert "Is there a ferry?" in [hit.message.content for hit in found]


async def test_the_newest_item_is_taken_back_and_nothing_else(app: App) -> None:
    session = LaminaSession("s", app)
    assert await session.pop_item() is None
    await session.add_items(ITEMS[:3])
    assert await session.pop_item() == ITEMS[2]
    assert await session.pop_item() == ITEMS[1]
    await session.add_items(ITEMS[3:4])
    assert await session.get_items() == [ITEMS[0], ITEMS[3]]
    assert await session.get_items(limit=1) == [ITEMS[3]]
    assert [await session.pop_item() for _ in range(3)] == [ITEMS[3], ITEMS[0], None]
    stored = await app.sessions.messages("s")
    assert stored[0].content == "Is there a ferry?"
    calls = {call.id for one in stored for call in one.calls}
    assert calls == {result.call_id for one in stored for result in one.results}  # none waits for ever


async def test_two_who_pop_at_the_same_time_get_two_items(app: App) -> None:
    await LaminaSession("s", app).add_items(ITEMS[:6])
    popped = await asyncio.gather(*(LaminaSession("s", app).pop_item() for _ in range(6)))
    assert sorted(map(json.dumps, popped)) == sorted(map(json.dumps, ITEMS[:6]))
    assert await LaminaSession("s", app).get_items() == []


async def test_a_cleared_session_is_empty_and_can_go_on(app: App) -> None:
    session = LaminaSession("s", app)
    await session.clear_session()
    await session.add_items(ITEMS)
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items(ITEMS[:1])
    assert await session.get_items() == ITEMS[:1]


async def test_a_long_session_comes_back_whole_or_as_far_as_its_settings_say(app: App) -> None:
    items: list[Any] = [{"role": "user", "content": f"line {number}"} for number in range(450)]
    session = LaminaSession("s", app, session_settings=SessionSettings(limit=3))
    await session.add_items(items)
    assert await session.get_items() == items[-3:]
    assert await session.get_items(limit=300) == items[-300:]
    assert await LaminaSession("s", app).get_items() == items


async def test_what_other_doors_said_is_given_as_items(app: App) -> None:
    call = ToolCall(id="c1", name="ferries", arguments="{}")
    await app.sessions.append_many(
        [
            NewMessage(role=Role.ASSISTANT, content="Let me see", parts=(call,)),
            NewMessage(role=Role.TOOL, parts=(ToolResult(call_id="c1", content="07:30"),)),
        ],
        session_key="s",
    )
    session = LaminaSession("s", app)
    told: list[Any] = [
        {"role": "assistant", "content": "Let me see"},
        {"type": "function_call", "call_id": "c1", "name": "ferries", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "07:30"},
    ]
    assert await session.get_items() == told
    assert [await session.pop_item() for _ in range(4)] == [told[2], told[1], told[0], None]


async def test_what_notes_stand_for_is_left_out_where_that_is_wanted(app: App) -> None:
    items: list[Any] = [{"role": "user", "content": f"line {number}"} for number in range(6)]
    await LaminaSession("s", app).add_items(items)
    await app.sessions.compact_messages("s", up_to=4, summary="Four lines.")
    assert await LaminaSession("s", app).get_items() == items
    assert await LaminaSession("s", app, leave_out_noted=True).get_items() == items[4:]


@pytest.mark.parametrize("item", [{"role": "user", "content": b"bytes"}, ["no", "object"]])
async def test_what_is_no_json_object_is_refused_and_nothing_is_stored(app: App, item: Any) -> None:
    session = LaminaSession("s", app)
    with pytest.raises(InvalidInputError, match="JSON object"):
        await session.add_items([ITEMS[0], item])
    assert await session.get_items() == []


@function_tool
def ferries(day: str) -> str:
    """When ferries go."""
    return f"07:30 on {day}"


def scripted(*answers: Any) -> ScriptedModel:
    """A model that gives these answers, one a call."""
    return ScriptedModel([ModelStep(output=[answer]) for answer in answers])


async def test_an_agent_goes_on_where_it_was_in_another_process(app: App) -> None:
    model = scripted(
        function_call("ferries", {"day": "friday"}, call_id="c1"), assistant_message("07:30"), assistant_message("Yes")
    )
    agent = Agent(name="helper", model=model, tools=[ferries])
    first = await Runner.run(agent, "When?", session=LaminaSession("s", app), run_config=QUIET)
    assert first.final_output == "07:30"
    await Runner.run(agent, "Sure?", session=LaminaSession("s", app), run_config=QUIET)
    asked = cast(list[dict[str, Any]], model.calls[-1].input)
    assert [one.get("type") or one["role"] for one in asked] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
    ]
    assert asked[2]["output"] == "07:30 on friday"
    roles = [one.role.value for one in await app.sessions.messages("s")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


async def test_instructions_hold_what_is_known_for_the_latest_words_of_the_user(app: App) -> None:
    await app.knowledge.save("deploy-rule", "Never deploy on a Friday", category="rule", origin="user")
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="ann")
    session = LaminaSession("s", app, user_id="ann")

    async def base(context: Any, agent: Any) -> str:
        return f"You are {agent.name}."

    for instructions in ("You are helper.", base):
        model = scripted(assistant_message("Not today"))
        agent = Agent(name="helper", model=model, instructions=session.instructions(instructions))
        await Runner.run(agent, "how do I deploy?", session=session, run_config=QUIET)
        told = str(model.calls[0].system_instructions)
        assert told.startswith("You are helper.")
        assert "Session: s " in told
        assert "deploy-rule: Never deploy on a Friday" in told
        assert "Likes to deploy from the terminal" in told


async def test_context_that_fails_costs_no_turn(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(ContextAdapter, "augment", broken)
    session = LaminaSession("s", app)
    model = scripted(assistant_message("Hi"))
    agent = Agent(name="helper", model=model, instructions=session.instructions("You are kind."))
    await Runner.run(agent, "hello", session=session, run_config=QUIET)
    assert model.calls[0].system_instructions == "You are kind."


async def test_a_session_opens_and_closes_a_store_of_its_own(sqlite_store_url: str) -> None:
    session = LaminaSession("s", sqlite_store_url)
    await session.add_items(ITEMS)
    await session.close()
    again = LaminaSession("s", sqlite_store_url)
    assert json.dumps(await again.get_items()) == json.dumps(ITEMS)
    await again.close()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agents", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[openai-agents\]'"):
        importlib.reload(openai_agents)
