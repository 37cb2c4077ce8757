"""A whole tenant out of a store and into another: nothing is lost, nothing comes twice, nobody else is touched."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamina.app import App
from lamina.errors import InvalidInputError
from lamina.graph.types import Reach
from lamina.house.transfer import TenantTransfer
from lamina.session.types import NewMessage, Role
from lamina.transfer.port import Batch, Outcome
from tests.house.story import exported, of_kind, opened, plain, transfer

pytestmark = pytest.mark.anyio

SESSION = "slack:tidewater:mara"
MOMENT = "2026-05-01T12:00:00.000000Z"


async def answers(app: App) -> dict[str, Any]:
    """What the verbs say of everything that an export carries."""
    sessions = (await app.sessions.list(limit=1000)).sessions
    known = (await app.knowledge.list(limit=100)).entries
    skills = (await app.skills.list(limit=100)).skills
    reach = Reach.of(session_key=SESSION)
    return {
        "hierarchy": await app.hierarchy.all(),
        "memories": await app.memory.list(user_id="mara", project_id="tidewater", limit=100),
        "remembered": await app.memory.search("short answers", user_id="mara"),
        "knowledge": (known, [await app.knowledge.history(one.key) for one in known]),
        # Without the scores: age counts in them, and it grows between two questions.
        "known": [hit.entry for hit in await app.knowledge.search("retries of the tide service", limit=5)],
        "references": (await app.references.list(limit=100), await app.references.search("tide predictions")),
        "learnings": (await app.learning.list(limit=100), await app.learning.statistics()),
        "learned": await app.learning.search("migration lock"),
        "skills": (skills, [await app.skills.history(one.name) for one in skills]),
        "skilled": await app.skills.search("notice for the quay"),
        "sessions": sessions,
        "messages": [await app.sessions.messages(one.key, limit=1000) for one in sessions],
        "recalled": await app.sessions.recall("deploy on Friday", session_key=SESSION, archived=True),
        "timelines": [await app.observation.timeline(one.key) for one in sessions],
        "statuses": [await app.observation.status(one.key) for one in sessions],
        "quarantine": await app.context.quarantine.list(state=None),
        "neighbours": {(one.name, one.triple.predicate) for one in await app.graph.neighbours("Tidewater", limit=100)},
        "entity": await app.graph.entity("Jonas", reach=reach),
    }


async def test_the_story_comes_back_from_a_journey_over_both_engines(
    told: Path, story: list[bytes], fresh_postgres_url: str, tmp_path: Path
) -> None:
    async with opened(fresh_postgres_url) as server:
        report = await transfer(server).import_lines(story)
        assert (report.stored, report.skipped, report.expected) == (report.done, 0, report.done)
        there = await exported(server)
        assert plain(there) == plain(story)
        again = await transfer(server).import_lines(story)
        assert (again.stored, again.replaced, again.skipped) == (0, 0, report.stored)
        assert await exported(server) == there
    async with opened(told) as first, opened(tmp_path / "back.db") as last:
        await transfer(last).import_lines(there)
        assert plain(await exported(last)) == plain(story)
        await last.graph.backfill()
        before, after = await answers(first), await answers(last)
        for name, said in before.items():
            assert after[name] == said, name
        rows = (await last.audit.list(action="tenant_import")).rows
        assert [row.details["stored"] for row in rows] == [report.stored]


async def test_what_was_observed_is_not_observed_again(story: list[bytes], tmp_path: Path) -> None:
    async with opened(tmp_path / "other.db") as app:
        await transfer(app).import_lines(story)
        await app.observation.observe_now()
        assert of_kind(await exported(app), "notes") == of_kind(story, "notes")


async def test_another_tenant_gets_all_of_it_and_the_first_one_stays_as_it_is(
    story: list[bytes], store_url: str
) -> None:
    async with opened(store_url) as app:
        await transfer(app).import_lines(story)
        here = await exported(app)
        for conflict in ("skip", "replace"):
            await transfer(app, "other").import_lines(story, on_conflict=conflict)
            assert plain(await exported(app, "other")) == plain(story)
            assert await exported(app) == here
        with pytest.raises(InvalidInputError, match=r"Line \d+: "):
            await transfer(app, "other").import_lines(story, on_conflict="error")
        await transfer(app, "third").import_lines(story, on_conflict="error")


async def test_an_export_is_of_one_moment_whatever_is_written_meanwhile(story: list[bytes], store_url: str) -> None:
    async with opened(store_url) as app:
        await transfer(app).import_lines(story)
        before = await exported(app)
        lines = transfer(app).export_lines()
        seen = [await anext(lines)]
        await app.memory.add("Said while the export runs", user_id="mara")
        await app.knowledge.delete("retry-limit")
        await app.sessions.delete(SESSION)
        await app.sessions.append(role=Role.USER, content="Good evening", session_key="new")
        seen += [line async for line in lines]
        assert seen == before
        assert await exported(app) != before


async def test_an_import_that_was_killed_goes_on_when_it_is_run_again(story: list[bytes], tmp_path: Path) -> None:
    store = tmp_path / "killed.db"
    command = [str(Path(sys.executable).with_name("lamina")), "import", "-", "--store", str(store)]
    half = next(place for place, line in enumerate(story) if line.startswith(b'{"message"')) + 10
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}
    ) as importing:
        assert importing.stdin is not None
        importing.stdin.write(b"".join(story[:half]))
        importing.stdin.flush()
        while not stored_notes(store):
            assert importing.poll() is None
            time.sleep(0.05)
        os.kill(importing.pid, signal.SIGKILL)
    async with opened(store) as app:
        assert plain(await exported(app)) != plain(story)
        await transfer(app).import_lines(story)
        assert plain(await exported(app)) == plain(story)


def stored_notes(store: Path) -> int:
    """Whether the records before the messages are there; a store that is being made has no tables yet."""
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM note").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


async def test_parts_are_exported_by_themselves(told: Path, story: list[bytes]) -> None:
    async with opened(told) as app:
        some = plain(await exported(app, only=["knowledge", "skills"]))
        assert some[0] == {"lamina_export": 2, "records": {"knowledge": 8, "skill": 3}}
        assert some[1:] == [one for one in plain(story) if list(one) in (["knowledge"], ["skill"])]
        with pytest.raises(InvalidInputError, match="choose of memories, knowledge"):
            await exported(app, only=["keys"])


async def test_a_file_of_the_first_form_is_read(tmp_path: Path) -> None:
    lines = [
        b'{"lamina_export":1,"memories":1}',
        b'{"hierarchy":{"kind":"project","id":"web","parent_id":"ui"}}',
        b'{"content":"Prefers dark mode","identifiers":{"user_id":"ann"}}',
    ]
    async with opened(tmp_path / "new.db") as app:
        report = await transfer(app).import_lines(lines)
        assert (report.stored, report.expected, report.kinds) == (1, 1, {"memory": 1})
        with pytest.raises(InvalidInputError, match="Line 1: The export has another form"):
            await transfer(app).import_lines([b'{"lamina_export":3}'])
        with pytest.raises(InvalidInputError, match="Line 2: A header"):
            await transfer(app).import_lines([b'{"lamina_export":2}', b'{"lamina_export":2}'])


async def test_a_conversation_is_continued_only_where_it_is_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as app:
        here, there = app.sessions, app.sessions.for_tenant("other")
        said = [NewMessage(role=Role.USER, content=f"Message {number}") for number in range(4)]
        await here.append_many(said[:2], session_key="same")
        await here.append_many(said[:2], session_key="apart")
        await transfer(app, "other").import_lines(await exported(app))
        await here.append_many(said[2:], session_key="same")
        await here.append_many(said[2:], session_key="apart")
        await here.compact_messages("same", up_to=3, summary="What was said")
        await there.append(role=Role.USER, content="Something else", session_key="apart")
        for conflict in ("skip", "replace"):
            report = await transfer(app, "other").import_lines(await exported(app), on_conflict=conflict)
            assert (report.replaced, report.apart) == (0, 2)
            assert [one.content for one in await there.messages("same")] == [one.content for one in said]
            assert [one.content for one in await there.messages("apart")] == [
                "Message 0",
                "Message 1",
                "Something else",
            ]


async def test_notes_come_only_to_a_session_that_has_nothing_of_its_own(story: list[bytes], tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as app:
        await transfer(app).import_lines(story)
        await app.observation.delete_observations(SESSION)
        kept = await app.observation.notes(SESSION)
        await transfer(app).import_lines(story, on_conflict="replace")
        assert await app.observation.notes(SESSION) == kept


async def test_approval_travels_and_a_script_is_checked_anew(story: list[bytes], tmp_path: Path) -> None:
    good = of_kind(story, "skill")
    assert {one["status"] for one in good} == {"active", "draft"}
    script = {"type": "script", "definition": {"script": "rm -rf /"}, "parameters": {"type": "object"}}
    bad = {**good[0], "name": "wipe", "status": "active", **script, "versions": [{**good[0]["versions"][-1], **script}]}
    async with opened(tmp_path / "one.db") as app:
        await transfer(app).import_lines([*map(line_of("skill"), [*good, bad])])
        stored = {one.name: one.status.value for one in (await app.skills.list()).skills}
        assert stored == {**{one["name"]: one["status"] for one in good}, "wipe": "disabled"}
        with pytest.raises(InvalidInputError):
            await app.skills.approve("wipe")


def line_of(kind: str) -> Any:
    return lambda record: json.dumps({kind: record}).encode()


WRONG: Sequence[object] = (
    None,
    "",
    " ",
    "a\0b",
    "a\ud800b",
    -1,
    2**70,
    1.5,
    True,
    [],
    [None],
    {},
    {"x": [1]},
    "x" * 9999,
)


async def test_a_wrong_field_is_refused_or_does_no_harm(story: list[bytes], tmp_path: Path) -> None:
    first: dict[str, dict[str, Any]] = {}
    for record in plain(story)[1:]:
        if len(record) == 1:
            first.setdefault(next(iter(record)), record)
    hierarchy = first.pop("hierarchy")
    refused = accepted = 0
    async with opened(tmp_path / "one.db") as app:
        carriers = {one.kind: one for room in transfer(app).carriers().values() for one in room}
        assert set(first) == set(carriers)
        for kind, carrier in carriers.items():
            for wrong in [*spoiled(first[kind][kind]), *WRONG]:
                try:
                    carrier.parse(wrong)
                except InvalidInputError:
                    refused += 1
                else:
                    lines = [hierarchy, first["session"], {kind: wrong}]
                    await transfer(app, f"t{accepted}").import_lines([json.dumps(line).encode() for line in lines])
                    assert len(await exported(app, f"t{accepted}")) in (3, 4)
                    accepted += 1
    assert refused > 1500
    assert 50 < accepted < 300


def spoiled(value: Any) -> Iterator[Any]:
    """The value with each field, at any depth, replaced by what it should not be, and with one too many."""
    if isinstance(value, list) and value:
        yield from ([one, *value[1:]] for one in [*spoiled(value[0]), *WRONG])
    if isinstance(value, dict):
        yield {**value, "colour": "red"}
        for name, inner in value.items():
            yield from ({**value, name: one} for one in [*spoiled(inner), *WRONG])


async def test_a_wrong_line_is_named_and_keeps_the_batches_before(story: list[bytes], tmp_path: Path) -> None:
    place = next(place for place, line in enumerate(story) if line.startswith(b'{"skill"'))
    async with opened(tmp_path / "one.db") as app:
        with pytest.raises(InvalidInputError, match=f"Line {place + 1}: There is no field 'colour' in skill") as error:
            await transfer(app).import_lines([*story[:place], b'{"skill":{"colour":"red"}}'])
        assert (error.value.details["line"], error.value.details["done"]) == (place + 1, 29 + 8 + 4 + 6)
        assert (await transfer(app).import_lines(story)).skipped == 29 + 8 + 4 + 6


async def test_lines_that_contradict_each_other_are_refused(story: list[bytes], tmp_path: Path) -> None:
    session = of_kind(story, "session")[0]
    messages = [one for one in of_kind(story, "message") if one["session_key"] == session["key"]][:3]
    begin, said = line_of("session")(session), line_of("message")
    async with opened(tmp_path / "one.db") as app:
        for number, (lines, why) in enumerate(
            [
                ([said(messages[0])], "no line with its session"),
                ([begin, said(messages[1])], "message 1 of its session is missing"),
                ([begin, said(messages[0]), said(messages[2])], "message 2 of its session is missing"),
                ([begin, said(messages[0]), said({**messages[1], "id": messages[0]["id"]})], "id is that of another"),
                ([begin, said({**messages[1], "after": None})], "needs after"),
                ([line_of("notes")(of_kind(story, "notes")[0])], "no line with its session"),
            ]
        ):
            with pytest.raises(InvalidInputError, match=f"Line {len(lines)}: .*{why}"):
                await transfer(app, f"t{number}").import_lines(lines)


class Watched:
    """A carrier that notes how much was put at once."""

    def __init__(self, carrier: Any, sizes: list[tuple[int, int]]) -> None:
        self._carrier = carrier
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._carrier, name)

    def put(self, link: Any, batch: Batch) -> Outcome:
        self._sizes.append((len(batch.items), sum(len(item.text or "") for item in batch.items)))
        outcome: Outcome = self._carrier.put(link, batch)
        return outcome


async def test_an_import_holds_one_batch_however_long_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as app:
        sizes: list[tuple[int, int]] = []
        plainly = transfer(app)
        watched: TenantTransfer = replace(
            plainly,
            carriers=lambda: {part: [Watched(one, sizes) for one in room] for part, room in plainly.carriers().items()},
        )
        session = {"key": "long", "user_id": None, "created_at": MOMENT, "updated_at": MOMENT}
        lines = [line_of("session")(session), *(message(number, "word") for number in range(1, 1101))]
        lines += [message(number, "word " * 210_000) for number in range(1101, 1109)]
        report = await watched.import_lines(lines)
        assert report.kinds == {"session": 1, "message": 1108}
        assert [count for count, _ in sizes] == [1, 500, 500, 104, 4]


def message(number: int, content: str) -> bytes:
    after = f"m{number - 1}" if number > 1 else None
    said = {"session_key": "long", "sequence": number, "kind": "message", "id": f"m{number}", "role": "user"}
    line: bytes = line_of("message")({**said, "content": content, "tokens": 1, "at": MOMENT, "after": after})
    return line
