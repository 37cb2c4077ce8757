"""No statement of a conversation looks at more than it needs: what a turn costs must not grow with the store."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.config import Settings
from lamina.database.link import Cursor, Link, Prepared
from lamina.database.settings import DatabaseSettings
from lamina.observation.settings import ObservationSettings

pytestmark = pytest.mark.anyio

KEY = "cli:1:plans"
GROWING = ("message", "note", "note_entry", "index_entry", "index_vector")
Statements = dict[str, Any]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    """Every statement that is run, with values of one of its runs."""
    seen: Statements = {}
    run, run_many = Link.run, Link.run_many

    def running(link: Link, statement: Prepared, params: Mapping[str, Any]) -> Cursor:
        text, fixed = statement.compiled(link.dialect)
        seen[text] = {**fixed, **params}
        return run(link, statement, params)

    def running_many(link: Link, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> int:
        text, fixed = statement.compiled(link.dialect)
        seen.update({text: {**fixed, **rows[0]}} if rows else {})
        return run_many(link, statement, rows)

    def hear(_c: object, _u: object, text: str, params: Any, _x: object, many: bool) -> None:
        seen[text] = params[0] if many else params

    monkeypatch.setattr(Link, "run", running)
    monkeypatch.setattr(Link, "run_many", running_many)
    sa.event.listen(sa.Engine, "before_cursor_execute", hear)
    yield seen
    sa.event.remove(sa.Engine, "before_cursor_execute", hear)


async def _live(app: App) -> None:
    """Everything that happens to a conversation, from its first message to its deletion."""
    said, noted = app.sessions, app.observation
    for number in range(40):
        role = "assistant" if number % 2 else "user"
        await said.append(
            role=role,
            content=f"The harbour of town {number} has a market and {number} boats.",
            id=f"m{number}",
            session_key=KEY,
        )
        await noted.drain()
    notes = await noted.notes(KEY)
    assert any(note.generation for note in notes)
    await said.messages(KEY)
    await said.recent(KEY, budget_tokens=100)
    assert (await said.recall("harbour", session_key=KEY)).hits
    await said.recall("harbour", session_key=KEY, archived=True)
    await said.recall("harbour", session_key=KEY, first=2, last=9)
    assert (await said.recall(session_key=KEY, note=notes[0].id)).hits
    await app.context.assemble("", query="harbour", session_key=KEY)
    await noted.timeline(KEY)
    await noted.status(KEY)
    await said.compact_messages(KEY, up_to=0, summary="before")
    await noted.delete_observations(KEY)
    await said.delete(KEY)


async def test_every_statement_finds_its_rows_by_session_note_or_number(tmp_path: Path, statements: Statements) -> None:
    url = str(tmp_path / "plans.db")
    observed = ObservationSettings(
        enabled=True, message_token_threshold=40, observation_token_threshold=60, retained_tail_tokens=0
    )
    async with App(Settings(database=DatabaseSettings(url=url), observational_memory=observed)) as app:
        statements.clear()
        await _live(app)
    asked = {text: params for text, params in statements.items() if re.match(r"\s*(SELECT|UPDATE|DELETE)", text)}
    assert len(asked) > 30
    with closing(sqlite3.connect(url)) as connection:
        steps = {
            (text, row[3])
            for text, params in asked.items()
            for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", params)
        }
    tables = "|".join(GROWING)
    wide = re.compile(rf"SCAN ({tables})\b|SEARCH ({tables}) .*\((tenant|model_id)=\?\)$")
    assert [step for step in steps if wide.match(step[1])] == []
    whole = [step for step in steps if re.match(r"SEARCH message .*\(tenant=\? AND session_row=\?\)$", step[1])]
    assert {step[0].split()[0] for step in whole} <= {"DELETE"}  # of the session itself
