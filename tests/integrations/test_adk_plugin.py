"""The plugin for ADK: sessions, messages, and that nothing it does can fail a turn. With the real Runner."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from typing import Any

import pytest
from google.adk.agents import BaseAgent, InvocationContext, LlmAgent
from google.adk.apps import App as AdkApp
from google.adk.apps import ResumabilityConfig
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from lamina.app import App, open
from lamina.errors import ProviderError
from lamina.integrations.adk import ContextAwareModel, LaminaPlugin, session_key_of
from lamina.kernel.session_key import current_session_key
from lamina.memory.types import Identifiers, NewMemory
from lamina.observability.prometheus import render_prometheus
from lamina.session.types import Message, Role
from tests.context.opening import context_app
from tests.integrations.adk_scripts import (
    ScriptedModel,
    ask,
    call,
    runner_for,
    spoken,
    system_of,
    texts_of,
)

pytestmark = pytest.mark.anyio
KEY = "house:u1:s1"


def deploy(target: str) -> str:
    """Deploy the app to a target."""
    return f"deployed to {target}"


async def stored(app: App, key: str = KEY) -> list[Message]:
    """Every message of a session."""
    return list(await app.sessions.messages(key, archived=None, limit=1000))


def said(messages: list[Message]) -> list[tuple[str, str]]:
    """Who said what."""
    return [(message.role.value, message.content) for message in messages]


async def test_messages_calls_and_results_of_a_turn_are_stored_in_order(app: App) -> None:
    model = ScriptedModel(call("deploy", target="eu"), "Done.")
    await ask(runner_for(model, plugins=[LaminaPlugin(app)], tools=[deploy]), "please deploy")
    asked, called, returned, answered = await stored(app)
    assert said([asked, answered]) == [("user", "please deploy"), ("assistant", "Done.")]
    assert (asked.author, answered.author) == ("user", "helper")
    assert (called.role, called.calls[0].name, called.calls[0].arguments) == (
        Role.ASSISTANT,
        "deploy",
        '{"target": "eu"}',
    )
    (result,) = returned.results
    assert (returned.role, result.content, result.is_error) == (Role.TOOL, "deployed to eu", False)
    assert result.call_id == called.calls[0].id
    assert (await app.sessions.get(KEY)).user_id == "u1"


async def test_a_turn_is_augmented_and_stored_on_every_engine(store_url: str) -> None:
    async with context_app(store_url, deadline_s=0, turn_deadline_s=0) as app:
        await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="u1")
        inner = ScriptedModel(call("deploy", target="eu"), "Done.")
        runner = runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)], tools=[deploy])
        await ask(runner, "how do I deploy?")
        assert all("Likes to deploy from the terminal" in system_of(asked) for asked in inner.asked)
        assert [message.role.value for message in await stored(app)] == ["user", "assistant", "tool", "assistant"]


async def test_the_pieces_of_a_stream_are_not_stored(app: App) -> None:
    runner = runner_for(ScriptedModel("one two three"), plugins=[LaminaPlugin(app)])
    await ask(runner, "count", stream=True)
    assert said(await stored(app)) == [("user", "count"), ("assistant", "one two three")]


@pytest.mark.requirement("observation.session.from-request", "observation.session.to-runtime")
async def test_models_and_tools_see_the_session_of_their_own_invocation(app: App) -> None:
    seen: list[str | None] = []

    def look() -> str:
        """Look around."""
        seen.append(current_session_key())
        return "seen"

    inner = ScriptedModel(call("look"), "Done.")
    runner = runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)], tools=[look])
    await ask(runner, "look", user="a:b", session="c%")
    key = "house:a%3Ab:c%25"
    assert seen == [key]
    assert all(f"Session: {key} " in system_of(asked) for asked in inner.asked)
    assert current_session_key() is None, "the caller is not in that session"


class Row(BaseAgent):
    """An agent of one's own, which lets others speak; ADK runs it in the caller's task."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        assert current_session_key() == KEY
        for agent in self.sub_agents:
            async for event in agent.run_async(ctx):
                yield event


@pytest.mark.parametrize("kind", [LlmAgent, Row])
async def test_nothing_stays_bound_in_the_callers_own_context(app: App, kind: type[Any]) -> None:
    agent = LlmAgent(name="helper", model=ScriptedModel())
    root = agent if kind is LlmAgent else Row(name="row", sub_agents=[agent])
    adk = AdkApp(name="house", root_agent=root, plugins=[LaminaPlugin(app)])
    runner = Runner(app=adk, session_service=InMemorySessionService(), auto_create_session=True)
    await ask(runner, "hello")
    assert current_session_key() is None
    assert said(await stored(app)) == [("user", "hello"), ("assistant", "Done.")]


