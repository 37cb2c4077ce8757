"""What is written for ranking, row by row, on both engines."""

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from lamina.database.link import Link
from lamina.errors import ConfigurationError, ProviderError
from lamina.index.models import add_model
from lamina.index.store import Place, entry_counts, indexable, put, stored_vectors, touch, unpack_vector
from lamina.index.tables import index_entry, index_vector, scope
from lamina.kernel.text import content_hash
from tests.index.stored import Stored, key, stored, vector

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Stored]:
    async with stored(store_url) as opened:
        yield opened


async def rows(store: Stored, table: sa.Table, *columns: str) -> list[tuple[Any, ...]]:
    chosen = [table.c[name] for name in columns]
    return await store.database.read(
        lambda link: [tuple(row) for row in link.execute(sa.select(*chosen).order_by(*chosen))]
    )


async def test_every_change_of_a_scope_raises_its_version_and_counts_its_entries(store: Stored) -> None:
    assert await store.add("s", [(1, indexable("a", None)), (2, indexable("b", None))]) == 1
    assert await store.add("s", [(3, indexable("c", None))]) == 2
    await store.change("s", 1, indexable("d", None))
    await store.expire("s", 2, 5.0)
    await store.remove("s", [3])
    assert await rows(store, scope, "tenant", "key", "version", "entries") == [("t", "s", 5, 2)]
    found = await rows(store, index_entry, "version", "entry", "tenant", "expires_at")
    assert found == [(3, 1, "t", None), (4, 2, "t", 5.0), (5, 3, "t", None)]


async def test_a_removed_entry_leaves_a_mark_and_nothing_of_itself(store: Stored) -> None:
    await store.add("s", [(1, indexable("a secret", vector(1), conversation="c", author="Ann", sequence=4))])
    await store.remove("s", [1])
    columns = ("version", "entry", "terms", "conversation", "sequence", "author", "said_at", "expires_at")
    assert await rows(store, index_entry, *columns) == [(2, 1, None, 0, 0, 0, 0.0, None)]
    assert await rows(store, index_vector, "entry") == []
    assert await store.drop_tombstones() == 1
    assert await rows(store, index_entry, "entry") == []
    assert await rows(store, scope, "version", "floor", "entries") == [(3, 3, 0)]


async def test_a_changed_entry_has_one_row_and_one_vector(store: Stored) -> None:
    await store.add("s", [(1, indexable("a", vector(1)))])
    await store.change("s", 1, indexable("b", vector(2)))
    assert await rows(store, index_entry, "version", "entry") == [(2, 1)]
    ((digest, blob),) = await rows(store, index_vector, "content_hash", "vector")
    assert bytes(digest) == content_hash("b")
    np.testing.assert_array_equal(unpack_vector(bytes(blob)), vector(2))


async def test_nothing_is_stored_when_the_transaction_fails(store: Stored) -> None:
    def fail(link: Link) -> None:
        place = touch(link, key("s"), added=1)
        put(link, place, tenant="t", model="m", model_id=store.model.id, rows=[(1, indexable("a", None))])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.database.write(fail)
    assert await rows(store, scope, "id") == await rows(store, index_entry, "entry") == []
    assert await store.add("s", [(1, indexable("a", None))]) == 1


async def test_vectors_of_another_model_are_refused(store: Stored) -> None:
    def write(link: Link) -> None:
        place = touch(link, key("s"), added=1)
        stale = Place(scope_id=place.scope_id, version=place.version, model_id=place.model_id)
        put(link, stale, tenant="t", model="old", model_id=store.model.id + 1, rows=[(1, indexable("a", None))])

    with pytest.raises(ConfigurationError, match="no longer uses old"):
        await store.database.write(write)
    assert await rows(store, scope, "id") == []


async def test_stored_vectors_are_found_by_content_within_a_tenant_and_a_model(store: Stored) -> None:
    await store.add("s", [(1, indexable("a", vector(1))), (2, indexable("b", None))])
    await store.add("s", [(3, indexable("c", vector(3)))], tenant="other")
    hashes = [content_hash(text) for text in "abcd"]

    async def look(tenant: str, model_id: int) -> dict[bytes, bytes | None]:
        return await store.database.read(
            lambda link: stored_vectors(link, tenant=tenant, model_id=model_id, hashes=hashes)
        )

    mine = await look("t", store.model.id)
    assert set(mine) == {content_hash("a"), content_hash("b")}
    assert mine[content_hash("b")] is None
    np.testing.assert_array_equal(unpack_vector(mine[content_hash("a")]), vector(1))
    assert set(await look("other", store.model.id)) == {content_hash("c")}
    assert await look("t", store.model.id + 1) == {}
    assert await look("nobody", store.model.id) == {}


async def test_entries_are_counted_by_label_over_all_scopes_and_tenants(store: Stored) -> None:
    await store.add("s", [(1, indexable("a", None)), (2, indexable("b", None))])
    await store.add("s2", [(3, indexable("c", None))])
    await store.add("s", [(4, indexable("d", None))], tenant="other")
    await store.remove("s", [1])
    assert await store.database.read(lambda link: entry_counts(link, kind="test")) == [("test", 3)]
    assert await store.database.read(lambda link: entry_counts(link, kind="nothing")) == []


async def test_only_one_model_can_be_active(store: Stored) -> None:
    def second(link: Link) -> None:
        add_model(link, name="second", dimensions=3, state="active", now=0)

    with pytest.raises(ProviderError, match=r"store failed|PostgreSQL failed"):
        await store.database.write(second)
