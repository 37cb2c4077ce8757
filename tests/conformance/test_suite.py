"""The conformance suite itself: it needs no plugin, follows capabilities, and fails on broken providers."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from lamina.errors import InvalidCursorError, InvalidInputError, LaminaError
from lamina.memory.filter import Filter
from lamina.memory.provider import (
    AddRequest,
    Capabilities,
    DeleteRequest,
    Embedding,
    EmbedRequest,
    GetRequest,
    ListRequest,
    MemoryProvider,
    ScopeResults,
    SearchRequest,
    UpdateRequest,
)
from lamina.memory.types import MemoryEntry, Page, Revision
from lamina.testing import MemoryProviderConformance
from lamina.testing.check import check, refuses
from lamina.testing.workbench import Workbench
from tests.stores import sql_provider
from tests.wrapping import WrappingProvider

EARLY = datetime(1970, 1, 2, tzinfo=UTC)


class WithoutBulk(WrappingProvider):
    """Bulk calls come from the port's own derivation."""

    bulk_add = MemoryProvider.bulk_add
    bulk_delete = MemoryProvider.bulk_delete

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, bulk_operations=False)


class WithoutFilters(WrappingProvider):
    """Refuses filters, and says so."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, metadata_filtering=False)

    async def list(self, request: ListRequest) -> Page:
        if request.filter != Filter():
            raise InvalidInputError("no filters here")
        return await self.inner.list(request)


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("suite") / "lamina.db")


@pytest.mark.requirement("memory.capabilities.no-bulk")
class TestWithoutBulkOrFilters(MemoryProviderConformance):
    @pytest.fixture(autouse=True)
    def store(self, shared_file: str) -> None:
        self.url = shared_file

    async def make_provider(self) -> MemoryProvider:
        return WithoutFilters(WithoutBulk(sql_provider(self.url)))


# Providers with one fault each.


class IgnoresThreshold(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        return await self.inner.search(replace(request, threshold=0.0))


class IgnoresLimit(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        return await self.inner.search(replace(request, limit=100))


class CountsThePage(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        results = await self.inner.search(request)
        return replace(results, total=len(results.found))


class FiltersAfterTheLimit(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        page = await self.inner.list(
            ListRequest(scope=request.scope, limit=100, now=request.now, filter=request.filter)
        )
        passed = {entry.id for entry in page.memories}
        results = await self.inner.search(replace(request, filter=Filter()))
        return replace(results, found=tuple(one for one in results.found if one.entry.id in passed))


class WorstFirst(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        results = await self.inner.search(request)
        return replace(results, found=results.found[::-1])


class ForgetsExpiry(WrappingProvider):
    async def get(self, request: GetRequest) -> MemoryEntry | None:
        return await self.inner.get(replace(request, now=EARLY))


class FindsExpired(WrappingProvider):
    async def search(self, request: SearchRequest) -> ScopeResults:
        return await self.inner.search(replace(request, now=EARLY))


class LeaksTenants(WrappingProvider):
    """Keeps every tenant's entries in one place."""

    async def add(self, request: AddRequest) -> MemoryEntry:
        return await self.inner.add(replace(request, scope=replace(request.scope, tenant="all")))

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        scopes = tuple(replace(scope, tenant="all") for scope in request.scopes)
        return await self.inner.get(replace(request, tenant="all", scopes=scopes))


class IgnoresScopes(WrappingProvider):
    async def get(self, request: GetRequest) -> MemoryEntry | None:
        everything = await self.inner.history(request)
        return None if not everything else await self.inner.get(request)

    async def delete(self, request: DeleteRequest) -> bool:
        await self.inner.delete(request)
        return True


class LosesMetadata(WrappingProvider):
    async def add(self, request: AddRequest) -> MemoryEntry:
        await self.inner.add(replace(request, entry=replace(request.entry, metadata={})))
        return request.entry


class ReplacesMetadata(WrappingProvider):
    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        updated = await self.inner.update(request)
        return updated and replace(updated, metadata=request.metadata or updated.metadata)


class NormalisesText(WrappingProvider):
    async def add(self, request: AddRequest) -> MemoryEntry:
        await self.inner.add(replace(request, entry=replace(request.entry, content=request.entry.content.strip())))
        return request.entry


class RestartsOnBadCursors(WrappingProvider):
    async def list(self, request: ListRequest) -> Page:
        try:
            return await self.inner.list(request)
        except InvalidCursorError:
            return await self.inner.list(replace(request, cursor=None))


class AlwaysHasMore(WrappingProvider):
    async def list(self, request: ListRequest) -> Page:
        page = await self.inner.list(request)
        return replace(page, next_cursor=page.next_cursor or "more")


class OverwritesTakenIds(WrappingProvider):
    async def add(self, request: AddRequest) -> MemoryEntry:
        await self.inner.delete(
            DeleteRequest(tenant=request.scope.tenant, id=request.entry.id, scopes=(request.scope,))
        )
        return await self.inner.add(request)


class LosesHistory(WrappingProvider):
    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        return (await self.inner.history(request))[-1:]


class LongVectors(WrappingProvider):
    async def generate_embedding(self, request: EmbedRequest) -> tuple[Embedding, ...]:
        made = await self.inner.generate_embedding(request)
        return tuple(replace(one, vector=None if one.vector is None else one.vector * np.float32(3)) for one in made)


class StoresHalfABulk(WrappingProvider):
    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        return [await self.inner.add(request) for request in requests]


