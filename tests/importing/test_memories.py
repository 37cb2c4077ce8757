"""Memories of mem0 and of LangGraph's stores."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.errors import InvalidInputError
from lamina.importing.pickled import Thing, read_pickled
from lamina.importing.service import Origin, import_from
from lamina.importing.types import Report
from lamina.integrations.langgraph import LaminaStore
from lamina.memory.types import Identifiers
from tests.importing.foreign import write_history, write_langgraph, write_qdrant
from tests.stores import app_on

pytestmark = pytest.mark.anyio

POINTS: dict[str, dict[str, Any]] = {
    "11111111-1111-4111-8111-111111111111": {
        "data": "Ann rows every morning",
        "hash": "a1",
        "created_at": "2026-02-01T06:00:00-08:00",
        "user_id": "ann",
        "mood": "cheerful",
    },
    "22222222-2222-4222-8222-222222222222": {"data": "Wants short answers", "user_id": "ann", "agent_id": "coach"},
    "33333333-3333-4333-8333-333333333333": {"data": "Asked about boats", "user_id": "ann", "run_id": "run-1"},
    "44444444-4444-4444-8444-444444444444": {"data": "Nobody knows whose this is"},
    "55555555-5555-4555-8555-555555555555": {"title": "of another program"},
}


async def taken(app: App, origin: str, path: Path | str, *, dry_run: bool = False, **whose: str) -> Report:
    return await import_from(app, Origin(origin), Path(path), whose=Identifiers(**whose), dry_run=dry_run)


@pytest.mark.parametrize("protocol", [2, 4, 5])
async def test_the_memories_of_a_folder_of_qdrant_go_to_their_layers(
    sqlite_store_url: str, tmp_path: Path, protocol: int
) -> None:
    write_qdrant(tmp_path / "mem0", POINTS, protocol=protocol)
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "mem0", tmp_path / "mem0")
        assert (report.memories, report.known) == (3, 0)
        assert {one["why"]: one["count"] for one in report.left_out} == {
            "it does not say which user it belongs to; name one with --user": 1,
            "the point is not one of mem0's memories": 1,
        }
        (rows,) = (await app.memory.list(layer="user", user_id="ann")).memories
        assert rows.content == "Ann rows every morning"
        assert rows.metadata == {"mood": "cheerful"}
        assert rows.created_at.isoformat() == "2026-02-01T14:00:00+00:00"
        assert (await app.memory.list(layer="agent", user_id="ann", agent_id="coach")).total_count == 1
        assert (await app.memory.list(layer="session", user_id="ann", session_id="run-1")).total_count == 1
        again = await taken(app, "mem0", tmp_path / "mem0")
        assert (again.memories, again.known) == (0, 3)


async def test_a_history_gives_memories_their_earlier_texts(sqlite_store_url: str, tmp_path: Path) -> None:
    write_history(
        tmp_path / "history.db",
        [
            ("m1", None, "Lives in Berlin", "ADD", "2026-01-01T08:00:00+00:00", 0),
            ("m1", "Lives in Berlin", "Lives in Lisbon", "UPDATE", "2026-02-01T08:00:00+00:00", 0),
            ("m2", None, "Likes tea", "ADD", "2026-01-01T08:00:00+00:00", 0),
            ("m2", "Likes tea", None, "DELETE", "2026-01-02T08:00:00+00:00", 1),
        ],
    )
    async with app_on(sqlite_store_url) as app:
        nobody = await taken(app, "mem0", tmp_path / "history.db")
        assert nobody.memories == 0
        report = await taken(app, "mem0", tmp_path / "history.db", user_id="ann")
        assert (report.memories, report.left_out[0]["why"]) == (1, "it was deleted in mem0")
        states = await app.memory.history("mem0-m1", user_id="ann")
        assert [state.content for state in states] == ["Lives in Berlin", "Lives in Lisbon"]


async def test_an_export_in_json_is_read_in_each_of_its_forms(sqlite_store_url: str, tmp_path: Path) -> None:
    items = [{"id": f"m{number}", "memory": f"Fact {number}", "user_id": "ann"} for number in range(3)]
    (tmp_path / "a.json").write_text(json.dumps({"results": items[:1]}))
    (tmp_path / "b.json").write_text(json.dumps(items[:2], indent=2))
    (tmp_path / "c.json").write_text("\n".join(map(json.dumps, items)))
    async with app_on(sqlite_store_url) as app:
        assert (await taken(app, "mem0", tmp_path / "c.json", dry_run=True)).memories == 3
        stored = [(await taken(app, "mem0", tmp_path / name)).memories for name in ("a.json", "b.json", "c.json")]
        assert stored == [1, 1, 1]


async def test_items_of_a_langgraph_store_are_found_by_laminas_store(sqlite_store_url: str, tmp_path: Path) -> None:
    write_langgraph(
        tmp_path / "store.db",
        [("user.ann", "boat", {"text": "Her boat is in Bergen"}), ("notes.2026", "n1", {"a": 1}), ("x", "bad", [1])],
    )
    async with app_on(sqlite_store_url) as app:
        report = await taken(app, "langgraph", tmp_path / "store.db")
        assert (report.memories, report.left_out[0]["count"]) == (2, 1)
        store = LaminaStore(app)
        item = await store.aget(("user", "ann"), "boat")
        assert item is not None
        assert item.value == {"text": "Her boat is in Bergen"}
        assert [one.key for one in await store.asearch(("notes",))] == ["n1"]
        assert (await app.memory.search("Where is the boat?", user_id="ann"))[0].content == "Her boat is in Bergen"
        assert (await taken(app, "langgraph", tmp_path / "store.db")).known == 2


async def test_a_layout_says_whose_a_namespace_is(sqlite_store_url: str, tmp_path: Path) -> None:
    write_langgraph(tmp_path / "store.db", [("memories.ann", "k", {"text": "Rows every morning"})])
    layouts = [("memories", "{user_id}")]
    async with app_on(sqlite_store_url) as app:
        await import_from(app, Origin.LANGGRAPH, tmp_path / "store.db", whose=Identifiers(), layouts=layouts)
        assert (await app.memory.list(layer="user", user_id="ann")).total_count == 1
        assert await LaminaStore(app, layouts=layouts).aget(("memories", "ann"), "k") is not None
        with pytest.raises(InvalidInputError, match="Only LangGraph"):
            await import_from(app, Origin.ADK, tmp_path / "store.db", whose=Identifiers(), layouts=layouts)


async def test_a_langgraph_store_on_postgresql_is_read_by_its_address(
    sqlite_store_url: str, fresh_postgres_url: str
) -> None:
    engine = sa.create_engine(fresh_postgres_url)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE store (prefix text, key text, value jsonb, created_at timestamptz default now(),"
                " updated_at timestamptz default now(), expires_at timestamptz, ttl_minutes int)"
            )
        )
        connection.execute(
            sa.text("INSERT INTO store (prefix, key, value) VALUES ('user.bo', 'k', '{\"text\": \"Sails\"}')")
        )
    engine.dispose()
    async with app_on(sqlite_store_url) as app:
        address = fresh_postgres_url.replace("postgresql+psycopg", "postgresql")
        assert (await taken(app, "langgraph", address)).memories == 1
        assert (await app.memory.list(layer="user", user_id="bo")).memories[0].content == "Sails"
        with pytest.raises(InvalidInputError, match="cannot be read"):
            await taken(app, "langgraph", "postgresql://nobody@127.0.0.1:1/nothing")


class _Boom:
    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, ("print('run')",))


def test_nothing_in_a_pickle_is_looked_up_or_run(capsys: pytest.CaptureFixture[str]) -> None:
    import pickle

    found = read_pickled(pickle.dumps({"evil": _Boom(), "kept": [1, 2.5, "x", None, (True,)]}))
    assert isinstance(found["evil"], Thing)
    assert found["evil"].name == "builtins.eval"
    assert found["kept"] == [1, 2.5, "x", None, (True,)]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("raw", [b"", b"\x80", b"\x80\x04.", b"e.", b"\x80\x04]\x94(K\x01", b"cos\nsystem\n(S'x'\ntR"])
def test_a_damaged_pickle_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInputError, match="pickled entry"):
        read_pickled(raw)


async def test_files_that_are_something_else_are_refused(sqlite_store_url: str, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "cut.json").write_text('[{"id": "m1", "memory": "Kept", "user_id": "ann"}, {"id": "m2", "mem')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "latin.json").write_bytes(b'[{"memory": "caf\xe9"}]')
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE other (x)")
    (tmp_path / "damaged.db").write_bytes((tmp_path / "other.db").read_bytes()[:100] + b"\0" * 5000)
    async with app_on(sqlite_store_url) as app:
        for name in ("text.json", "cut.json", "deep.json", "latin.json", "other.db", "damaged.db"):
            for origin in ("mem0", "langgraph"):
                with pytest.raises(InvalidInputError, match=name.replace(".", r"\.")):
                    await taken(app, origin, tmp_path / name)
