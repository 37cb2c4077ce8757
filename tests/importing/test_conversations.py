"""Conversations of ChatGPT, Claude and ADK."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory._sqlite_memory_service import SqliteMemoryService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from lamina.app import App
from lamina.cli.files import Foreign
from lamina.errors import InvalidInputError
from lamina.importing.service import Origin, import_from
from lamina.importing.types import Report
from lamina.integrations.adk_memory import LaminaMemoryService
from lamina.memory.types import Identifiers
from tests.cli.terminal import Terminal
from tests.importing.foreign import chatgpt_node
from tests.stores import app_on

pytestmark = pytest.mark.anyio


async def taken(app: App, origin: str, path: Path, **whose: str) -> Report:
    return await import_from(app, Origin(origin), path, whose=Identifiers(**whose))


def chatgpt() -> dict[str, Any]:
    """A conversation whose question was edited, with a tool in it."""
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": []},
        chatgpt_node("hidden", "root", "system", "Be nice.", metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt_node("q0", "hidden", "user", "Where is my baot?"),
        chatgpt_node("q1", "hidden", "user", "Where is my boat?", at=1_700_000_001.0),
        chatgpt_node("call", "q1", "assistant", "find('boat')", recipient="python"),
        chatgpt_node("result", "call", "tool", "Bergen", name="python"),
        chatgpt_node("a1", "result", "assistant", "It is in Bergen."),
    ]
    return {
        "title": "Boats",
        "conversation_id": "c1",
        "current_node": "a1",
        "mapping": {one["id"]: one for one in nodes},
    }


def claude() -> dict[str, Any]:
    """A conversation with a tool and a file."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "boat"}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "search", "content": [{"type": "text", "text": "Bergen"}]},
        {"type": "text", "text": "In Bergen."},
    ]
    return {
        "uuid": "k1",
        "name": "Boats",
        "chat_messages": [
            {
                "uuid": "h1",
                "sender": "human",
                "text": "Where is my boat?",
                "content": [],
                "created_at": "2026-01-01T08:00:00Z",
                "attachments": [{"file_name": "map.pdf", "file_type": "application/pdf", "file_size": 10}],
            },
            {"uuid": "r1", "sender": "assistant", "text": "", "content": blocks, "created_at": "2026-01-01T08:01:00Z"},
            {"uuid": "e1", "sender": "human", "text": "", "content": []},
        ],
    }


async def test_the_branch_of_chatgpt_that_was_shown_becomes_a_session(sqlite_store_url: str, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt(), {"title": "nothing"}]))
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "openai", path, user_id="ann")
        assert (report.conversations, report.messages) == (1, 4)
        assert {one["why"]: one["count"] for one in report.left_out} == {
            "it is on a branch that was edited away": 1,
            "the message was not shown": 1,
            "it is no conversation with an id and a mapping": 1,
        }
        messages = await app.sessions.messages("chatgpt:c1")
        assert [(one.role.value, one.content) for one in messages] == [
            ("user", "Where is my boat?"),
            ("assistant", ""),
            ("tool", ""),
            ("assistant", "It is in Bergen."),
        ]
        assert messages[2].results[0].call_id == messages[1].calls[0].id
        assert (await app.sessions.get("chatgpt:c1")).user_id == "ann"
        again = await taken(app, "openai", path, user_id="ann")
        assert (again.conversations, again.messages, again.known) == (0, 0, 4)


async def test_a_tree_that_bites_its_tail_or_has_no_end_is_read_to_an_end(
    sqlite_store_url: str, tmp_path: Path
) -> None:
    ring = chatgpt()
    ring["mapping"]["q1"]["parent"] = "a1"
    lost = chatgpt() | {"conversation_id": "c2", "current_node": "nowhere"}
    (tmp_path / "conversations.json").write_text(json.dumps([ring, lost]))
    async with app_on(sqlite_store_url) as app:
        assert (await taken(app, "openai", tmp_path / "conversations.json")).conversations == 2


async def test_an_answer_of_claude_with_a_tool_becomes_call_result_and_text(
    sqlite_store_url: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "claude.zip", "w") as archive:
        archive.writestr("data/conversations.json", json.dumps([claude()]))
        archive.writestr("data/users.json", "[]")
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "anthropic", tmp_path / "claude.zip", user_id="ann")
        assert (report.conversations, report.messages) == (1, 4)
        messages = await app.sessions.messages("claude:k1")
        assert [(one.role.value, one.content) for one in messages] == [
            ("user", "Where is my boat?"),
            ("assistant", "I look."),
            ("tool", ""),
            ("assistant", "In Bergen."),
        ]
        assert messages[2].results[0].content == "Bergen"
        assert (await taken(app, "anthropic", tmp_path / "claude.zip")).known == 4


