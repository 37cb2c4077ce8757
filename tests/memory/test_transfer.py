"""Export and import, on both engines: nothing is lost, nothing half stored."""

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lamina
from lamina.errors import ContentTooLongError, InvalidInputError
from lamina.kernel.clock import ManualClock
from lamina.memory.transfer import BATCH, Transfer
from lamina.memory.types import Identifiers, JsonValue, MemoryLayer, NewMemory, Source

pytestmark = pytest.mark.anyio

RUNS = itertools.count()
START = datetime(2025, 1, 1, tzinfo=UTC)


def transfer(app: lamina.App, clock: ManualClock, tenant: str = "default") -> Transfer:
    return Transfer(
        database=app.parts.database,
        provider=app.parts.provider,
        settings=app.settings.memory,
        clock=clock,
        tenant=tenant,
    )


async def exported(app: lamina.App, clock: ManualClock, tenant: str = "default") -> list[bytes]:
    return [line async for line in transfer(app, clock, tenant).export_lines()]


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[lamina.App]:
    async with lamina.open(store_url, clock=clock) as opened:
        yield opened


storable = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
words = storable.filter(lambda text: bool(text.strip()))
names = st.text("abc é語-_.:{}'\"", min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
moments = st.integers(0, 10**9 * 10**6).map(lambda micros: START + timedelta(microseconds=micros))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable
)
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(storable, inner, max_size=3), max_leaves=6
)
sources = st.builds(
    Source,
    kind=st.sampled_from(["conversation", "tool_result", "manual", "import"]),
    conversation=st.none() | names,
    sequence=st.none() | st.integers(0, 2**53),
    author=st.none() | names,
    said_at=st.none() | moments,
    reference=st.none() | words,
)


@st.composite
def memories(draw: st.DrawFn) -> NewMemory:
    layer = draw(st.sampled_from(MemoryLayer))
    return NewMemory(
        content=draw(words),
        layer=layer,
        identifiers=Identifiers(**{name: draw(names) for name in layer.required}),
        metadata=draw(st.dictionaries(storable, values, max_size=3)),
        tags=draw(st.lists(words, max_size=3)),
        source=draw(st.none() | sources),
        expires_at=draw(st.none() | moments.map(lambda moment: moment + timedelta(days=1))),
    )


@pytest.mark.anyio
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new=st.lists(memories(), max_size=8), changed=words)
async def test_what_was_exported_and_imported_is_exported_again_byte_for_byte(
    app: lamina.App, clock: ManualClock, new: Sequence[NewMemory], changed: str
) -> None:
    # Two tenants of one store are as far apart as two stores, and a store for each example would take minutes.
    source, target = (f"{way}-{next(RUNS)}" for way in ("from", "to"))
    here = app.memory.for_tenant(source)
    added = await here.bulk_add(new)
    for memory, result in list(zip(new, added, strict=True))[::3]:
        clock.advance(0.000_001)
        who = memory.identifiers.to_dict()
        await here.update(result.id, content=changed, tags=["changed"], **who)  # type: ignore[arg-type]
        await here.update(result.id, metadata={"again": 1.5}, expires_at=None, **who)
    await app.hierarchy.set(tenant=source, project_id="web", team_id="ui", org_id="labs")
    lines = await exported(app, clock, source)
    report = await transfer(app, clock, target).import_lines(lines)
    assert (report.stored, report.skipped, report.expected) == (len(new), 0, len(new))
    assert await exported(app, clock, target) == lines
    for memory, result in zip(new, added, strict=True):
        who = memory.identifiers.to_dict()
        there = app.memory.for_tenant(target)
        assert await there.get(result.id, **who) == await here.get(result.id, **who)
        assert await there.history(result.id, **who) == await here.history(result.id, **who)


async def test_an_export_of_one_engine_imports_into_the_other(
    sqlite_url: str, fresh_postgres_url: str, clock: ManualClock
) -> None:
    metadata: dict[str, JsonValue] = {"z": 1e22, "a": {"y": 1.0, "b": [1, 2.5, None]}, "longer": True}
    async with (
        lamina.open(sqlite_url, clock=clock) as embedded,
        lamina.open(fresh_postgres_url, clock=clock) as server,
    ):
        for number in range(3):
            await embedded.memory.add(f"fact {number}", user_id=f"u{2 - number}", metadata=metadata)
        lines = await exported(embedded, clock)
        await transfer(server, clock).import_lines(lines)
        assert await exported(server, clock) == lines