async def test_different_sessions_have_different_keys_whatever_their_names() -> None:
    names = ["a", ":", "%", "a:", ":a", "%3A", "a%3A", " ", "é", "\n", "x" * 300, "x" * 301]
    keys = {
        session_key_of(Session(app_name=app, user_id=user, id=id)) for app in names for user in names for id in names
    }
    assert len(keys) == len(names) ** 3
    assert all(len(key) <= 256 and key.isprintable() for key in keys)


async def test_memories_of_the_user_and_of_the_app_are_found(app: App) -> None:
    await app.memory.add("Likes to deploy from the terminal", layer="user", user_id="u1")
    await app.memory.add("Deploy with the blue button", layer="agent", user_id="u1", agent_id="house")
    await app.memory.add("Deploy with the red button", layer="agent", user_id="u1", agent_id="garden")
    inner = ScriptedModel()
    await ask(runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)]), "how do I deploy?")
    assert "terminal" in system_of(inner.asked[0])
    assert "blue button" in system_of(inner.asked[0])
    assert "red button" not in system_of(inner.asked[0])


async def test_a_session_that_is_older_than_lamina_is_stored_whole_and_once(app: App) -> None:
    sessions = InMemorySessionService()
    await ask(runner_for(ScriptedModel("One."), sessions=sessions), "first")
    for number in range(3):  # each a process that knows nothing of the others
        runner = runner_for(ScriptedModel(f"Answer {number}."), sessions=sessions, plugins=[LaminaPlugin(app)])
        await ask(runner, f"question {number}")
    expected = ["first", "One."]
    for number in range(3):
        expected += [f"question {number}", f"Answer {number}."]
    assert [message.content for message in await stored(app)] == expected


async def test_an_invocation_that_waits_for_a_result_and_is_resumed_is_stored_once(app: App) -> None:
    def approve(what: str) -> None:
        """Ask a person, who answers later."""

    model = ScriptedModel(call("approve", what="deploy"), "Waiting.", "Approved.")
    runner = runner_for(
        model,
        plugins=[LaminaPlugin(app)],
        tools=[LongRunningFunctionTool(approve)],
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    events = await ask(runner, "please deploy")
    (asked_for,) = [one for event in events for one in event.get_function_calls()]
    answer = types.Part(
        function_response=types.FunctionResponse(id=asked_for.id, name="approve", response={"approved": True})
    )
    await ask(runner, types.Content(role="user", parts=[answer]))
    messages = await stored(app)
    assert len({message.id for message in messages}) == len(messages)
    assert [message.content for message in messages if message.role is Role.USER] == ["please deploy"]
    assert [result.content for message in messages for result in message.results] == ['{"approved": true}']
    assert said(messages)[-1][0] == "assistant"


async def test_what_asks_for_credentials_and_what_answers_is_never_stored(app: App) -> None:
    secret = types.FunctionResponse(id="1", name="adk_request_credential", response={"token": "s3cret-t0ken"})
    request = types.FunctionCall(id="1", name="adk_request_credential", args={"client_secret": "s3cret-t0ken"})
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="house", user_id="u1", session_id="s1")
    for part, author in ((types.Part(function_call=request), "helper"), (types.Part(function_response=secret), "user")):
        event = Event(author=author, invocation_id="i", content=types.Content(role="user", parts=[part]))
        await sessions.append_event(session, event)
    await ask(runner_for(ScriptedModel("Hi."), sessions=sessions, plugins=[LaminaPlugin(app)]), "hello")
    messages = await stored(app)
    assert said(messages) == [("user", "hello"), ("assistant", "Hi.")]
    assert "s3cret" not in repr(messages)


async def test_files_are_named_and_thoughts_and_broken_text_do_not_get_in_the_way(app: App) -> None:
    parts = [
        types.Part(text="what is this?\x00"),
        types.Part(inline_data=types.Blob(data=b"12345", mime_type="image/png", display_name="x.png")),
        types.Part(file_data=types.FileData(file_uri="gs://b/y.pdf", mime_type="application/pdf")),
    ]
    answer = types.Content(role="model", parts=[types.Part(text="hmm", thought=True), types.Part(text="A cat.")])
    runner = runner_for(ScriptedModel(answer), plugins=[LaminaPlugin(app)])
    await ask(runner, types.Content(role="user", parts=parts))
    question, told = await stored(app)
    assert question.content == "what is this?\ufffd"
    assert [(part.media_type, part.name, part.size_bytes) for part in question.parts] == [  # type: ignore[union-attr]
        ("image/png", "x.png", 5),
        ("application/pdf", "gs://b/y.pdf", None),
    ]
    assert told.content == "A cat."


