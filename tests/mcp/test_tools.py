"""Every tool, with the SDK's client, over both transports and both eras of the protocol."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import hypothesis
import jsonschema_rs
import pytest
from hypothesis import strategies as st
from mcp import Client

from lamina.app import App, open
from lamina.config import Settings
from lamina.context.types import ContextLayer
from lamina.knowledge.types import Category
from lamina.learning.types import LearningCategory
from lamina.mcp import context, knowledge, learning, memory, skill
from lamina.mcp.connection import Connection
from lamina.mcp.service import TOOLS
from lamina.mcp.stdio import local_connection
from lamina.memory.types import IDENTIFIER_NAMES, MemoryLayer
from lamina.observability.metrics import Metrics
from lamina.skill.types import SkillStatus, SkillType
from tests.mcp.served import called, process, refused, served
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio

NAMES = {
    *(f"memory_{verb}" for verb in ("add", "search", "get", "update", "delete", "list")),
    *("knowledge_save", "knowledge_search", "learning_save", "learning_search"),
    *("skill_create", "skill_run", "skill_list", "session_recall", "context_assemble"),
}


@pytest.fixture(params=["stdio", "http", "http legacy"])
async def client(request: pytest.FixtureRequest, sqlite_store_url: str, tmp_path: Path) -> AsyncIterator[Client]:
    """Ann's connection in the session s1 of the project harbour."""
    async with open(sqlite_store_url, embedder=static_embedder()) as app:
        await _talk(app)
    transport, _, era = str(request.param).partition(" ")
    if transport == "stdio":
        (tmp_path / "lamina.toml").write_text("[knowledge]\nenabled = true\n[skill]\nauto_approve = true\n")
        words = ("--user", "ann", "--project", "harbour", "--session", "s1", "--store", sqlite_store_url)
        async with Client(process(tmp_path, *words)) as connected:
            yield connected
        return
    whose = {"X_Lamina_User": "ann", "X_Lamina_Project": "harbour", "X_Lamina_Session": "s1"}
    async with (
        served(sqlite_store_url, skill={"auto_approve": True}) as house,
        house.client(mode=era or "auto", **whose) as connected,
    ):
        yield connected


async def _talk(app: App) -> None:
    for key, user, text in (("s1", "ann", "I moved to Lisbon in May"), ("s2", "bob", "I moved to Porto in June")):
        await app.sessions.append(role="user", content=text, session_key=key, user_id=user)


async def test_every_tool_does_what_it_says(client: Client) -> None:
    await _remembers(client)
    await _knows(client)
    await _learns(client)
    await _runs_skills(client)
    found = await called(client, "session_recall", query="Where did I move to?")
    assert [(one["session"], one["content"]) for one in found["messages"]] == [("s1", "I moved to Lisbon in May")]
    made = await called(client, "context_assemble", query="When do we deploy?", base="Be kind.")
    assert made["prompt"].startswith("Be kind.")
    assert "We deploy on Mondays" in made["prompt"]
    await _attaches(client)


async def _remembers(client: Client) -> None:
    stored = await called(client, "memory_add", content="Ann drinks green tea", tags=["taste"], metadata={"since": 3})
    assert (stored["layer"], stored["origin"], stored["version"]) == ("user", "agent", 1)
    shared = await called(client, "memory_add", content="The quay has nine berths", layer="project")
    found = await called(client, "memory_search", query="What does Ann drink?", tags=["taste"], where={"since": 3})
    assert [one["id"] for one in found["results"]] == [stored["id"]]
    changed = await called(client, "memory_update", id=stored["id"], content="Ann drinks coffee", tags=["new"])
    assert changed == {**stored, "content": "Ann drinks coffee", "tags": ["new"], "version": 2} | {
        "updated_at": changed["updated_at"]
    }
    assert await called(client, "memory_get", id=stored["id"]) == changed
    listed = await called(client, "memory_list", layer="project")
    assert listed == {"memories": [shared], "total_count": 1}
    for _ in range(2):
        assert await called(client, "memory_delete", id=stored["id"]) == {"id": stored["id"], "deleted": True}
    assert (await refused(client, "memory_get", id=stored["id"]))["code"] == "MEMORY_NOT_FOUND"


