"""Updates, deletions and the history they leave."""

from datetime import timedelta

from lamina.memory.provider import EmbedRequest
from lamina.memory.types import MemoryEntry
from lamina.testing.check import check, equal, holds
from lamina.testing.workbench import Workbench, changed, found_ids


class ChangingChecks:
    """Update, delete, history."""

    @check
    async def test_an_update_changes_only_what_it_names(self, bench: Workbench) -> None:
        """Content alone, then tags alone, then metadata alone."""
        entry = await bench.add("Tea, no sugar", metadata={"a": 1}, tags=("drink",))
        bench.advance(hours=1)
        updated = await bench.update(entry.id, content="Coffee, black")
        wanted = {"content": "Coffee, black", "metadata": {"a": 1}, "tags": ("drink",), "updated_at": bench.now}
        wanted |= {"created_at": entry.created_at, "version": 2, "id": entry.id, "expires_at": None}
        await self._expect(bench, updated, wanted)
        bench.advance(hours=1)
        tagged = await bench.update(entry.id, tags=())
        await self._expect(bench, tagged, {**wanted, "tags": (), "version": 3, "updated_at": bench.now})
        bench.advance(hours=1)
        merged = await bench.update(entry.id, metadata={"b": 2})
        wanted |= {"tags": (), "version": 4, "updated_at": bench.now, "metadata": {"a": 1, "b": 2}}
        await self._expect(bench, merged, wanted)

    async def _expect(self, bench: Workbench, answer: MemoryEntry | None, wanted: dict[str, object]) -> None:
        if answer is None:
            raise AssertionError("An update within reach answers with the entry.")
        equal(changed(answer, **wanted), {}, f"The updated entry has {wanted}.")
        equal(await bench.get(answer.id), answer, "An update is read back.")

    @check
    async def test_metadata_is_merged_shallowly(self, bench: Workbench) -> None:
        """A key that is named is replaced whole, null included; the others stay."""
        entry = await bench.add("x", metadata={"keep": [1], "replace": {"old": 1}, "null": 1, "": 0})
        updated = await bench.update(entry.id, metadata={"replace": {"new": 2}, "null": None, "more": 3})
        wanted = {"keep": [1], "replace": {"new": 2}, "null": None, "": 0, "more": 3}
        equal(updated and updated.metadata, wanted, "Metadata is merged shallowly.")
        read = await bench.get(entry.id)
        equal(read and read.metadata, wanted, "Merged metadata is read back.")

    @check
    async def test_an_expiry_is_set_moved_and_cleared(self, bench: Workbench) -> None:
        """Expiry changes count for reading, listing and searching alike."""
        entry = await bench.add("A ticket for the night train")
        await bench.update(entry.id, expires_at=bench.now + timedelta(hours=1))
        await bench.update(entry.id, tags=("travel",))
        await bench.update(entry.id, expires_at=bench.now + timedelta(hours=3))
        bench.advance(hours=2)
        equal(found_ids(await bench.search("night train")), (entry.id,), "A later expiry counts in search.")
        cleared = await bench.update(entry.id, clear_expiry=True)
        equal(cleared and cleared.expires_at, None, "An expiry can be cleared.")
        bench.advance(days=9)
        equal(found_ids(await bench.search("night train")), (entry.id,), "A cleared expiry counts in search.")
        equal(await bench.listed(), (entry.id,), "A cleared expiry counts in lists.")
        await bench.update(entry.id, expires_at=bench.now)
        equal(found_ids(await bench.search("night train")), (), "An expiry that has come counts in search.")
        equal(await bench.listed(), (), "An expiry that has come counts in lists.")

    @check
    async def test_search_follows_new_content(self, bench: Workbench) -> None:
        """The new text is found at once, the old one no longer."""
        entry = await bench.add("The parrot is called Coco")
        other = await bench.add("Rent is paid on the first of the month")
        await bench.search("parrot")
        await bench.update(entry.id, content="The violin is in the repair shop")
        equal(found_ids(await bench.search("violin repair"))[:1], (entry.id,), "New content is found at once.")
        scores = {found.entry.id: found.score for found in (await bench.search("the parrot called Coco")).found}
        strong = [id for id, score in scores.items() if score > 0.9]
        equal(strong, [], "Old content is found no longer.")
        equal(await bench.get(other.id), other, "Other entries stay as they were.")
        if bench.provider.capabilities.vector_search:
            await self._expect_vector(bench, entry.id, "The violin is in the repair shop")

    async def _expect_vector(self, bench: Workbench, id: str, text: str) -> None:
        request = EmbedRequest(tenant=bench.tenant, texts=(text,))
        (made,) = await bench.provider.generate_embedding(request)
        for found in (await bench.search("violin repair")).found:
            if found.entry.id == id and found.vector is not None and made.vector is not None:
                holds(float(found.vector @ made.vector) > 0.99, "The vector belongs to the new content.")

    @check
    async def test_an_update_out_of_reach_changes_nothing(self, bench: Workbench) -> None:
        """Unknown, another scope's, another tenant's and expired entries are None."""
        entry = await bench.add("Alice's", expires_at=bench.now + timedelta(hours=1))
        equal(await bench.update("no-such-id", content="x"), None, "An unknown id cannot be updated.")
        equal(await bench.update(entry.id, bench.bob, content="x"), None, "Another scope's entry is not updated.")
        equal(await bench.update(entry.id, bench.stranger, tags=("x",)), None, "Another tenant's is not updated.")
        equal(await bench.get(entry.id), entry, "An update out of reach changes nothing.")
        bench.advance(hours=1)
        equal(await bench.update(entry.id, clear_expiry=True), None, "An expired entry cannot be updated.")
        equal(await bench.get(entry.id), None, "An update does not bring an expired entry back.")

    @check
    async def test_history_shows_every_state_oldest_first(self, bench: Workbench) -> None:
        """The first state, each change, and the present one."""
        start = bench.now
        entry = await bench.add("one", metadata={"n": 1}, tags=("a",))
        bench.advance(hours=1)
        await bench.update(entry.id, content="two")
        bench.advance(hours=1)
        await bench.update(entry.id, metadata={"m": 2}, tags=("b",), expires_at=start + timedelta(days=1))
        states = await bench.history(entry.id)
        equal([state.version for state in states], [1, 2, 3], "Versions count from one.")
        equal([state.content for state in states], ["one", "two", "two"], "Each state has its content.")
        metadata = [dict(state.metadata) for state in states]
        equal(metadata, [{"n": 1}, {"n": 1}, {"n": 1, "m": 2}], "Each state has its metadata.")
        equal([state.tags for state in states], [("a",), ("a",), ("b",)], "Each state has its tags.")
        equal([state.expires_at for state in states], [None, None, start + timedelta(days=1)], "... and its expiry.")
        moments = [start + timedelta(hours=hour) for hour in range(3)]
        equal([state.changed_at for state in states], moments, "Each state says when it began.")

    @check
    async def test_deleting_is_idempotent_and_complete(self, bench: Workbench) -> None:
        """Gone from get, list, search and history at once; a second time there is nothing to delete."""
        entry = await bench.add("The spare key is under the mat")
        stays = await bench.add("The spare tyre is in the boot")
        await bench.update(entry.id, tags=("keys",))
        await bench.search("spare key")
        equal(await bench.delete(entry.id), True, "Delete says that there was something to delete.")
        equal(await bench.delete(entry.id), False, "A second delete says that there was nothing.")
        equal(await bench.delete("no-such-id"), False, "Deleting an unknown id is no error.")
        equal(await bench.get(entry.id), None, "A deleted entry reads as absent.")
        equal(tuple(await bench.history(entry.id)), (), "A deleted entry has no history.")
        equal(await bench.listed(), (stays.id,), "A deleted entry is not listed.")
        found = await bench.search("spare key")
        equal((found_ids(found), found.total), ((stays.id,), 1), "A deleted entry is not found.")

    @check
    async def test_a_deleted_id_can_be_used_again(self, bench: Workbench) -> None:
        """Nothing of the old entry is left to show through."""
        entry = await bench.add("The old text about horses")
        await bench.update(entry.id, tags=("old",))
        await bench.search("horses")
        await bench.delete(entry.id)
        again = await bench.add("A new text about ships", id=entry.id)
        equal(await bench.get(entry.id), again, "A deleted id can be used again.")
        equal(len(await bench.history(entry.id)), 1, "The history starts anew.")
        equal(found_ids(await bench.search("a text about ships")), (entry.id,), "The new entry is found.")

    @check
    async def test_a_delete_out_of_reach_deletes_nothing(self, bench: Workbench) -> None:
        """Another scope's and another tenant's entries stay."""
        entry = await bench.add("Alice's")
        equal(await bench.delete(entry.id, bench.bob), False, "Another scope's entry is not deleted.")
        equal(await bench.delete(entry.id, bench.stranger), False, "Another tenant's entry is not deleted.")
        equal(await bench.get(entry.id), entry, "A delete out of reach deletes nothing.")
        equal(await bench.delete(entry.id, bench.bob, bench.alice), True, "One matching scope of several is enough.")