async def test_what_was_imported_is_found_by_search(app: lamina.App, clock: ManualClock) -> None:
    line = {"content": "Prefers dark mode", "identifiers": {"user_id": "u1"}}
    await transfer(app, clock).import_lines([json.dumps(line).encode()])
    assert [hit.content for hit in await app.memory.search("dark mode", user_id="u1")] == ["Prefers dark mode"]


async def test_importing_twice_stores_once(app: lamina.App, clock: ManualClock) -> None:
    lines = [
        b'{"content":"a","identifiers":{"user_id":"u"}}\n',
        b"\n",
        b'{"content":"b","identifiers":{"user_id":"u"}}',
    ]
    first = await transfer(app, clock).import_lines(lines)
    second = await transfer(app, clock).import_lines(lines)
    assert (first.stored, second.stored, second.skipped) == (2, 0, 2)
    assert (await app.memory.list(user_id="u")).total_count == 2


async def test_replacing_takes_the_line_for_what_is_there(app: lamina.App, clock: ManualClock) -> None:
    old = await app.memory.add("the old text", user_id="u")
    line = json.dumps({"id": old.id, "content": "another story", "identifiers": {"user_id": "v"}}).encode()
    report = await transfer(app, clock).import_lines([line], on_conflict="replace")
    assert (report.stored, report.replaced) == (0, 1)
    assert await app.memory.get(old.id, user_id="u") is None
    assert len(await app.memory.search("the old text", user_id="u", threshold=0)) == 0
    assert [hit.id for hit in await app.memory.search("another story", user_id="v")] == [old.id]


async def test_a_conflict_can_be_an_error_that_names_the_line(app: lamina.App, clock: ManualClock) -> None:
    old = await app.memory.add("text", user_id="u")
    lines = [
        json.dumps({"id": id, "content": "new", "identifiers": {"user_id": "u"}}).encode() for id in ("fresh", old.id)
    ]
    with pytest.raises(InvalidInputError, match="Line 2") as refused:
        await transfer(app, clock).import_lines(lines, on_conflict="error")
    assert refused.value.details["line"] == 2
    assert await app.memory.get("fresh", user_id="u") is None


async def test_the_same_id_twice_in_a_file_meets_itself(app: lamina.App, clock: ManualClock) -> None:
    lines = [json.dumps({"id": "x", "content": text, "identifiers": {"user_id": "u"}}).encode() for text in "ab"]
    report = await transfer(app, clock).import_lines(lines)
    assert (report.stored, report.skipped) == (1, 1)
    report = await transfer(app, clock).import_lines(lines, on_conflict="replace")
    assert report.replaced == 2
    found = await app.memory.get("x", user_id="u")
    assert found is not None
    assert found.content == "b"


async def test_a_bad_line_stores_nothing_of_its_batch_and_keeps_the_batches_before(
    app: lamina.App, clock: ManualClock
) -> None:
    lines = [f'{{"content":"fact {n}","identifiers":{{"user_id":"u"}}}}'.encode() for n in range(BATCH + 3)]
    lines.append(b'{"content":"","identifiers":{"user_id":"u"}}')
    with pytest.raises(InvalidInputError, match=f"Line {BATCH + 4}: The content is empty") as refused:
        await transfer(app, clock).import_lines(lines)
    assert refused.value.details["done"] == BATCH
    assert (await app.memory.list(user_id="u")).total_count == BATCH
    report = await transfer(app, clock).import_lines(lines[:-1])
    assert (report.stored, report.skipped) == (3, BATCH)


async def test_progress_counts_to_what_the_header_announced(app: lamina.App, clock: ManualClock) -> None:
    for number in range(3):
        await app.memory.add(f"fact {number}", user_id="u")
    out: list[tuple[int, int | None]] = []
    lines = [line async for line in transfer(app, clock).export_lines(lambda *step: out.append(step))]
    into: list[tuple[int, int | None]] = []
    await transfer(app, clock, "other").import_lines(lines, progress=lambda *step: into.append(step))
    assert out[-1] == into[-1] == (3, 3)


async def test_expired_memories_are_neither_exported_nor_imported(app: lamina.App, clock: ManualClock) -> None:
    await app.memory.add("gone soon", user_id="u", expires_at=clock.now() + timedelta(hours=1))
    lines = await exported(app, clock)
    assert len(lines) == 2
    clock.advance(3601)
    report = await transfer(app, clock, "other").import_lines(lines)
    assert (report.stored, report.expired) == (0, 1)
    assert len(await exported(app, clock)) == 1


