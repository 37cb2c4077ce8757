"""External references, on both engines."""

import pytest

from lamina.app import App
from lamina.errors import InvalidCursorError, InvalidInputError, ReferenceNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.types import Origin, ReferenceType
from tests.knowledge.opening import row_counts

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("knowledge.references.upsert")
async def test_a_reference_of_a_known_name_is_replaced(
    app: App, references: ReferenceService, clock: ManualClock
) -> None:
    first = await references.save(
        "k8s", type="documentation", location="https://k8s.example.org", summary="Pods", metadata={"lang": "en"}
    )
    assert (first.type, first.metadata, first.origin) == (ReferenceType.DOCUMENTATION, {"lang": "en"}, Origin.AGENT)
    clock.advance(60)
    second = await references.save("k8s", type="wiki", location="/srv/wiki", summary="Deployments", origin="user")
    assert (second.type, second.location, second.summary) == (ReferenceType.WIKI, "/srv/wiki", "Deployments")
    assert (second.metadata, second.origin) == ({}, Origin.USER)
    assert second.created_at == first.created_at
    assert second.updated_at == clock.now()
    assert await references.get("k8s") == second
    assert (await references.list()).total_count == 1
    # By its meaning it may still be found, by the words that are gone it must not.
    assert all(hit.explain["lexical"] == 0 for hit in await references.search("pods"))
    assert [hit.name for hit in await references.search("deployments")] == ["k8s"]
    assert set((await row_counts(app, "external_reference", "index_entry", "index_vector")).values()) == {1}


@pytest.mark.requirement("knowledge.references.search")
async def test_references_are_found_over_name_and_summary_but_not_location(references: ReferenceService) -> None:
    await references.save(
        "billing-api", type="api", location="https://pay.example.org", summary="How invoices are made"
    )
    await references.save("handbook", type="wiki", location="/srv/zebra", summary="Rules of the house")
    assert [hit.name for hit in await references.search("invoices")] == ["billing-api"]
    assert [hit.name for hit in await references.search("billing")] == ["billing-api"]
    assert [hit.name for hit in await references.search("handbook")] == ["handbook"]
    assert await references.search("zebra", threshold=0.3) == ()
    (hit,) = await references.search("house rules invoices", type="wiki")
    assert hit.reference == await references.get("handbook")
    assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-4)


async def test_a_new_location_alone_leaves_the_index_as_it_is(app: App, references: ReferenceService) -> None:
    await references.save("k8s", type="api", location="one", summary="Pods")
    await references.save("k8s", type="api", location="two", summary="Pods")
    assert (await references.search("pods"))[0].reference.location == "two"


async def test_an_unknown_type_or_a_wrong_field_is_refused_and_stores_nothing(
    app: App, references: ReferenceService
) -> None:
    right: dict[str, object] = {"type": "api", "location": "here", "summary": "Pods"}
    for wrong in (
        {"type": "url"},
        {"location": ""},
        {"summary": " "},
        {"summary": "a\0"},
        {"metadata": {"a": float("nan")}},
        {"metadata": [1]},
        {"origin": "nobody"},
    ):
        with pytest.raises(InvalidInputError):
            await references.save("k8s", **{**right, **wrong})  # type: ignore[arg-type]
    assert set((await row_counts(app)).values()) == {0}


async def test_a_missing_reference_is_a_not_found_error(references: ReferenceService) -> None:
    for verb in (references.get, references.delete):
        with pytest.raises(ReferenceNotFoundError) as missing:
            await verb("nothing")
        assert missing.value.details == {"name": "nothing"}


async def test_a_deleted_reference_is_gone_from_the_index_too(app: App, references: ReferenceService) -> None:
    await references.save("k8s", type="api", location="here", summary="Pods")
    await references.delete("k8s")
    counts = await row_counts(app, "external_reference", "index_entry", "index_vector")
    assert set(counts.values()) == {0}
    assert await references.search("pods", threshold=0) == ()


async def test_pages_cover_everything_once(references: ReferenceService) -> None:
    for number in range(5):
        await references.save(f"r{number}", type="api" if number % 2 else "file", location="x", summary="text")
    first = await references.list(limit=3)
    assert first.next_cursor is not None
    second = await references.list(limit=3, cursor=first.next_cursor)
    names = [one.name for one in (*first.references, *second.references)]
    assert (names, second.next_cursor) == ([f"r{number}" for number in reversed(range(5))], None)
    assert (await references.list(type="api")).total_count == 2
    with pytest.raises(InvalidCursorError):
        await references.list(type="api", cursor=first.next_cursor)