async def _knows(client: Client) -> None:
    given = {"key": "deploys", "content": "We deploy on Mondays", "category": "rule"}
    assert (await called(client, "knowledge_save", **given))["outcome"] == "created"
    assert (await called(client, "knowledge_save", **given))["outcome"] == "unchanged"
    found = await called(client, "knowledge_search", query="When do we deploy?")
    assert [(one["key"], one["origin"]) for one in found["results"]] == [("deploys", "agent")]


async def _learns(client: Client) -> None:
    fix = {"fix": "Ask for the right first", "tool": "bash", "error": "permission denied: /srv"}
    assert (await called(client, "learning_save", **fix))["outcome"] == "created"
    found = await called(client, "learning_search", query="permission denied", tool="bash", unsolved=True)
    assert [one["fix"] for one in found["results"]] == ["Ask for the right first"]


async def _runs_skills(client: Client) -> None:
    made = await called(
        client,
        "skill_create",
        name="greeting",
        description="Greets somebody",
        type="template",
        definition={"template": "Ahoy {{ name }}"},
    )
    assert (made["status"], made["parameters"]["required"]) == ("active", ["name"])
    for arguments in ({}, {"query": "greet somebody"}):
        assert [one["name"] for one in (await called(client, "skill_list", **arguments))["skills"]] == ["greeting"]
    ran = await called(client, "skill_run", name="greeting", arguments={"name": "Ann"})
    assert ran == {"name": "greeting", "version": 1, "output": "Ahoy Ann"}
    assert (await refused(client, "skill_run", name="greeting"))["code"] == "INVALID_INPUT"


async def _attaches(client: Client) -> None:
    listed = [one.uri for one in (await client.list_resources()).resources]
    assert listed == ["lamina://sessions/s1", "lamina://sessions/s1/notes"]
    (contents,) = (await client.read_resource(listed[0])).contents
    assert "(user said)" in contents.text  # type: ignore[union-attr]
    assert "I moved to Lisbon in May" in contents.text  # type: ignore[union-attr]
    (prompt,) = (await client.list_prompts()).prompts
    (message,) = (await client.get_prompt(prompt.name, {"query": "When do we deploy?"})).messages
    assert "We deploy on Mondays" in message.content.text  # type: ignore[union-attr]


@pytest.mark.parametrize("client", ["http", "http legacy"], indirect=True)
async def test_many_calls_at_once_are_all_answered(client: Client) -> None:
    stored: list[dict[str, Any]] = []

    async def add(number: int) -> None:
        stored.append(await called(client, "memory_add", content=f"Berth {number} is free"))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(add, number)
    assert (await called(client, "memory_list", limit=1))["total_count"] == 20
    assert len({one["id"] for one in stored}) == 20


@pytest.mark.parametrize("client", ["http", "http legacy"], indirect=True)
async def test_what_does_not_fit_is_refused_and_says_what_to_do(client: Client) -> None:
    for arguments in ({}, {"content": 3}, {"content": "x", "user_id": "bob"}, {"content": "x", "layer": "galaxy"}):
        error = await refused(client, "memory_add", **arguments)
        assert (error["code"], error["retryable"]) == ("INVALID_INPUT", False)
        assert error["next"]
    assert (await refused(client, "memory_add", content="x", layer="agent"))["code"] == "MISSING_IDENTIFIER"
    assert (await refused(client, "memory_add", content="x" * 500_000))["code"] == "CONTENT_TOO_LONG"
    assert (await refused(client, "session_recall", query="Porto", session="s2"))["code"] == "SESSION_NOT_FOUND"
    assert (await refused(client, "memory_update", id="x"))["code"] == "INVALID_INPUT"
    for arguments in ({}, {"note": "nothing"}):
        assert (await refused(client, "session_recall", **arguments))["code"] == "INVALID_INPUT"
    with pytest.raises(Exception, match="There is no tool"):
        await client.call_tool("memory_forget_everything", {})
    for uri in ("lamina://sessions/s2", "lamina://sessions/", "lamina://sessions/s1/all", "file:///etc/passwd"):
        with pytest.raises(Exception, match="There is no"):
            await client.read_resource(uri)
    for name, given in (("context", {}), ("other", {"query": "x"})):
        with pytest.raises(Exception, match="needs a query"):
            await client.get_prompt(name, given)