async def test_an_import_never_touches_another_tenant(app: lamina.App, clock: ManualClock) -> None:
    mine = await app.memory.add("mine", user_id="u")
    line = json.dumps({"id": mine.id, "content": "theirs", "identifiers": {"user_id": "u"}}).encode()
    report = await transfer(app, clock, "other").import_lines([line], on_conflict="replace")
    assert (report.stored, report.replaced) == (1, 0)
    kept = await app.memory.get(mine.id, user_id="u")
    assert kept is not None
    assert kept.content == "mine"


async def test_the_hierarchy_travels_and_conflicts_like_memories(app: lamina.App, clock: ManualClock) -> None:
    await app.hierarchy.set(tenant="default", project_id="web", team_id="ui")
    lines = await exported(app, clock)
    await app.hierarchy.set(tenant="other", project_id="web", team_id="backend")
    other = transfer(app, clock, "other")
    with pytest.raises(InvalidInputError, match="project web"):
        await other.import_lines(lines, on_conflict="error")
    await other.import_lines(lines)
    assert (await app.hierarchy.all(tenant="other"))[0]["parent_id"] == "backend"
    await other.import_lines(lines, on_conflict="replace")
    assert (await app.hierarchy.all(tenant="other"))[0]["parent_id"] == "ui"


BAD = [
    b"not json",
    b"[1]",
    b"\xff\xfe",
    b'{"lamina_export":2}',
    b'{"content":"x","identifiers":{"user_id":"u"},"metadata":{"a":NaN}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"metadata":[]}',
    b'{"content":"x","identifiers":{"user_id":"u"},"colour":"red"}',
    b'{"content":"x","identifiers":{"user":"u"}}',
    b'{"content":"x","identifiers":{}}',
    b'{"content":"x","identifiers":[]}',
    b'{"content":"x","layer":"planet","identifiers":{"user_id":"u"}}',
    b'{"content":"x","layer":7,"identifiers":{"user_id":"u"}}',
    b'{"content":7,"identifiers":{"user_id":"u"}}',
    b'{"content":"a\\u0000b","identifiers":{"user_id":"u"}}',
    b'{"content":"a\\ud800b","identifiers":{"user_id":"u"}}',
    b'{"id":"","content":"x","identifiers":{"user_id":"u"}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"tags":"ui"}',
    b'{"content":"x","identifiers":{"user_id":"u"},"created_at":"yesterday"}',
    b'{"content":"x","identifiers":{"user_id":"u"},"created_at":"2025-01-01T00:00:00"}',
    b'{"content":"x","identifiers":{"user_id":"u"},"created_at":5}',
    b'{"content":"x","identifiers":{"user_id":"u"},"version":0}',
    b'{"content":"x","identifiers":{"user_id":"u"},"version":true}',
    b'{"content":"x","identifiers":{"user_id":"u"},"source":{"kind":"gossip"}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"source":{"kind":"manual","sequence":"1"}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"source":{"colour":"red"}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"revisions":{}}',
    b'{"content":"x","identifiers":{"user_id":"u"},"revisions":[{"version":1,"content":"y"}]}',
    b'{"content":"x","identifiers":{"user_id":"u"},"revisions":'
    b'[{"version":1,"content":"y","changed_at":"2025-01-01T00:00:00Z"}]}',
    b'{"hierarchy":{"kind":"planet","id":"a","parent_id":"b"}}',
    b'{"hierarchy":{"kind":"team","id":"a"}}',
]


async def test_every_bad_line_is_refused_with_its_number(sqlite_url: str, clock: ManualClock) -> None:
    async with lamina.open(sqlite_url, clock=clock) as app:
        for raw in BAD:
            with pytest.raises(InvalidInputError, match="Line 1: ") as refused:
                await transfer(app, clock).import_lines([raw])
            assert refused.value.details["line"] == 1
        with pytest.raises(ContentTooLongError, match="Line 1: "):
            await transfer(app, clock).import_lines(
                [json.dumps({"content": "x" * 100_001, "identifiers": {"user_id": "u"}}).encode()]
            )
        assert len(await exported(app, clock)) == 1


async def test_a_header_in_the_middle_is_refused(sqlite_url: str, clock: ManualClock) -> None:
    async with lamina.open(sqlite_url, clock=clock) as app:
        with pytest.raises(InvalidInputError, match="Line 2: A header"):
            await transfer(app, clock).import_lines([b'{"lamina_export":1}', b'{"lamina_export":1}'])
