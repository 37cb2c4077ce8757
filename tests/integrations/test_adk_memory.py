"""Lamina as ADK's memory: every method of the service, the tools that use it, and how ADK's commands find it."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.cli.service_registry import ServiceRegistry, load_services_module
from google.adk.cli.utils.service_factory import create_memory_service_from_options
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from lamina.app import App, open
from lamina.errors import InvalidInputError, InvalidLayerError
from lamina.integrations.adk import LaminaMemoryService, register_memory_service
from lamina.kernel.clock import ManualClock
from tests.context.opening import context_app
from tests.integrations.adk_scripts import ScriptedModel, ask, call, runner_for, spoken, text_of

pytestmark = pytest.mark.anyio
WHO: dict[str, Any] = {"app_name": "house", "user_id": "u1"}


def event(text: str, author: str = "user", **fields: Any) -> Event:
    """An event that says something."""
    role = "user" if author == "user" else "model"
    return Event(author=author, invocation_id="i", content=spoken(text, role), **fields)


def session(*events: Event, id: str = "s1", user: str = "u1", app: str = "house") -> Session:
    """A session with these events."""
    return Session(app_name=app, user_id=user, id=id, events=list(events))


async def found(service: BaseMemoryService, query: str, **who: str) -> list[str]:
    """The texts that a search finds."""
    response = await service.search_memory(query=query, **{**WHO, **who})
    return [text_of(memory.content) for memory in response.memories]


async def test_every_method_of_adks_service_is_there() -> None:
    methods = [name for name in vars(BaseMemoryService) if not name.startswith("_")]
    assert sorted(methods) == [
        "add_events_to_memory",
        "add_memory",
        "add_session_to_memory",
        "delete_memory",
        "search_memory",
    ]
    assert all(name in vars(LaminaMemoryService) for name in methods)


async def test_a_session_is_found_again_however_often_it_is_added(app: App) -> None:
    service = LaminaMemoryService(app)
    said = session(
        event("My cat is called Mina"),
        event("What a lovely name for a cat", "helper"),
        event("a piece of a cat", partial=True),
        Event(author="helper", invocation_id="i", content=call("feed", animal="cat")),
    )
    await service.add_session_to_memory(said)
    said.events.append(event("She is a black cat"))
    await service.add_session_to_memory(said)
    response = await service.search_memory(query="what is my cat called?", **WHO)
    texts = [text_of(memory.content) for memory in response.memories]
    assert texts[0] == "My cat is called Mina"
    assert len(texts) == len(set(texts))
    first = response.memories[0]
    assert (first.author, first.content.role) == ("user", "user")
    assert first.timestamp is not None
    assert first.custom_metadata["adk_session"] == "s1"
    assert 0 < first.custom_metadata["lamina_score"] <= 1
    page = await app.memory.list(layer="agent", agent_id="house", user_id="u1")
    assert page.total_count == 3


async def test_events_are_a_delta_and_the_same_event_is_stored_once(app: App) -> None:
    service = LaminaMemoryService(app)
    events = [event("My cat is called Mina"), event("My dog is called Rex")]
    await service.add_events_to_memory(**WHO, events=events[:1], session_id="s1")
    await asyncio.gather(
        *(service.add_events_to_memory(**WHO, events=events, session_id="s1") for _ in range(4)),
        service.add_session_to_memory(session(*events)),
    )
    assert (await app.memory.list(layer="agent", agent_id="house", user_id="u1")).total_count == 2


async def test_many_events_are_stored_in_as_many_steps_as_it_takes(app: App) -> None:
    service = LaminaMemoryService(app)
    events = [event(f"The number of the day is {number}") for number in range(250)]
    for _ in range(2):
        await service.add_session_to_memory(session(*events))
    assert (await app.memory.list(layer="agent", agent_id="house", user_id="u1")).total_count == 250


async def test_a_text_that_is_too_long_for_one_memory_is_stored_in_pieces(sqlite_store_url: str) -> None:
    async with open(sqlite_store_url, memory={"max_content_length": 50}) as app:
        service = LaminaMemoryService(app)
        await service.add_session_to_memory(session(event("My cat is called Mina. " * 10)))
        page = await app.memory.list(layer="agent", agent_id="house", user_id="u1")
        assert "".join(entry.content for entry in reversed(page.memories)).count("Mina") >= 9


async def test_apps_and_users_do_not_see_each_others_memories(app: App) -> None:
    service = LaminaMemoryService(app)
    await service.add_session_to_memory(session(event("My cat is called Mina")))
    assert await found(service, "what is my cat called?") == ["My cat is called Mina"]
    assert await found(service, "what is my cat called?", user_id="u2") == []
    assert await found(service, "what is my cat called?", app_name="garden") == []


async def test_what_is_known_about_the_user_elsewhere_is_found_too(app: App) -> None:
    await app.memory.add("My cat is called Mina", layer="user", user_id="u1")
    assert await found(LaminaMemoryService(app), "what is my cat called?") == ["My cat is called Mina"]


async def test_memories_can_be_shared_between_the_apps_of_a_user(app: App) -> None:
    await LaminaMemoryService(app, layer="user").add_session_to_memory(session(event("My cat is called Mina")))
    assert await found(LaminaMemoryService(app), "my cat?", app_name="garden") == ["My cat is called Mina"]
    assert await found(LaminaMemoryService(app), "my cat?", user_id="u2") == []


async def test_direct_memories_are_stored_replaced_and_deleted(app: App) -> None:
    service = LaminaMemoryService(app)
    entry = MemoryEntry(
        id="cat", content=spoken("My cat is called Mina"), author="user", timestamp="2026-05-01T10:00:00+02:00"
    )
    await service.add_memory(**WHO, memories=[entry], custom_metadata={"topic": "pets"})
    (memory,) = (await service.search_memory(query="my cat?", **WHO)).memories
    assert (memory.id, memory.author, memory.custom_metadata["topic"]) == ("cat", "user", "pets")
    assert memory.timestamp == "2026-05-01T08:00:00+00:00"
    changed = entry.model_copy(update={"content": spoken("My cat is called Momo")})
    await service.add_memory(**WHO, memories=[changed])
    assert await found(service, "my cat?") == ["My cat is called Momo"]
    await service.delete_memory(app_name="house", user_id="u2", memory_id="cat")
    assert await found(service, "my cat?") == ["My cat is called Momo"]
    await service.delete_memory(**WHO, memory_id="cat")
    await service.delete_memory(**WHO, memory_id="cat")
    assert await found(service, "my cat?") == []


async def test_a_deleted_memory_does_not_come_back_with_its_session(app: App) -> None:
    service = LaminaMemoryService(app)
    said = session(event("My cat is called Mina"))
    await service.add_session_to_memory(said)
    (memory,) = (await service.search_memory(query="my cat?", **WHO)).memories
    await service.delete_memory(**WHO, memory_id=memory.id)
    await service.add_session_to_memory(said)
    assert await found(service, "my cat?") == []


@pytest.mark.parametrize("ttl", [60, "60s", "60"])
async def test_a_memory_expires_when_its_time_is_over(
    sqlite_store_url: str, clock: ManualClock, ttl: int | str
) -> None:
    async with context_app(sqlite_store_url, clock=clock) as app:
        service = LaminaMemoryService(app)
        cat = MemoryEntry(content=spoken("My cat is called Mina"))
        await service.add_memory(**WHO, memories=[cat], custom_metadata={"ttl": ttl})
        dog = event("My dog is called Rex")
        await service.add_events_to_memory(**WHO, events=[dog], custom_metadata={"ttl": ttl})
        assert len(await found(service, "my cat and my dog?")) == 2
        clock.advance(timedelta(seconds=61).total_seconds())
        assert await found(service, "my cat and my dog?") == []
        await service.add_events_to_memory(**WHO, events=[dog], custom_metadata={"ttl": ttl})


async def test_bad_input_is_refused_with_what_is_wrong_about_it(app: App) -> None:
    service = LaminaMemoryService(app)
    cat = MemoryEntry(content=spoken("My cat"))
    with pytest.raises(InvalidInputError, match="ttl"):
        await service.add_memory(**WHO, memories=[cat], custom_metadata={"ttl": "soon"})
    with pytest.raises(InvalidInputError, match="ISO 8601"):
        await service.add_memory(**WHO, memories=[cat.model_copy(update={"timestamp": "soon"})])
    with pytest.raises(InvalidInputError, match="empty"):
        await service.add_memory(**WHO, memories=[MemoryEntry(content=types.Content(parts=[]))])
    with pytest.raises(InvalidInputError, match="memory_id"):
        await service.delete_memory(**WHO)
    with pytest.raises(InvalidLayerError):
        LaminaMemoryService(app, layer="planet")
    with pytest.raises(InvalidInputError, match="agent or the user"):
        LaminaMemoryService(app, layer="team")
    with pytest.raises(InvalidInputError, match="one of the two"):
        LaminaMemoryService()
    with pytest.raises(InvalidInputError, match="lamina://"):
        LaminaMemoryService(uri="sqlite://lamina.db")
    assert await found(service, "  ") == []


async def test_adks_own_memory_tools_find_what_is_stored(app: App) -> None:
    service = LaminaMemoryService(app)
    await service.add_session_to_memory(session(event("My cat is called Mina")))
    model = ScriptedModel(call("load_memory", query="what is my cat called?"), "Mina.")
    runner: Runner = runner_for(model, tools=[load_memory_tool, PreloadMemoryTool()])
    runner.memory_service = service
    events = await ask(runner, "what is my cat called?")
    assert "My cat is called Mina" in repr([one.response for one in events[1].get_function_responses()])
    assert "My cat is called Mina" in text_of(model.asked[0].contents[0])


@pytest.mark.parametrize("how", ["yaml", "python"])
async def test_adks_commands_find_lamina_by_its_address(
    how: str, tmp_path: Path, sqlite_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = ServiceRegistry()
    monkeypatch.setattr("google.adk.cli.service_registry._service_registry_instance", registry)
    agents = tmp_path / "agents"
    agents.mkdir()
    if how == "yaml":
        (agents / "services.yaml").write_text(
            "services:\n- scheme: lamina\n  type: memory\n  class: lamina.integrations.adk.LaminaMemoryService\n"
        )
        monkeypatch.syspath_prepend(str(agents))
        load_services_module(str(agents))
    else:
        register_memory_service()
    path = sqlite_store_url.removeprefix("sqlite:///")
    service = create_memory_service_from_options(base_dir=agents, memory_service_uri=f"lamina://{path}")
    assert isinstance(service, LaminaMemoryService)
    await service.add_session_to_memory(session(event("My cat is called Mina")))
    assert await found(service, "my cat?") == ["My cat is called Mina"]
    await service.close()


async def test_an_address_without_a_path_leaves_the_store_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lamina.toml").write_text('[database]\nurl = "mine.db"\n')
    service = LaminaMemoryService(uri="lamina://")
    assert await found(service, "my cat?") == []
    assert (tmp_path / "mine.db").exists()
    await service.close()
