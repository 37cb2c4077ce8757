"""Pages that neither repeat nor skip, and filters that decide inside the query."""

from collections.abc import Mapping
from datetime import timedelta

from lamina.errors import InvalidCursorError, LaminaError
from lamina.memory.filter import Filter, matches, parse_filter
from lamina.memory.types import MemoryEntry
from lamina.testing.check import check, equal, holds, refuses
from lamina.testing.workbench import Workbench, found_ids, tagged, where

SHELF: tuple[tuple[Mapping[str, object], tuple[str, ...]], ...] = (
    ({}, ()),
    ({"n": 1, "s": "apple", "flag": True, "list": [1, "a", None], "deep": {"os": "linux", "n": {"m": 5}}}, ("red",)),
    ({"n": 2, "s": "Banana", "flag": False, "list": ["b", True], "deep": {"os": "mac"}}, ("yellow", "soft")),
    ({"n": 2.5, "s": "apple pie", "flag": None, "list": [], "deep": "linux"}, ("red", "soft")),
    ({"n": "2", "s": "", "flag": "true", "list": "a", "deep": ["linux"]}, ("Red",)),
    ({"n": -10, "s": "äpfel", "flag": 1, "list": [[1, "a"], {"a": 1}], "deep.os": "linux"}, ("red ",)),
    ({"n": True, "s": "🍎", "flag": 0, "list": [1.0, "ab"], 'q"$[0]': "x", "'; DROP": 1}, ("soft%", "😀")),
)
"""Metadata and tags of entries that filters must tell apart."""

FILTERS: tuple[tuple[tuple[str, ...] | None, Mapping[str, object] | None], ...] = (
    (("red",), None),
    (("red", "yellow"), None),
    (("nothing",), None),
    (("soft%",), None),
    (("red",), {"n": {"gt": 1}}),
    (None, {"n": 2}),
    (None, {"n": 1.0}),
    (None, {"n": "2"}),
    (None, {"flag": True}),
    (None, {"flag": None}),
    (None, {"flag": {"eq": 1}}),
    (None, {"flag": {"ne": True}}),
    (None, {"absent": {"ne": 1}}),
    (None, {"list": [1, "a", None]}),
    (None, {"list": {"ne": []}}),
    (None, {"n": {"in": [1, "2", -10]}}),
    (None, {"n": {"in": []}}),
    (None, {"flag": {"in": [None, False]}}),
    (None, {"s": {"contains": "apple"}}),
    (None, {"s": {"contains": ""}}),
    (None, {"s": {"contains": "%"}}),
    (None, {"list": {"contains": "a"}}),
    (None, {"list": {"contains": 1}}),
    (None, {"list": {"contains": True}}),
    (None, {"list": {"contains": None}}),
    (None, {"n": {"gt": 2}}),
    (None, {"n": {"gte": 2, "lt": 2.5}}),
    (None, {"n": {"lt": 0}}),
    (None, {"n": {"lte": 2}}),
    (None, {"s": {"gt": "apple"}}),
    (None, {"s": {"gte": "apple"}}),
    (None, {"s": {"lt": "a"}}),
    (None, {"s": {"lte": "Banana"}}),
    (None, {"flag": {"exists": True}}),
    (None, {"flag": {"exists": False}}),
    (None, {"deep.os": "linux"}),
    (None, {"deep.os": {"exists": True}}),
    (None, {"deep.n.m": {"gte": 5}}),
    (None, {"deep.n.m.x": {"exists": False}}),
    (None, {"n": 2, "s": {"contains": "an"}}),
    (None, {'q"$[0]': "x"}),
    (None, {"'; DROP": {"gt": 0}}),
    (None, {"n) OR (1=1": {"exists": True}}),
    (None, {"s": "' OR ''='"}),
)
"""Every operator, and what each must not be taken in by."""