class IgnoresFilters(WrappingProvider):
    async def list(self, request: ListRequest) -> Page:
        return await self.inner.list(replace(request, filter=Filter()))


class LosesUpdates(WrappingProvider):
    """Reads, then writes: what others wrote in between is gone."""

    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        read = await self.inner.get(GetRequest(tenant=request.tenant, id=request.id, scopes=request.scopes, now=EARLY))
        updated = await self.inner.update(request)
        return updated if read is None or updated is None else replace(updated, version=read.version + 1)

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        read = await self.inner.get(request)
        return read and replace(read, metadata=dict(list(read.metadata.items())[:1]))


FAULTS: list[tuple[Callable[[MemoryProvider], MemoryProvider], str]] = [
    (IgnoresThreshold, "test_a_threshold_cuts_below_and_keeps_what_equals_it"),
    (IgnoresLimit, "test_a_limit_keeps_the_best_and_the_total"),
    (CountsThePage, "test_a_limit_keeps_the_best_and_the_total"),
    (FiltersAfterTheLimit, "test_a_filter_runs_before_the_limit"),
    (WorstFirst, "test_the_better_match_comes_first"),
    (WorstFirst, "test_scores_are_relevances_in_order"),
    (ForgetsExpiry, "test_an_expired_entry_reads_as_absent"),
    (FindsExpired, "test_what_expired_neither_shows_nor_fills_the_limit"),
    (LeaksTenants, "test_an_entry_is_read_only_from_its_own_scope"),
    (LeaksTenants, "test_another_tenant_may_use_the_same_id"),
    (IgnoresScopes, "test_a_delete_out_of_reach_deletes_nothing"),
    (IgnoresScopes, "test_deleting_is_idempotent_and_complete"),
    (LosesMetadata, "test_every_field_survives_exactly"),
    (ReplacesMetadata, "test_metadata_is_merged_shallowly"),
    (NormalisesText, "test_text_of_any_script_survives_exactly"),
    (RestartsOnBadCursors, "test_a_bad_cursor_is_an_error"),
    (AlwaysHasMore, "test_a_page_that_just_fits_has_no_next"),
    (OverwritesTakenIds, "test_an_id_that_is_taken_is_refused"),
    (LosesHistory, "test_history_shows_every_state_oldest_first"),
    (LongVectors, "test_embeddings_come_in_order_and_normalised"),
    (StoresHalfABulk, "test_a_bulk_add_with_a_taken_id_is_refused"),
    (IgnoresFilters, "test_filters_agree_with_the_reference_in_lists_and_searches"),
    (LosesUpdates, "test_updates_at_once_are_none_lost"),
]


@pytest.mark.parametrize(("fault", "name"), FAULTS)
def test_a_fault_fails_its_check(
    fault: Callable[[MemoryProvider], MemoryProvider], name: str, shared_file: str
) -> None:
    class Suite(MemoryProviderConformance):
        async def make_provider(self) -> MemoryProvider:
            return fault(sql_provider(shared_file))

    with pytest.raises((AssertionError, LaminaError)):
        getattr(Suite(), name)()


def test_every_check_says_what_it_is_about() -> None:
    checks = [name for name in dir(MemoryProviderConformance) if name.startswith("test_")]
    assert len(checks) > 50
    assert [name for name in checks if not getattr(MemoryProviderConformance, name).__doc__] == []


def test_five_lines_prove_a_provider_without_any_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from lamina.testing import MemoryProviderConformance\n"
        "from tests.stores import sql_provider\n"
        "class TestMine(MemoryProviderConformance):\n"
        "    async def make_provider(self):\n"
        f"        return sql_provider({str(tmp_path / 'mine.db')!r})\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:anyio", "-p", "no:cacheprovider", "test_mine.py"]
    project = Path(__file__).parents[2]
    paths = f"{project / 'src'}:{project}"
    run = subprocess.run(
        [*command, "-k", "health or capab or added"],
        cwd=tmp_path,
        env={"PYTHONPATH": paths, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def test_importing_the_suite_does_not_need_pytest() -> None:
    source = "import sys, lamina.testing; sys.exit('pytest' in sys.modules)"
    paths = str(Path(__file__).parents[2] / "src")
    assert subprocess.run([sys.executable, "-c", source], env={"PYTHONPATH": paths}, check=False).returncode == 0


def test_a_suite_without_a_provider_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match="make_provider"):
        MemoryProviderConformance().test_an_open_provider_is_healthy()


@pytest.mark.anyio
async def test_refuses_tells_the_wrong_error_from_none() -> None:
    async def fails() -> None:
        raise KeyError("x")

    async def answers() -> int:
        return 7

    calls: list[tuple[Callable[[], Awaitable[object]], str]] = [(fails, "KeyError"), (answers, "returned: 7")]
    for call, shown in calls:
        with pytest.raises(AssertionError, match=shown):
            await refuses(call(), LaminaError, "the rule")


def test_a_failing_check_still_shuts_the_provider_down(shared_file: str) -> None:
    closed: list[bool] = []

    class Closing(WrappingProvider):
        async def shutdown(self) -> None:
            closed.append(True)
            await self.inner.shutdown()

    class Suite:
        async def make_provider(self) -> MemoryProvider:
            return Closing(sql_provider(shared_file))

        @check
        async def fails(self, bench: Workbench) -> None:
            raise AssertionError("on purpose")

    with pytest.raises(AssertionError, match="on purpose"):
        Suite().fails()
    assert closed == [True]
