"""Adding and reading back: exactly what went in, and only for whom it was meant."""

from datetime import UTC, datetime, timedelta, timezone

from lamina.errors import InvalidInputError
from lamina.memory.provider import AddRequest, Embedding
from lamina.memory.types import Source
from lamina.testing.check import check, equal, refuses
from lamina.testing.workbench import Workbench, found_ids

NASTY = (
    "plain",
    " leading and trailing \n\t",
    "שלום עולם, مرحبا بالعالم \u202eabc\u202c",
    "日本語のテキスト、한국어, 中文。",
    "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇺🇳 \U0010ffff",
    "e\u0301 versus é, ﬀ, ẞ, İ, \u200b\ufeff",
    "'; DROP TABLE memory; -- \" ` \\ \\n %s %(x)s :x ? $1 {x} <b>",
    'NEAR("a" "b") AND NOT * ^ - col:x "unclosed',
    "line\r\nbreak\x85\u2028\u2029 \x01\x1f\x7f",
    '{"looks": ["like", "json"]}',
    "null",
)


class StoringChecks:
    """Add, get, round trips, duplicate ids."""

    @check
    async def test_an_added_entry_is_returned_and_read_back(self, bench: Workbench) -> None:
        """What add returns and get reads is the entry."""
        request = await bench.request("Alice prefers the dark theme")
        equal(await bench.provider.add(request), request.entry, "Add returns the entry.")
        equal(await bench.get(request.entry.id), request.entry, "Get reads the entry that was added.")

    @check
    async def test_every_field_survives_exactly(self, bench: Workbench) -> None:
        """Metadata of every type, tags in order, the source, times to the microsecond."""
        moment = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
        request = await bench.request(
            "All fields",
            metadata={
                "text": "x",
                "whole": 2**53,
                "negative": -1,
                "real": 0.1,
                "tiny": 5e-324,
                "yes": True,
                "no": False,
                "nothing": None,
                "list": [1, "a", None, [True], {"b": []}],
                "object": {"deep": {"deeper": {}}},
                "": "empty key",
                "a.b": "dotted key",
            },
            tags=("z", "a", "m"),
            source=Source(
                kind="conversation",
                conversation="c-1",
                sequence=7,
                author="Ann",
                said_at=moment,
                reference="https://example.org/?a=b",
            ),
            created_at=moment,
            updated_at=moment + timedelta(microseconds=1),
            expires_at=datetime(2999, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
            version=3,
        )
        await bench.provider.add(request)
        equal(await bench.get(request.entry.id), request.entry, "Every field of an entry survives exactly.")

    @check
    async def test_a_moment_in_another_time_zone_is_the_same_moment(self, bench: Workbench) -> None:
        """Times are moments, wherever they were written down."""
        there = datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
        entry = await bench.add("From Kathmandu", created_at=there, updated_at=there)
        read = await bench.get(entry.id)
        equal(read and read.created_at, there, "A moment survives its time zone.")

    @check
    async def test_text_of_any_script_survives_exactly(self, bench: Workbench) -> None:
        """Right-to-left, CJK, emoji, combining characters, query syntax: content, metadata and tags."""
        for text in NASTY:
            request = await bench.request(
                text, metadata={text: text, "list": [text]}, tags=(text,), source=Source(author=text, reference=text)
            )
            await bench.provider.add(request)
            equal(await bench.get(request.entry.id), request.entry, "Text survives exactly, whatever its characters.")
            await bench.search(text)

    @check
    async def test_a_long_text_survives_exactly(self, bench: Workbench) -> None:
        """As much as the provider says it stores, up to 100,000 characters."""
        length = min(bench.provider.capabilities.max_content_length, 100_000)
        request = await bench.request(("Räuber " * (length // 7 + 1))[:length])
        await bench.provider.add(request)
        equal(await bench.get(request.entry.id), request.entry, "A text of the stated length survives exactly.")

    @check
    async def test_identifiers_of_any_script_keep_their_scope(self, bench: Workbench) -> None:
        """An identifier is any text; the scope it names is found again by it alone."""
        for text in NASTY:
            scope = bench.scope(bench.alice.layer, user_id=text)
            entry = await bench.add("mine", scope)
            equal(
                await bench.listed(scope), (entry.id,), "A scope is found by its identifier, whatever its characters."
            )

    @check
    async def test_an_id_is_any_text(self, bench: Workbench) -> None:
        """Ids of imports are kept as they are."""
        for number, text in enumerate(NASTY):
            entry = await bench.add(f"entry {number}", id=text)
            equal(await bench.get(text), entry, "An entry is found by its id, whatever its characters.")

    @check
    async def test_an_id_that_is_taken_is_refused(self, bench: Workbench) -> None:
        """A second entry under one id is an error and changes nothing."""
        first = await bench.add("The first")
        again = await bench.request("The second", id=first.id)
        await refuses(bench.provider.add(again), InvalidInputError, "An id that the tenant has is refused.")
        elsewhere = await bench.request("The third", bench.bob, id=first.id)
        await refuses(bench.provider.add(elsewhere), InvalidInputError, "An id is taken in every scope of a tenant.")
        equal(await bench.get(first.id), first, "A refused add changes nothing.")
        equal(await bench.listed(bench.bob), (), "A refused add stores nothing.")
        equal(found_ids(await bench.search("the second third")), (first.id,), "A refused add cannot be found.")

    @check
    async def test_another_tenant_may_use_the_same_id(self, bench: Workbench) -> None:
        """Ids are a tenant's own."""
        mine = await bench.add("Mine")
        theirs = await bench.add("Theirs", bench.stranger, id=mine.id)
        equal(await bench.get(mine.id), mine, "Tenants do not share ids.")
        equal(await bench.get(mine.id, bench.stranger), theirs, "Tenants do not share ids.")

    @check
    async def test_an_entry_without_a_vector_is_stored(self, bench: Workbench) -> None:
        """A text with nothing to embed is a memory all the same."""
        entry = bench.entry("!?")
        request = AddRequest(scope=bench.alice, entry=entry, embedding=Embedding(vector=None))
        equal(await bench.provider.add(request), entry, "An entry without a vector is stored.")
        equal(await bench.get(entry.id), entry, "An entry without a vector is read back.")
        equal(await bench.listed(), (entry.id,), "An entry without a vector is listed.")
        await bench.search("!?")

    @check
    async def test_an_unknown_id_reads_as_nothing(self, bench: Workbench) -> None:
        """Get returns None, history nothing; neither raises."""
        for id in ("", "no-such-id", "x" * 1000, *NASTY):
            equal(await bench.get(id), None, "An unknown id is None.")
            equal(tuple(await bench.history(id)), (), "An unknown id has no history.")

    @check
    async def test_an_entry_is_read_only_from_its_own_scope(self, bench: Workbench) -> None:
        """Of several scopes one must be the entry's; no scope reaches nothing."""
        entry = await bench.add("For Alice")
        equal(await bench.get(entry.id, bench.bob), None, "An entry outside the scopes reads as absent.")
        equal(await bench.get(entry.id, bench.bob, bench.alice), entry, "One matching scope of several is enough.")
        equal(await bench.get(entry.id, bench.stranger), None, "An entry of another tenant reads as absent.")
        equal(tuple(await bench.history(entry.id, bench.bob)), (), "A history outside the scopes is empty.")
        equal(tuple(await bench.history(entry.id, bench.stranger)), (), "Another tenant's history is empty.")

    @check
    async def test_an_expired_entry_reads_as_absent(self, bench: Workbench) -> None:
        """From the very moment it expires, and not before; the request's time decides."""
        entry = await bench.add("Until one", expires_at=bench.now + timedelta(hours=1))
        bench.advance(minutes=59)
        equal(await bench.get(entry.id), entry, "An entry is there until it expires.")
        bench.advance(minutes=1)
        equal(await bench.get(entry.id), None, "An expired entry reads as absent.")
        equal(tuple(await bench.history(entry.id)), (), "An expired entry has no history.")
        equal(await bench.listed(), (), "An expired entry is not listed.")
        equal(found_ids(await bench.search("until one")), (), "An expired entry is not found.")