class ListingChecks:
    """List, cursors, filters."""

    @check
    async def test_pages_show_everything_once_newest_first(self, bench: Workbench) -> None:
        """Pages of three over seven entries: each once, the total on every page, no cursor on the last."""
        ids = [(await bench.add(f"entry {number}")).id for number in range(7)]
        await bench.add("Bob's", bench.bob)
        shown: list[str] = []
        cursor: str | None = None
        for size in (3, 3, 1):
            page = await bench.list(limit=3, cursor=cursor)
            equal((len(page.memories), page.total_count), (size, 7), "A page has up to `limit` entries, and the total.")
            shown += [entry.id for entry in page.memories]
            cursor = page.next_cursor
            equal(cursor is None, size == 1, "There is a next cursor if and only if there is more.")
        equal(shown, ids[::-1], "Pages show every entry once, newest first.")

    @check
    async def test_a_page_that_just_fits_has_no_next(self, bench: Workbench) -> None:
        """No cursor that would lead to an empty page."""
        await bench.add("one")
        await bench.add("two")
        page = await bench.list(limit=2)
        equal((len(page.memories), page.next_cursor), (2, None), "A full last page has no next cursor.")

    @check
    async def test_pages_are_stable_while_entries_come_and_go(self, bench: Workbench) -> None:
        """What was there from start to end is shown exactly once, whatever happens between pages."""
        ids = [(await bench.add(f"entry {number}")).id for number in range(9)]
        first = await bench.list(limit=3)
        await bench.add("inserted between pages")
        await bench.delete(ids[8])
        second = await bench.list(limit=3, cursor=first.next_cursor)
        await bench.add("inserted again")
        await bench.delete(ids[4])
        third = await bench.list(limit=3, cursor=second.next_cursor)
        shown = [entry.id for page in (first, second, third) for entry in page.memories]
        equal(shown, ids[::-1], "Inserts and deletes between pages neither repeat nor skip an entry.")

    @check
    async def test_a_bad_cursor_is_an_error(self, bench: Workbench) -> None:
        """Never a silent restart: garbage, a changed cursor, one of another scope or filter."""
        for number in range(3):
            await bench.add(f"entry {number}")
            await bench.add(f"Bob's {number}", bench.bob)
        cursor = (await bench.list(limit=1)).next_cursor
        holds(isinstance(cursor, str), "A cursor is text.")
        rule = "A bad cursor is refused."
        for bad in ("", "garbage", "🙂", "A" * 10_000, f"{cursor}x", str(cursor)[:-1]):
            await refuses(bench.list(limit=1, cursor=bad), InvalidCursorError, rule)
        await refuses(bench.list(bench.bob, cursor=cursor), InvalidCursorError, "A cursor is of one scope.")
        if bench.provider.capabilities.metadata_filtering:
            other = bench.list(cursor=cursor, filter=where(n=1))
            await refuses(other, InvalidCursorError, "A cursor is of one filter.")

    @check
    async def test_an_unknown_scope_is_empty(self, bench: Workbench) -> None:
        """No entries, no total, no error."""
        page = await bench.list(bench.scope(bench.alice.layer, user_id="nobody"))
        equal((page.memories, page.next_cursor, page.total_count), ((), None, 0), "An unknown scope is empty.")

    @check
    async def test_expired_entries_are_not_counted(self, bench: Workbench) -> None:
        """The total of a listing is of what can be seen."""
        await bench.add("stays")
        await bench.add("goes", expires_at=bench.now + timedelta(seconds=1))
        bench.advance(seconds=1)
        page = await bench.list()
        equal((len(page.memories), page.total_count), (1, 1), "Expired entries are neither listed nor counted.")

    @check
    async def test_filters_agree_with_the_reference_in_lists_and_searches(self, bench: Workbench) -> None:
        """Every operator on every type, compared with `lamina.memory.filter.matches`."""
        entries = [await self._shelve(bench, number) for number in range(len(SHELF))]
        for tags, conditions in FILTERS:
            filter = parse_filter(tags=tags, where=conditions)
            if not bench.provider.capabilities.metadata_filtering:
                await refuses(bench.list(filter=filter), LaminaError, "A filter is refused rather than ignored.")
                continue
            wanted = {one.id for one in entries if matches(filter, tags=one.tags, metadata=one.metadata)}
            page = await bench.list(filter=filter)
            equal({one.id for one in page.memories}, wanted, f"A listing with tags={tags} where={conditions}.")
            equal(page.total_count, len(wanted), "The total of a listing counts what the filter lets through.")
            found = await bench.search("fruit on the shelf", filter=filter)
            equal(set(found_ids(found)), wanted, f"A search with tags={tags} where={conditions}.")
            equal(found.total, len(wanted), "The total of a search counts what the filter lets through.")

    async def _shelve(self, bench: Workbench, number: int) -> MemoryEntry:
        metadata, tags = SHELF[number]
        return await bench.add(f"fruit number {number} on the shelf", metadata=metadata, tags=tags)

    @check
    async def test_a_filter_follows_updates(self, bench: Workbench) -> None:
        """Changed tags and metadata count at once."""
        if not bench.provider.capabilities.metadata_filtering:
            return
        entry = await bench.add("fruit", metadata={"n": 1}, tags=("old",))
        await bench.search("fruit", filter=tagged("old"))
        await bench.update(entry.id, metadata={"n": 2}, tags=("new",))
        for filter, wanted in ((tagged("old"), ()), (tagged("new"), (entry.id,)), (where(n=1), ()), (where(n=2), 1)):
            ids = (entry.id,) if wanted else ()
            equal(await bench.listed(filter=filter), ids, "Filters see changed tags and metadata in lists.")
            found = found_ids(await bench.search("fruit", filter=filter))
            equal(found, ids, "Filters see changed tags and metadata in searches.")

    @check
    async def test_filtered_pages_show_everything_once(self, bench: Workbench) -> None:
        """Cursors of a filtered listing."""
        if not bench.provider.capabilities.metadata_filtering:
            return
        ids = [(await bench.add(f"entry {n}", metadata={"even": n % 2 == 0})).id for n in range(8)]
        filter: Filter = where(even=True)
        first = await bench.list(limit=3, filter=filter)
        second = await bench.list(limit=3, filter=filter, cursor=first.next_cursor)
        shown = [entry.id for page in (first, second) for entry in page.memories]
        equal(shown, [ids[6], ids[4], ids[2], ids[0]], "Filtered pages show every match once.")
        equal((first.total_count, second.next_cursor), (4, None), "The total counts the matches.")
