"""Many scopes, many tenants, many callers at once, and many entries in one call."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import anyio

from lamina.errors import InvalidInputError, LaminaError
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, MemoryEntry, MemoryLayer, Scope
from lamina.testing.check import check, equal, holds, refuses
from lamina.testing.workbench import Workbench, found_ids

EVERYBODY = {name: f"the {name}" for name in IDENTIFIER_NAMES}


async def at_once(calls: Iterable[Callable[[], Awaitable[object]]]) -> list[LaminaError]:
    """Run the calls side by side; the errors of the house that some of them raised."""
    refused: list[LaminaError] = []

    async def run(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except LaminaError as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(run, call)
    return refused


class SharingChecks:
    """Isolation of scopes and tenants, bulk operations, concurrency."""

    @check
    async def test_scopes_do_not_see_each_other(self, bench: Workbench) -> None:
        """One entry with the same words in each of the seven layers and for a second tenant."""
        everybody = Identifiers(**EVERYBODY)
        scopes = [
            Scope(tenant=tenant, layer=layer, identifiers=everybody.for_layer(layer))
            for tenant in (bench.tenant, bench.stranger.tenant)
            for layer in MemoryLayer
        ]
        await self._expect_apart(bench, scopes)

    @check
    async def test_identifiers_do_not_run_into_each_other(self, bench: Workbench) -> None:
        """Scopes whose identifiers would be equal if they were joined, cut or folded."""
        session = MemoryLayer.SESSION
        pairs = [("a:b", "c"), ("a", "b:c"), ("a/b", "c"), ("a", "b/c"), ('a","b', "c"), ("a", 'b","c')]
        scopes = [bench.scope(session, user_id=user, session_id=chat) for user, chat in pairs]
        names = ["u", "U", "ü", "u\u0308", "u ", "x" * 200 + "1", "x" * 200 + "2", "%", "_"]
        scopes += [bench.scope(MemoryLayer.USER, user_id=name) for name in names]
        scopes += [bench.scope(MemoryLayer.PROJECT, project_id="u"), bench.scope(MemoryLayer.TEAM, team_id="u")]
        await self._expect_apart(bench, scopes)

    async def _expect_apart(self, bench: Workbench, scopes: list[Scope]) -> None:
        entries = [await bench.add("The password of the wireless network", scope) for scope in scopes]
        for scope, entry in zip(scopes, entries, strict=True):
            rule = f"The scope {scope.layer} {scope.identifiers.to_dict()} holds its own entry only"
            results = await bench.search("wireless network password", scope)
            equal((found_ids(results), results.total), ((entry.id,), 1), f"{rule}: search.")
            page = await bench.list(scope)
            equal((page.memories, page.total_count), ((entry,), 1), f"{rule}: list.")
            equal(await bench.get(entry.id, scope), entry, f"{rule}: get.")
            others = tuple(other for other in scopes if other != scope and other.tenant == scope.tenant)
            equal(await bench.get(entry.id, *others), None, f"{rule}: get from all other scopes.")

    @check
    async def test_a_bulk_add_stores_all_in_order(self, bench: Workbench) -> None:
        """Over several scopes; what is returned is what was asked for, in order."""
        scopes = (bench.alice, bench.bob, bench.stranger)
        requests = [await bench.request(f"bulk entry number {n}", scopes[n % 3]) for n in range(30)]
        stored = await bench.provider.bulk_add(requests)
        equal(list(stored), [request.entry for request in requests], "A bulk add returns the entries in order.")
        for number, scope in enumerate(scopes):
            ids = {request.entry.id for request in requests[number::3]}
            equal(set(await bench.listed(scope)), ids, "A bulk add stores each entry in its scope.")
            equal(set(found_ids(await bench.search("bulk entry", scope))), ids, "What was added in bulk is found.")
        equal(list(await bench.provider.bulk_add([])), [], "A bulk add of nothing is nothing.")

    @check
    async def test_a_bulk_add_with_a_taken_id_is_refused(self, bench: Workbench) -> None:
        """With bulk operations nothing of it is stored."""
        taken = await bench.add("there first")
        requests = [await bench.request(f"bulk {n}") for n in range(4)]
        requests.insert(2, await bench.request("there second", id=taken.id))
        rule = "A bulk add with a taken id is refused."
        await refuses(bench.provider.bulk_add(requests), InvalidInputError, rule)
        if bench.provider.capabilities.bulk_operations:
            equal(await bench.listed(), (taken.id,), "A refused bulk add stores nothing.")
            equal(found_ids(await bench.search("bulk")), (taken.id,), "A refused bulk add leaves nothing to find.")
            twins = [await bench.request("twin", id="twin"), await bench.request("other twin", id="twin")]
            await refuses(bench.provider.bulk_add(twins), InvalidInputError, "An id twice in one call is refused.")
            equal(await bench.get("twin"), None, "A refused bulk add stores nothing.")

    @check
    async def test_a_bulk_delete_counts_what_was_there(self, bench: Workbench) -> None:
        """Unknown ids, repetitions and entries out of reach do not count."""
        mine = [await bench.add(f"mine {n}") for n in range(3)]
        theirs = await bench.add("Bob's", bench.bob)
        ids = [mine[0].id, mine[2].id, "no-such-id", theirs.id, mine[0].id]
        deleted = await bench.provider.bulk_delete([bench.deletion(id) for id in ids])
        equal(deleted, 2, "A bulk delete counts the entries that were there and within reach.")
        equal(await bench.listed(), (mine[1].id,), "A bulk delete deletes what it names.")
        equal(found_ids(await bench.search("mine")), (mine[1].id,), "What was deleted in bulk is not found.")
        equal(await bench.listed(bench.bob), (theirs.id,), "A bulk delete stays within its scopes.")
        equal(await bench.provider.bulk_delete([]), 0, "A bulk delete of nothing deletes nothing.")

    @check
    async def test_adds_at_once_are_all_found(self, bench: Workbench) -> None:
        """32 callers, one scope; every entry is stored, listed and found."""
        requests = [await bench.request(f"concurrent entry number {n}") for n in range(32)]
        refused = await at_once([partial(bench.provider.add, request) for request in requests])
        equal(refused, [], "Adds at once are all accepted.")
        ids = {request.entry.id for request in requests}
        equal(set(await bench.listed()), ids, "Adds at once are all listed.")
        equal(set(found_ids(await bench.search("concurrent entry"))), ids, "Adds at once are all found.")

    @check
    async def test_of_adds_at_once_under_one_id_one_wins(self, bench: Workbench) -> None:
        """The others are refused, and nothing of them stays."""
        requests = [await bench.request(f"contender number {n}", id="the-one") for n in range(8)]
        refused = await at_once([partial(bench.provider.add, request) for request in requests])
        equal(len(refused), 7, "Of adds at once under one id exactly one is accepted.")
        holds(all(isinstance(error, InvalidInputError) for error in refused), "The others are InvalidInputError.")
        found = await bench.search("contender number")
        equal((await bench.listed(), found_ids(found)), (("the-one",), ("the-one",)), "One entry is stored.")

    @check
    async def test_updates_at_once_are_none_lost(self, bench: Workbench) -> None:
        """16 callers each merge a key of their own."""
        entry = await bench.add("shared")
        calls = [partial(bench.update, entry.id, metadata={f"key {n}": n}) for n in range(16)]
        equal(await at_once(calls), [], "Updates at once are all accepted.")
        read = await bench.get(entry.id)
        metadata = {f"key {n}": n for n in range(16)}
        equal(read and (dict(read.metadata), read.version), (metadata, 17), "No update at once is lost.")
        equal(len(await bench.history(entry.id)), 17, "Every update at once has its place in the history.")

    @check
    async def test_of_deletes_at_once_one_counts(self, bench: Workbench) -> None:
        """Eight callers delete one entry."""
        entry = await bench.add("shared")
        deleted: list[bool] = []

        async def delete() -> None:
            deleted.append(await bench.delete(entry.id))

        equal(await at_once([delete] * 8), [], "Deletes at once are all accepted.")
        equal(sorted(deleted), [False] * 7 + [True], "Of deletes at once exactly one was there to do.")

    @check
    async def test_reading_and_writing_at_once_agree(self, bench: Workbench) -> None:
        """Searches, lists and changes side by side raise nothing; in the end everything fits together."""
        entries: list[MemoryEntry] = [await bench.add(f"shared entry {n}") for n in range(16)]

        async def change(n: int) -> None:
            await bench.update(entries[n].id, content=f"changed entry {n}")
            if n % 2:
                await bench.delete(entries[n].id)
            await bench.search("changed entry")
            await bench.list()

        equal(await at_once([partial(change, n) for n in range(16)]), [], "Nothing fails side by side.")
        left = {entry.id for entry in entries[::2]}
        found = await bench.search("changed entry")
        equal((set(found_ids(found)), found.total), (left, 8), "In the end search finds what is left.")
        equal(set(await bench.listed()), left, "In the end the list shows what is left.")
