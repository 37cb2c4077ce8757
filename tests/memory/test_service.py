"""The verbs of memory, through the app as a caller opens it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamina.app import App
from lamina.errors import (
    ContentTooLongError,
    InvalidCursorError,
    InvalidFilterError,
    InvalidInputError,
    InvalidLayerError,
    LaminaError,
    MemoryNotFoundError,
    MissingIdentifierError,
    QueryTooLongError,
)
from lamina.kernel.clock import ManualClock
from lamina.kernel.ids import is_id
from lamina.memory.provider import Capabilities, GetRequest
from lamina.memory.service import MemoryService
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, NewMemory, Source
from tests.stores import CountingEmbedder, app_on
from tests.wrapping import WrappingProvider

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("memory.add.content-and-layer", "memory.embedding.generated", "memory.get.existing")
async def test_an_added_memory_comes_back_with_all_fields(store_url: str, clock: ManualClock) -> None:
    async with app_on(store_url, clock=clock) as app:
        source = Source(kind="conversation", conversation="c1", sequence=3, author="Ann", said_at=clock.now())
        added = await app.memory.add(
            "Prefers dark mode",
            layer="user",
            user_id="u1",
            metadata={"confidence": 0.9, "nested": {"a": [1, None]}},
            tags=["ui", "ui", "theme"],
            source=source,
            expires_at=clock.now() + timedelta(days=1),
        )
        entry = added.memory
        assert is_id(entry.id)
        assert added.id == entry.id
        assert (added.embedding_generated, added.cache_hit) == (True, False)
        assert (entry.layer, entry.identifiers) == (MemoryLayer.USER, Identifiers(user_id="u1"))
        assert (entry.metadata, entry.tags) == ({"confidence": 0.9, "nested": {"a": [1, None]}}, ("ui", "theme"))
        assert (entry.created_at, entry.updated_at, entry.version) == (clock.now(), clock.now(), 1)
        assert (entry.source, entry.expires_at) == (source, clock.now() + timedelta(days=1))
        assert await app.memory.get(entry.id, user_id="u1") == entry
    async with app_on(store_url, clock=clock) as reopened:
        assert await reopened.memory.get(entry.id, user_id="u1") == entry


async def test_every_add_has_an_id_of_its_own(memory: MemoryService) -> None:
    ids = [(await memory.add("the same words", user_id="u1")).id for _ in range(5)]
    assert len(set(ids)) == 5
    assert ids == sorted(ids)


@pytest.mark.requirement("memory.add.missing-identifier")
async def test_an_add_without_its_identifier_names_it(memory: MemoryService) -> None:
    with pytest.raises(MissingIdentifierError) as caught:
        await memory.add("x", layer="session", user_id="u1")
    assert caught.value.to_dict() == {
        "code": "MISSING_IDENTIFIER",
        "message": "The session layer needs session_id.",
        "operation": "add",
        "retryable": False,
        "details": {"layer": "session", "missing": ["session_id"], "required": ["user_id", "session_id"]},
    }


@pytest.mark.requirement("memory.errors.invalid-layer")
async def test_an_unknown_layer_is_refused_with_the_layers_there_are(memory: MemoryService) -> None:
    for call in (
        memory.add("x", layer="galaxy", user_id="u"),
        memory.list(layer="galaxy", user_id="u"),
        memory.search("x", layers=["user", "galaxy"], user_id="u"),
    ):
        with pytest.raises(InvalidLayerError, match="galaxy") as caught:
            await call
        assert caught.value.retryable is False
        assert caught.value.details["layers"] == [layer.value for layer in MemoryLayer]


@pytest.mark.requirement("memory.errors.content-too-long")
async def test_too_long_content_is_refused_with_the_longest_length(sqlite_url: str) -> None:
    settings = app_on(sqlite_url).settings.memory
    async with app_on(sqlite_url, memory=replace(settings, max_content_length=10)) as app:
        added = await app.memory.add("x" * 10, user_id="u1")
        for call in (
            app.memory.add("x" * 11, user_id="u1"),
            app.memory.update(added.id, content="x" * 11, user_id="u"),
        ):
            with pytest.raises(ContentTooLongError) as caught:
                await call
            assert caught.value.details == {"max_length": 10, "length": 11}
            assert caught.value.retryable is False


async def test_a_provider_with_a_lower_limit_is_respected(memory: MemoryService) -> None:
    class Small(WrappingProvider):
        @property
        def capabilities(self) -> Capabilities:
            return replace(self.inner.capabilities, max_content_length=5, max_metadata_size=20)

    small = replace(memory, provider=Small(memory.provider))
    with pytest.raises(ContentTooLongError):
        await small.add("123456", user_id="u")
    with pytest.raises(InvalidInputError, match="20"):
        await small.add("12345", user_id="u", metadata={"key": "a value too long"})


@pytest.mark.requirement("memory.get.absent")
async def test_an_id_that_does_not_exist_reads_as_none(memory: MemoryService) -> None:
    for id in ("", "no-such-id", "\0", "\ud800", "x" * 100_000, "'; DROP TABLE memory; --"):
        assert await memory.get(id, user_id="u1") is None
        assert await memory.history(id, user_id="u1") == ()
        assert (await memory.delete(id, user_id="u1")).success


async def test_an_id_that_is_no_text_is_refused(memory: MemoryService) -> None:
    for verb in (memory.get, memory.history, memory.update, memory.delete):
        with pytest.raises(InvalidInputError, match="string"):
            await verb(7, user_id="u1")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="list"):
        await memory.bulk_delete("abc", user_id="u1")


@pytest.mark.requirement("memory.update.content")
async def test_new_content_is_embedded_and_found(
    memory: MemoryService, clock: ManualClock, embedder: CountingEmbedder
) -> None:
    added = await memory.add("The meeting is on Monday in room seven", user_id="u1")
    clock.advance(60)
    updated = await memory.update(added.id, content="Lunch is at the Italian restaurant", user_id="u1")
    assert updated.embedding_regenerated
    assert embedder.texts[-1] == "Lunch is at the Italian restaurant"
    assert (updated.memory.updated_at, updated.memory.created_at) == (clock.now(), added.memory.created_at)
    assert await memory.get(added.id, user_id="u1") == updated.memory
    hits = await memory.search("Italian restaurant for lunch", user_id="u1")
    assert [hit.content for hit in hits] == ["Lunch is at the Italian restaurant"]
    assert len(await memory.search("meeting on Monday in room seven", user_id="u1")) == 0


@pytest.mark.requirement("memory.update.metadata-only")
async def test_metadata_alone_is_merged_and_not_embedded(
    memory: MemoryService, clock: ManualClock, embedder: CountingEmbedder
) -> None:
    added = await memory.add("Tea", user_id="u1", metadata={"a": {"x": 1}, "b": 1}, tags=["drink"])
    asked = list(embedder.texts)
    clock.advance(60)
    updated = await memory.update(added.id, metadata={"a": {"y": 2}, "c": 3}, user_id="u1")
    assert updated.embedding_regenerated is False
    assert embedder.texts == asked
    assert updated.memory.metadata == {"a": {"y": 2}, "b": 1, "c": 3}
    assert (updated.memory.content, updated.memory.tags) == ("Tea", ("drink",))
    assert updated.memory.updated_at == clock.now() > added.memory.updated_at
    assert await memory.get(added.id, user_id="u1") == updated.memory


async def test_unchanged_content_is_not_embedded_again(memory: MemoryService, embedder: CountingEmbedder) -> None:
    added = await memory.add("Tea", user_id="u1")
    asked = list(embedder.texts)
    updated = await memory.update(added.id, content="Tea", tags=["drink"], user_id="u1")
    assert (updated.embedding_regenerated, updated.memory.tags, updated.memory.version) == (False, ("drink",), 2)
    assert embedder.texts == asked


async def test_content_that_somebody_changed_meanwhile_is_changed_back(memory: MemoryService) -> None:
    added = await memory.add("Tea", user_id="u1")

    class Late(WrappingProvider):
        """Shows what was there before somebody else came."""

        async def get(self, request: GetRequest) -> MemoryEntry | None:
            before = await self.inner.get(request)
            await memory.update(added.id, content="Coffee", user_id="u1")
            return before

    late = replace(memory, provider=Late(memory.provider))
    updated = await late.update(added.id, content="Tea", user_id="u1")
    assert updated.memory.content == "Tea"
    assert updated.embedding_regenerated
    assert await memory.get(added.id, user_id="u1") == updated.memory
    states = await memory.history(added.id, user_id="u1")
    assert [state.content for state in states][0::3] == ["Tea", "Tea"]


async def test_an_expiry_is_kept_changed_or_removed(memory: MemoryService, clock: ManualClock) -> None:
    tomorrow = clock.now() + timedelta(days=1)
    added = await memory.add("Tea", user_id="u1", expires_at=tomorrow)
    kept = await memory.update(added.id, tags=["x"], user_id="u1")
    assert kept.memory.expires_at == tomorrow
    moved = await memory.update(added.id, expires_at=tomorrow + timedelta(days=1), user_id="u1")
    assert moved.memory.expires_at == tomorrow + timedelta(days=1)
    assert (await memory.update(added.id, expires_at=None, user_id="u1")).memory.expires_at is None


async def test_metadata_cannot_grow_beyond_the_limit_by_updates(memory: MemoryService) -> None:
    half = "x" * 40_000
    added = await memory.add("Tea", user_id="u1", metadata={"a": half})
    with pytest.raises(InvalidInputError, match="65536"):
        await memory.update(added.id, metadata={"b": half}, user_id="u1")
    assert (await memory.update(added.id, metadata={"a": half + "y"}, user_id="u1")).memory.version == 2


@pytest.mark.requirement("memory.update.absent")
async def test_updating_what_is_not_there_is_an_error(memory: MemoryService) -> None:
    with pytest.raises(MemoryNotFoundError) as caught:
        await memory.update("no-such-id", content="x", user_id="u1")
    shown = caught.value.to_dict()
    assert (shown["code"], shown["operation"], shown["retryable"]) == ("MEMORY_NOT_FOUND", "update", False)


@pytest.mark.requirement("memory.delete.existing", "memory.delete.absent")
async def test_deleting_succeeds_whether_it_was_there_or_not(memory: MemoryService) -> None:
    added = await memory.add("Tea", user_id="u1")
    assert (await memory.delete(added.id, user_id="u1")).success is True
    assert await memory.get(added.id, user_id="u1") is None
    assert len(await memory.search("Tea", user_id="u1", threshold=0)) == 0
    assert (await memory.delete(added.id, user_id="u1")).success is True


@pytest.mark.requirement("memory.list.pagination")
async def test_pages_have_a_cursor_and_a_total(memory: MemoryService) -> None:
    for number in range(5):
        await memory.add(f"entry {number}", user_id="u1")
    first = await memory.list(user_id="u1", limit=2)
    await memory.add("between pages", user_id="u1")
    second = await memory.list(user_id="u1", limit=2, cursor=first.next_cursor)
    third = await memory.list(user_id="u1", limit=2, cursor=second.next_cursor)
    shown = [entry.content for page in (first, second, third) for entry in page.memories]
    assert shown == [f"entry {number}" for number in (4, 3, 2, 1, 0)]
    assert (first.total_count, third.total_count, third.next_cursor) == (5, 6, None)
    with pytest.raises(InvalidCursorError) as caught:
        await memory.list(user_id="u1", cursor="nonsense")
    assert (caught.value.code, caught.value.operation) == ("INVALID_CURSOR", "list")


async def test_a_page_has_fifty_entries_unless_told_otherwise_and_never_more_than_a_hundred(
    memory: MemoryService,
) -> None:
    await memory.bulk_add([NewMemory(content=f"e {n}", identifiers=Identifiers(user_id="u1")) for n in range(120)])
    assert len((await memory.list(user_id="u1")).memories) == 50
    assert len((await memory.list(user_id="u1", limit=100)).memories) == 100
    for limit in (0, 101, -1, True, 2.5):
        with pytest.raises(InvalidInputError, match="1 to 100"):
            await memory.list(user_id="u1", limit=limit)  # type: ignore[arg-type]


@pytest.mark.requirement("memory.list.filter", "memory.filter.tags", "memory.filter.metadata")
async def test_lists_and_searches_filter_by_tags_and_fields(memory: MemoryService) -> None:
    async def add(content: str, tags: list[str], **metadata: float | str) -> None:
        await memory.add(content, user_id="u1", tags=tags, metadata=metadata)

    await add("The cat eats tuna", ["cat", "food"], price=3, shop="north market")
    await add("The dog eats beef", ["dog", "food"], price=7.5, shop="south market")
    await add("The fish eats flakes", ["fish"], price=1, shop="harbour")

    async def both(**filter: object) -> list[str]:
        page = await memory.list(user_id="u1", **filter)  # type: ignore[arg-type]
        hits = await memory.search("who eats what", user_id="u1", threshold=0, **filter)  # type: ignore[arg-type]
        words = sorted(entry.content.split()[1] for entry in page.memories)
        assert words == sorted(hit.content.split()[1] for hit in hits)
        assert page.total_count == hits.total_count == len(words)
        return words

    assert await both(tags=["cat", "fish"]) == ["cat", "fish"]
    assert await both(where={"price": 3}) == ["cat"]
    assert await both(where={"shop": {"contains": "market"}}) == ["cat", "dog"]
    assert await both(where={"price": {"gte": 3, "lt": 10}}, tags=["food"]) == ["cat", "dog"]
    assert await both(where={"price": {"gt": 3}}, tags=["cat"]) == []
    with pytest.raises(InvalidFilterError) as caught:
        await memory.search("x", user_id="u1", where={"price": {"like": 3}})
    assert (caught.value.code, caught.value.operation) == ("INVALID_FILTER", "search")


async def test_history_shows_every_state(memory: MemoryService, clock: ManualClock) -> None:
    added = await memory.add("one", user_id="u1", metadata={"n": 1})
    clock.advance(1)
    await memory.update(added.id, content="two", user_id="u1")
    clock.advance(1)
    await memory.update(added.id, metadata={"n": 2}, user_id="u1")
    states = await memory.history(added.id, user_id="u1")
    assert [(one.version, one.content, one.metadata["n"]) for one in states] == [
        (1, "one", 1),
        (2, "two", 1),
        (3, "two", 2),
    ]
    assert states[-1].changed_at == clock.now()
    await memory.delete(added.id, user_id="u1")
    assert await memory.history(added.id, user_id="u1") == ()


async def test_expired_memories_are_invisible_at_once_and_swept(app: App, clock: ManualClock) -> None:
    soon = clock.now() + timedelta(minutes=1)
    gone = await app.memory.add("The code of the door is 4711", user_id="u1", expires_at=soon)
    stays = await app.memory.add("The code of the safe is 0815", user_id="u1")
    clock.advance(60)
    mine = app.memory.scoped(user_id="u1")
    assert await mine.get(gone.id) is None
    assert await mine.history(gone.id) == ()
    assert [entry.id for entry in (await mine.list()).memories] == [stays.id]
    assert gone.id not in [hit.id for hit in await mine.search("code of the door", threshold=0)]
    with pytest.raises(MemoryNotFoundError):
        await mine.update(gone.id, expires_at=None)
    assert await app.sweep() == 1
    assert await app.sweep() == 0
    assert [hit.id for hit in await mine.search("code of the safe", threshold=0)] == [stays.id]


async def test_identifiers_that_were_filled_in_count_in_every_verb(memory: MemoryService) -> None:
    mine = memory.scoped(user_id="u1", project_id="p1")
    added = await mine.add("Prefers tabs")
    (bulk,) = await mine.bulk_add([NewMemory(content="Uses spaces", layer="project")])
    assert bulk.memory.identifiers == Identifiers(project_id="p1")
    assert await mine.get(added.id) == added.memory
    assert (await mine.update(added.id, tags=["x"])).memory.tags == ("x",)
    assert {hit.layer for hit in await mine.search("tabs or spaces", threshold=0)} == {"user", "project"}
    assert (await mine.list()).total_count == 1
    assert len(await mine.history(added.id)) == 2
    assert (await mine.bulk_delete([added.id, bulk.id])).deleted == 2
    assert (await mine.scoped(user_id="u2").add("x")).memory.identifiers == Identifiers(user_id="u2")


async def test_input_no_verb_accepts_is_refused_with_a_code(memory: MemoryService) -> None:
    calls: list[tuple[str, object]] = [
        ("add", memory.add("", user_id="u")),
        ("add", memory.add(" \n", user_id="u")),
        ("add", memory.add("a\0b", user_id="u")),
        ("add", memory.add("\ud800", user_id="u")),
        ("add", memory.add(7, user_id="u")),  # type: ignore[arg-type]
        ("add", memory.add("x", user_id="\0")),
        ("add", memory.add("x", user_id="u", planet="mars")),  # type: ignore[call-arg]
        ("add", memory.add("x", user_id="u", metadata={"a": float("nan")})),
        ("search", memory.search("", user_id="u")),
        ("search", memory.search("x", user_id="u", threshold=1.5)),
        ("search", memory.search("x", user_id="u", limit=101)),
        ("search", memory.search("x", user_id="u", layers=[])),
        ("search", memory.search("x")),
        ("get", memory.get("x")),
        ("list", memory.list(user_id="u", limit=0)),
    ]
    for operation, call in calls:
        with pytest.raises(InvalidInputError) as caught:
            await call  # type: ignore[misc]
        assert (caught.value.operation, caught.value.retryable) == (operation, False)
    with pytest.raises(QueryTooLongError) as too_long:
        await memory.search("x" * 10_001, user_id="u")
    assert (too_long.value.code, too_long.value.details["max_length"]) == ("QUERY_TOO_LONG", 10_000)


@pytest.mark.parametrize("tenant", ["", " ", "\0", "x" * 257])
async def test_a_tenant_has_a_name(memory: MemoryService, tenant: str) -> None:
    with pytest.raises(LaminaError):
        memory.for_tenant(tenant)