def test_the_names_that_models_may_say_are_those_of_the_house() -> None:
    for told, known in (
        (memory.Layer, MemoryLayer),
        (knowledge.Category, Category),
        (learning.Category, LearningCategory),
        (skill.Type, SkillType),
        (skill.Status, SkillStatus),
        (context.Layer, ContextLayer),
    ):
        assert told.__args__ == tuple(one.value for one in known)  # type: ignore[attr-defined]


def test_every_tool_has_an_exact_schema_without_identifiers() -> None:
    assert set(TOOLS) == NAMES
    for tool in TOOLS.values():
        described = tool.described
        assert described.input_schema["additionalProperties"] is False
        assert described.output_schema is not None
        assert described.output_schema["type"] == "object"
        assert not {*described.input_schema["properties"]} & {*IDENTIFIER_NAMES, "tenant"}
        assert all("description" in one for one in described.input_schema["properties"].values())
        assert '"title"' not in json.dumps([described.input_schema, described.output_schema])


TEXTS = st.text() | st.sampled_from(["Ann drinks tea", "\x00", "\ud800", "<|im_start|>", "x" * 300])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool and arguments, most of which do not fit."""
    name = draw(st.sampled_from(sorted(NAMES)))
    schema = TOOLS[name].described.input_schema
    fields = {field: TEXTS if field in schema.get("required", ()) else VALUES for field in schema["properties"]}
    required = {field: fields.pop(field) for field in schema.get("required", ())}
    return name, draw(st.fixed_dictionaries(required, optional=fields))


@pytest.fixture(scope="module")
def ann(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, Connection]]:
    """Ann's connection to a store of this module, on a loop of its own."""
    path = tmp_path_factory.mktemp("fuzzed") / "lamina.db"
    shutil.copy(migrated_file, path)
    settings = Settings.model_validate({"database": {"url": str(path)}, "knowledge": {"enabled": True}})
    with asyncio.Runner() as runner:
        app = runner.run(App(settings, embedder=static_embedder(), metrics=Metrics()).start())
        yield runner, local_connection(app, {"user_id": "ann", "session_id": "s1"}, {})
        runner.run(app.close())


@hypothesis.given(call=calls())
def test_whatever_is_called_the_answer_is_what_the_schema_says_or_an_error(
    ann: tuple[asyncio.Runner, Connection], call: tuple[str, dict[str, Any]]
) -> None:
    runner, connection = ann
    settings = Settings.model_validate({"knowledge": {"enabled": True}})
    answered = runner.run(TOOLS[call[0]].call(connection, settings, call[1]))
    document = answered.structured_content
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    if answered.is_error:
        assert {"code", "message", "next"} <= set(document["error"])
    else:
        schema = TOOLS[call[0]].described.output_schema
        assert schema is not None
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(document)


def test_annotations_say_what_changes_what() -> None:
    hints = {name: tool.described.annotations for name, tool in TOOLS.items()}
    changing = {"memory_add", "memory_update", "memory_delete"}
    changing |= {"knowledge_save", "learning_save", "skill_create", "skill_run"}
    assert {name for name, one in hints.items() if one is not None and not one.read_only_hint} == changing
    destructive = {name for name, one in hints.items() if one is not None and one.destructive_hint}
    assert destructive == {"memory_update", "memory_delete", "skill_run"}
    assert all(one is not None and not one.open_world_hint for one in hints.values())