async def test_an_agent_inside_a_tool_works_for_the_session_and_its_talk_is_not_the_users(app: App) -> None:
    helper = ScriptedModel("Berlin.")
    expert = LlmAgent(name="expert", description="Knows things.", model=ContextAwareModel(helper, app))
    model = ScriptedModel(call("expert", request="capital of Germany?"), "It is Berlin.")
    runner = runner_for(model, plugins=[LaminaPlugin(app)], tools=[AgentTool(expert)])
    with pytest.warns(DeprecationWarning, match="plugins"):  # ADK's own way to hand plugins on
        await ask(runner, "what is the capital?")
    assert f"Session: {KEY} " in system_of(helper.asked[0])
    assert [session.key for session in (await app.sessions.list()).sessions] == [KEY]
    assert [message.content for message in await stored(app) if message.content] == [
        "what is the capital?",
        "It is Berlin.",
    ]


async def test_two_turns_of_one_session_at_once_are_both_stored_whole(app: App) -> None:
    both = asyncio.Barrier(2)

    async def meet(name: str) -> str:
        """Meet the other one."""
        await both.wait()
        return f"met as {name}"

    def answer(request: LlmRequest) -> Any:
        last = request.contents[-1].parts or []
        text = last[0].text
        return call("meet", name=text) if text else "Done."

    runner = runner_for(ScriptedModel(answer), plugins=[LaminaPlugin(app)], tools=[meet])
    await asyncio.gather(ask(runner, "one"), ask(runner, "two"))
    messages = await stored(app)
    assert sorted(message.content for message in messages if message.role is Role.USER) == ["one", "two"]
    assert sorted(result.content for message in messages for result in message.results) == ["met as one", "met as two"]
    calls = [one.id for message in messages for one in message.calls]
    results = [one.call_id for message in messages for one in message.results]
    assert sorted(calls) == sorted(results)
    assert len({message.id for message in messages}) == len(messages) == 8


async def test_sixty_four_sessions_at_once_are_never_crossed(sqlite_store_url: str) -> None:
    # No deadlines: however busy the machine is, every turn gets its context.
    async with context_app(sqlite_store_url, deadline_s=0, turn_deadline_s=0) as app:
        await app.memory.bulk_add(
            [
                NewMemory(content=f"The secret word is w{number}x", identifiers=Identifiers(user_id=f"u{number}"))
                for number in range(64)
            ]
        )
        model = ContextAwareModel(ScriptedModel(system_of), app)
        runner = runner_for(model, plugins=[LaminaPlugin(app)])
        turns = [ask(runner, "the secret word?", user=f"u{number}", session=f"s{number}") for number in range(64)]
        for number, events in enumerate(await asyncio.gather(*turns)):
            (text,) = texts_of(events)
            assert f"Session: house:u{number}:s{number} " in text
            assert f"is w{number}x" in text
            assert text.count("The secret word is") == 1
            asked, answered = await stored(app, f"house:u{number}:s{number}")
            assert (asked.content, answered.content) == ("the secret word?", text)


