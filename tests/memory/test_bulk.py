"""Several memories in one call: all or nothing, and counted."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lamina.errors import InvalidInputError, MissingIdentifierError
from lamina.memory.service import MemoryService
from lamina.memory.types import Identifiers, NewMemory
from tests.stores import CountingEmbedder

pytestmark = pytest.mark.anyio


async def test_bulk_adds_are_all_or_nothing(memory: MemoryService, embedder: CountingEmbedder) -> None:
    ids = Identifiers(user_id="u1")
    added = await memory.bulk_add([NewMemory(content=f"bulk {n % 2}", identifiers=ids) for n in range(4)])
    assert [one.memory.content for one in added] == ["bulk 0", "bulk 1", "bulk 0", "bulk 1"]
    assert embedder.texts == ["bulk 0", "bulk 1"]
    taken = NewMemory(content="other", identifiers=ids, id=added[0].id)
    with pytest.raises(InvalidInputError, match="exists already"):
        await memory.bulk_add([NewMemory(content="new", identifiers=ids), taken])
    with pytest.raises(MissingIdentifierError):
        await memory.bulk_add([NewMemory(content="new", identifiers=ids), NewMemory(content="lost")])
    assert (await memory.list(user_id="u1")).total_count == 4
    assert await memory.bulk_add([]) == ()


async def test_imported_ids_and_moments_are_checked(memory: MemoryService) -> None:
    ids = Identifiers(user_id="u1")
    good = datetime(2020, 1, 1, tzinfo=UTC)
    (added,) = await memory.bulk_add([NewMemory(content="x", identifiers=ids, id="mine", created_at=good)])
    assert (added.id, added.memory.created_at) == ("mine", good)
    naive = datetime(2020, 1, 1)
    for bad in (
        NewMemory(content="x", identifiers=ids, id=""),
        NewMemory(content="x", identifiers=ids, id="\0"),
        NewMemory(content="x", identifiers=ids, created_at=naive),
        NewMemory(content="x", identifiers=ids, expires_at=naive),
        NewMemory(content="x", identifiers=Identifiers(user_id="\0")),
    ):
        with pytest.raises(InvalidInputError) as caught:
            await memory.bulk_add([bad])
        assert caught.value.operation == "bulk_add"


async def test_bulk_deletes_count_what_was_there(memory: MemoryService) -> None:
    ids = [(await memory.add(f"entry {n}", user_id="u1")).id for n in range(3)]
    other = await memory.add("another's", user_id="u2")
    result = await memory.bulk_delete([*ids[:2], "no-such-id", ids[0], other.id], user_id="u1")
    assert (result.deleted, result.failed) == (2, ())
    assert [entry.id for entry in (await memory.list(user_id="u1")).memories] == [ids[2]]
    assert await memory.get(other.id, user_id="u2") is not None


@pytest.mark.parametrize(
    "memories",
    [
        None,
        5,
        "text",
        ["text"],
        [{"content": "x", "user_id": "u1"}],
        [NewMemory(content="x", identifiers={"user_id": "u1"})],  # type: ignore[arg-type]
        [NewMemory(content="x", identifiers=None)],  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_new_memory_is_refused_by_name(memory: MemoryService, memories: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"NewMemory|Identifiers") as caught:
        await memory.bulk_add(memories)
    assert caught.value.operation == "bulk_add"
