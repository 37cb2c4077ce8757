"""Triples: added, found, ended, removed, under any spelling; on both engines."""

from datetime import UTC, datetime, timedelta

import pytest

from lamina.errors import InvalidInputError
from lamina.graph.types import Direction, Predicate, Reach, Source, session_scope
from lamina.kernel.clock import ManualClock
from tests.graph.opening import graph_app, said

pytestmark = pytest.mark.anyio

Y2020, Y2022, Y2024 = (datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2022, 2024))


@pytest.mark.requirement("knowledge.graph.triples")
async def test_a_triple_has_time_and_source_and_is_found_from_both_ends(store_url: str) -> None:
    clock = ManualClock()
    async with graph_app(store_url, clock=clock) as app:
        source = Source(kind="import", key="org chart", session_key="telegram:1:2")
        added = await app.graph.add("Ann", "works_at", "Acme Corp", source=source, valid_from=Y2020, valid_until=Y2024)
        assert (await app.graph.find(subject="ANN")) == (added,)
        assert (await app.graph.find(object="acme corp.")) == (added,)
        assert (await app.graph.find(predicate="works_at")) == (added,)
        assert (await app.graph.find(source=("import", "org chart"))) == (added,)
        assert await app.graph.find(subject="Ann", predicate=Predicate.OWNS) == ()
        assert (added.source, added.recorded_at, added.valid_from) == (source, clock.now(), Y2020)
        (out,) = await app.graph.neighbours("Ann", direction="out")
        assert (out.name, out.direction) == ("Acme Corp", Direction.OUT)
        (back,) = await app.graph.neighbours("acme corp", direction="in")
        assert (back.name, back.direction) == ("Ann", Direction.IN)
        assert await app.graph.neighbours("Ann", direction="in") == ()


@pytest.mark.requirement("knowledge.graph.triples")
async def test_the_set_of_relations_is_closed(store_url: str) -> None:
    async with graph_app(store_url) as app:
        with pytest.raises(InvalidInputError, match="works_at"):
            await app.graph.add("Ann", "is employed by", "Acme")
        assert await app.graph.find() == ()