async def test_a_store_that_fails_during_a_turn_costs_no_turn_and_the_next_one_stores_it(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = runner_for(ScriptedModel("Hi.", "Done."), plugins=[LaminaPlugin(app)])

    async def fail(*_: object) -> None:
        raise ProviderError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(app.parts.database, "write", fail)
        assert texts_of(await ask(runner, "hello")) == ["Hi."]
    assert 'code="PROVIDER_ERROR",operation="adk_record"' in render_prometheus(app.metrics)
    await ask(runner, "again")
    assert [message.content for message in await stored(app)] == ["hello", "Hi.", "again", "Done."]


async def test_a_store_that_is_locked_does_not_hold_a_turn_up(sqlite_store_url: str) -> None:
    path = sqlite_store_url.removeprefix("sqlite:///")
    async with open(sqlite_store_url, context={"turn_deadline_s": 0.05}) as app:
        plugin = LaminaPlugin(app)
        runner = runner_for(ScriptedModel("Hi."), plugins=[plugin])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert texts_of(await ask(runner, "hello")) == ["Hi."]
            other.execute("ROLLBACK")
        assert 'code="TIMEOUT",operation="adk_record"' in render_prometheus(app.metrics)
        await plugin.close()
        assert said(await stored(app)) == [("user", "hello"), ("assistant", "Hi.")]


async def test_an_error_of_the_plugin_itself_costs_no_turn(app: App) -> None:
    def broken(session: Session) -> str:
        raise RuntimeError("no key")

    runner = runner_for(ScriptedModel("Hi."), plugins=[LaminaPlugin(app, session_key=broken)])
    assert texts_of(await ask(runner, "hello")) == ["Hi."]
    assert 'code="RuntimeError",operation="adk_plugin"' in render_prometheus(app.metrics)


async def test_a_turn_that_fails_is_stored_up_to_its_end(app: App) -> None:
    runner = runner_for(
        ScriptedModel(call("deploy", target="eu"), ValueError("quota")), plugins=[LaminaPlugin(app)], tools=[deploy]
    )
    with pytest.raises(ValueError, match="quota"):
        await ask(runner, "please deploy")
    assert [message.role.value for message in await stored(app)] == ["user", "assistant", "tool"]


async def test_a_cancelled_turn_is_completed_in_the_store_by_the_next_one(app: App) -> None:
    started = asyncio.Event()

    async def hang() -> None:
        """Never come back."""
        started.set()
        await asyncio.Event().wait()

    runner = runner_for(ScriptedModel(call("hang"), "Hi."), plugins=[LaminaPlugin(app)], tools=[hang])
    turn = asyncio.create_task(ask(runner, "please hang"))
    await started.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await ask(runner, "never mind")
    messages = await stored(app)
    assert [message.content for message in messages if message.content] == ["please hang", "never mind", "Hi."]
    ((called,), (failed,)) = (
        [one.id for m in messages for one in m.calls],
        [one for m in messages for one in m.results],
    )
    assert (failed.call_id, failed.is_error) == (called, True)


async def test_a_session_service_on_disk_and_another_process_go_on_where_the_first_stopped(
    app: App, tmp_path: Any
) -> None:
    for number in range(2):
        sessions = SqliteSessionService(str(tmp_path / "adk.db"))
        runner = runner_for(ScriptedModel(f"Answer {number}."), sessions=sessions, plugins=[LaminaPlugin(app)])
        await ask(runner, f"question {number}")
    assert [message.content for message in await stored(app)] == [
        "question 0",
        "Answer 0.",
        "question 1",
        "Answer 1.",
    ]


async def test_the_runner_closes_an_app_that_its_first_turn_opened(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url)
    inner = ScriptedModel()
    async with runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)]) as runner:
        await ask(runner, "hello")
        assert app.is_open
    assert not app.is_open


async def test_the_runner_leaves_an_app_open_that_somebody_else_opened(app: App) -> None:
    async with runner_for(ScriptedModel(), plugins=[LaminaPlugin(app)]) as runner:
        await ask(runner, "hello")
    assert app.is_open


async def test_a_key_of_ones_own_can_be_given(app: App) -> None:
    plugin = LaminaPlugin(app, session_key=lambda session: session.id)
    await ask(runner_for(ScriptedModel("Hi."), plugins=[plugin]), "hello", session="telegram:42:7")
    assert (await app.sessions.get("telegram:42:7")).channel == "telegram"


async def test_a_blocking_run_in_another_thread_is_stored_too(app: App) -> None:
    inner = ScriptedModel("Hi.")
    runner = runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)])
    events = await asyncio.to_thread(blocking, runner, "hello")
    assert texts_of(events) == ["Hi."]
    assert f"Session: {KEY} " in system_of(inner.asked[0])
    assert said(await stored(app)) == [("user", "hello"), ("assistant", "Hi.")]


def blocking(runner: Runner, text: str) -> list[Event]:
    """A turn without a loop at hand."""
    return list(runner.run(user_id="u1", session_id="s1", new_message=spoken(text, "user")))


def test_blocking_runs_share_an_app_that_the_first_of_them_opened(sqlite_store_url: str) -> None:
    app = open(sqlite_store_url, observational_memory={"enabled": True})
    inner = ScriptedModel("Hi.")
    runner = runner_for(ContextAwareModel(inner, app), plugins=[LaminaPlugin(app)])
    for number in range(3):
        blocking(runner, f"hello {number}")
    assert all(f"Session: {KEY} " in system_of(asked) for asked in inner.asked)
    asyncio.run(runner.close())
    assert not app.is_open

    async def kept() -> list[str]:
        async with open(sqlite_store_url) as again:
            return [message.content for message in await stored(again) if message.role is Role.USER]

    assert asyncio.run(kept()) == ["hello 0", "hello 1", "hello 2"]