async def test_an_archive_without_conversations_is_refused(sqlite_store_url: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("users.json", "[]")
    async with app_on(sqlite_store_url) as app:
        with pytest.raises(InvalidInputError, match=r"conversations\*\.json"):
            await taken(app, "anthropic", tmp_path / "empty.zip")


async def test_a_file_larger_than_a_piece_is_read_item_by_item(
    sqlite_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamina.importing.json_files._CHUNK", 7)
    path = tmp_path / "conversations.json"
    path.write_text("\ufeff " + json.dumps([claude(), claude() | {"uuid": "k2"}], indent=1), encoding="utf-8")
    async with app_on(sqlite_store_url) as app:
        assert (await taken(app, "anthropic", path)).messages == 8


def _events() -> list[Event]:
    call = types.FunctionCall(id="f1", name="weather", args={"place": "Bergen"})
    response = types.FunctionResponse(id="f1", name="weather", response={"result": "rain"})
    parts = [("user", types.Part(text="My boat is in Bergen")), ("helper", types.Part(function_call=call))]
    parts += [("helper", types.Part(function_response=response)), ("helper", types.Part(text="It rains there."))]
    return [
        Event(id=f"e{number}", author=author, content=types.Content(role="user", parts=[part]), timestamp=1e9 + number)
        for number, (author, part) in enumerate(parts)
    ]


@pytest.mark.parametrize("service", ["database", "sqlite"])
async def test_sessions_of_adk_go_on_under_the_key_of_the_plugin(
    sqlite_store_url: str, tmp_path: Path, service: str
) -> None:
    path = tmp_path / "adk.db"
    sessions: Any = (
        DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
        if service == "database"
        else SqliteSessionService(str(path))
    )
    session = await sessions.create_session(app_name="helper", user_id="ann", session_id="s1")
    for event in _events():
        await sessions.append_event(session, event)
    if service == "database":
        await sessions.db_engine.dispose()
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "adk", path)
        assert (report.conversations, report.messages, report.left_out) == (1, 4, [])
        messages = await app.sessions.messages("helper:ann:s1")
        assert [one.role.value for one in messages] == ["user", "assistant", "tool", "assistant"]
        assert messages[0].at.timestamp() == 1e9
        assert (await app.sessions.get("helper:ann:s1")).user_id == "ann"
        assert (await taken(app, "adk", path)).known == 4


async def test_the_oldest_form_of_adk_is_read_without_its_pickles(sqlite_store_url: str, tmp_path: Path) -> None:
    content = json.dumps({"role": "user", "parts": [{"text": "My boat is in Bergen"}]})
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, author TEXT, actions BLOB,"
            " timestamp DATETIME, content TEXT)"
        )
        for id, told in (("e1", content), ("e2", "[]"), ("e3", None)):
            row = (id, "helper", "ann", "s1", "user", b"cos\nsystem\n(S'true'\ntR.", "2026-01-01 08:00:00.5", told)
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "adk", tmp_path / "old.db")
        assert (report.messages, [one["count"] for one in report.left_out]) == (1, [2])
        (message,) = await app.sessions.messages("helper:ann:s1")
        assert (message.content, message.at.isoformat()) == ("My boat is in Bergen", "2026-01-01T08:00:00.500000+00:00")


async def test_memories_of_adk_are_those_of_laminas_memory_service(sqlite_store_url: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    theirs = SqliteMemoryService(db_path=path)
    await theirs.add_events_to_memory(app_name="helper", user_id="ann", events=_events(), session_id="s1")
    await theirs.close()
    async with app_on(sqlite_store_url) as app:
        assert (await taken(app, "adk", path)).memories == 2
        ours = LaminaMemoryService(app)
        await ours.add_events_to_memory(app_name="helper", user_id="ann", events=_events(), session_id="s1")
        assert (await app.memory.list(layer="agent", agent_id="helper", user_id="ann")).total_count == 2
        found = await ours.search_memory(app_name="helper", user_id="ann", query="Where is the boat?")
        assert found.memories


def test_the_command_says_what_it_took_and_what_not(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps([chatgpt(), {"title": "Empty"}, {"a": 1}]))
    words = ("import", "--from", "openai", "conversations.json", "--user", "ann")
    dry = terminal.ok(*words, "--dry-run")
    assert "would be taken" in dry.out
    assert not (tmp_path / "lamina.db").exists()
    shown = terminal.ok(*words)
    assert "1 conversation, 4 messages" in shown.out
    assert "edited away" in shown.out
    assert "it is no conversation with an id and a mapping  (Empty)" in " ".join(shown.out.split("\n"))
    assert 'lamina session recall "some words" --user ann' in shown.err
    assert terminal.ok(*words, "--json").document["known"] == 4
    assert terminal.run("import", "--from", "mem0", "nowhere", "--json").error["code"] == "INVALID_INPUT"
    assert terminal.run("import", "memories.jsonl", "--dry-run", "--json").error["code"] == "INVALID_INPUT"


def test_the_command_knows_every_origin() -> None:
    assert [one.value for one in Foreign] == [one.value for one in Origin]