async def test_what_was_true_when(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.graph.add("Ann", "works_at", "Acme", valid_from=Y2020, valid_until=Y2022)
        await app.graph.add("Ann", "works_at", "Globex", valid_from=Y2022)
        await app.graph.add("Ann", "knows", "Bob")

        async def at(moment: datetime) -> set[str]:
            return {triple.object for triple in await app.graph.find(subject="Ann", at=moment)}

        assert await at(Y2020 - timedelta(days=1)) == {"Bob"}
        assert await at(Y2020) == {"Acme", "Bob"}
        assert await at(Y2022) == {"Globex", "Bob"}
        assert await app.graph.end("ann", "works_at", "globex", until=Y2024) == 1
        assert await app.graph.end("ann", "works_at", "globex", until=Y2024) == 0
        assert await at(Y2024) == {"Bob"}
        assert len(await app.graph.find(subject="Ann")) == 3


async def test_spellings_are_one_entity_and_aliases_join_entities(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.graph.add("PostgreSQL", "is", "database")
        await app.graph.add("billing", "uses", "postgresql")
        await app.graph.add("search", "uses", "Postgres")
        entity = await app.graph.entity("POSTGRESQL")
        assert entity is not None
        assert (entity.spellings, entity.triples, entity.mentions) == (("PostgreSQL", "postgresql"), 2, 2)
        await app.graph.alias("PostgreSQL", "Postgres")
        await app.graph.alias("Postgres", "PG")
        for name in ("pg", "Postgres", "PostgreSQL"):
            users = await app.graph.neighbours(name, direction="in", predicates=["uses"])
            assert {one.name for one in users} == {"billing", "search"}
        joined = await app.graph.entity("pg")
        assert joined is not None
        assert joined.aliases == ("PG", "Postgres")
        path = await app.graph.path("billing", "search")
        assert path is not None
        assert [visit.name for visit in path] == ["postgresql", "search"]
        assert await app.graph.unalias("postgres")
        assert not await app.graph.unalias("postgres")
        assert await app.graph.path("billing", "search") is None


async def test_aliases_never_form_a_circle(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.graph.add("a1", "knows", "b1")
        await app.graph.alias("a1", "a2")
        await app.graph.alias("a2", "a1")
        await app.graph.alias("a3", "a1")
        with pytest.raises(InvalidInputError, match="itself"):
            await app.graph.alias("a1", "A1")
        for name in ("a1", "a2", "a3"):
            assert [one.name for one in await app.graph.neighbours(name)] == ["b1"]


async def test_triples_and_sources_are_removed(store_url: str) -> None:
    async with graph_app(store_url) as app:
        source = Source(kind="import", key="one")
        await app.graph.add("Ann", "knows", "Bob", source=source)
        await app.graph.add("Ann", "knows", "Carol", source=source)
        await app.graph.add("Ann", "knows", "Dave", source=Source(kind="import", key="two"))
        assert await app.graph.remove("ANN", "knows", "bob") == 1
        assert await app.graph.entity("Bob") is not None  # its source, which still says something, named it
        assert await app.graph.remove_source("import", "one")
        assert not await app.graph.remove_source("import", "one")
        assert [said(one) for one in await app.graph.find()] == [("Ann", "knows", "Dave")]
        assert await app.graph.entity("Bob") is None
        assert await app.graph.remove("Ann") == 1
        assert await app.graph.entity("Ann") is None


async def test_stated_triples_come_before_those_seen_together_and_new_before_old(store_url: str) -> None:
    clock = ManualClock()
    async with graph_app(store_url, clock=clock) as app:
        await app.graph.add("Ann", "knows", "Bob")
        clock.advance(1)
        await app.graph.add("Ann", "knows", "Carol")
        clock.advance(1)
        await app.knowledge.save("note", "We saw Ann, Zed and Yak.", category="fact")
        await app.graph.settled()
        found = [triple.object for triple in await app.graph.find(subject="Ann")]
        assert found[:2] == ["Carol", "Bob"]
        assert set(found[2:]) == {"Zed", "Yak"}


async def test_what_belongs_to_one_session_is_seen_there_only(store_url: str) -> None:
    async with graph_app(store_url) as app:
        await app.graph.add("Ann", "knows", "Bob")
        secret = Source(kind="observation", key="1", session_key="s1", scope=session_scope("s1"))
        await app.graph.add("Ann", "knows", "Carol", source=secret)

        async def seen(reach: Reach) -> set[str]:
            return {triple.object for triple in await app.graph.find(subject="Ann", reach=reach)}

        assert await seen(Reach()) == {"Bob"}
        assert await seen(Reach.of(session_key="s1")) == {"Bob", "Carol"}
        assert await seen(Reach.of(session_key="s2")) == {"Bob"}
        assert await app.graph.entity("Carol", reach=Reach.of(session_key="s2")) is None
        assert await app.graph.remove("Ann", "knows", "Carol") == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("", "knows", "Bob"), "subject must be a non-blank"),
        (("Ann", "knows", "x" * 121), "at most 120"),
        (("Ann", "knows", "a\x00b"), "control characters"),
    ],
)
async def test_names_that_cannot_be_kept_are_refused(sqlite_url: str, call: tuple[str, str, str], message: str) -> None:
    async with graph_app(sqlite_url) as app:
        with pytest.raises(InvalidInputError, match=message):
            await app.graph.add(*call)
        assert await app.graph.find() == ()


async def test_bad_bounds_and_sources_are_refused(sqlite_url: str) -> None:
    async with graph_app(sqlite_url) as app:
        with pytest.raises(InvalidInputError, match="after valid_from"):
            await app.graph.add("Ann", "knows", "Bob", valid_from=Y2022, valid_until=Y2020)
        with pytest.raises(InvalidInputError, match="read from its texts"):
            await app.graph.add("Ann", "knows", "Bob", source=Source(kind="memory", key="1"))
        with pytest.raises(InvalidInputError, match="from 1 to 6"):
            await app.graph.traverse("Ann", depth=7)
        with pytest.raises(InvalidInputError, match="limit"):
            await app.graph.find(limit=501)
        with pytest.raises(InvalidInputError, match="tokens"):
            await app.graph.expand("Ann", tokens=-1)
        with pytest.raises(InvalidInputError, match="time zone"):
            await app.graph.find(at=datetime(2020, 1, 1))


@pytest.mark.parametrize(
    ("subject", "object"),
    [
        ("Ann", "password=tr0ub4dor"),
        ("AKIAIOSFODNN7EXAMPLE", "Ann"),
        ("The db password", "Zx9Kq2Lm"),
        ("Ann", "https://ann:swordfish7@db.internal/x"),
        ("deploy\u200b", "Ann"),
    ],
)
async def test_a_triple_with_a_secret_or_a_name_nobody_can_tell_apart_is_refused(
    sqlite_url: str, subject: str, object: str
) -> None:
    async with graph_app(sqlite_url) as app:
        with pytest.raises(InvalidInputError, match=r"password or a token|invisible character") as refused:
            await app.graph.add(subject, "is", object)
        assert "tr0ub4dor" not in str(refused.value.to_dict())
        with pytest.raises(InvalidInputError):
            await app.graph.alias("Ann", "AKIAIOSFODNN7EXAMPLE")
        assert await app.graph.find() == ()
        assert await app.graph.remove("password=tr0ub4dor") == 0  # what an older version kept can be named and removed
