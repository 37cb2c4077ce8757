"""Retries of what may succeed the next time, on a clock that nobody waits for."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from lamina.app import App
from lamina.errors import (
    EmbeddingFailedError,
    InvalidInputError,
    LaminaError,
    OperationTimeoutError,
    ProviderError,
    RateLimitedError,
)
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy
from lamina.memory.provider import (
    AddRequest,
    DeleteRequest,
    GetRequest,
    ListRequest,
    MemoryProvider,
    ScopeResults,
    SearchRequest,
    UpdateRequest,
)
from lamina.memory.retrying import RetryingProvider
from lamina.memory.service import MemoryService
from lamina.memory.types import MemoryEntry, NewMemory, Page, Revision
from lamina.observability.prometheus import render_prometheus
from tests.stores import CountingEmbedder
from tests.wrapping import WrappingProvider

pytestmark = pytest.mark.anyio


class Flaky(WrappingProvider):
    """Raises what is queued before it answers; `after` raises once the work is done, as a lost answer would."""

    def __init__(
        self, inner: MemoryProvider, errors: Sequence[Exception] = (), after: Sequence[Exception] = ()
    ) -> None:
        super().__init__(inner)
        self.errors = list(errors)
        self.after = list(after)
        self.calls: list[str] = []

    def _trip(self, verb: str) -> None:
        self.calls.append(verb)
        if self.errors:
            raise self.errors.pop(0)

    async def add(self, request: AddRequest) -> MemoryEntry:
        self._trip("add")
        entry = await self.inner.add(request)
        if self.after:
            raise self.after.pop(0)
        return entry

    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        self._trip("bulk_add")
        entries = await self.inner.bulk_add(requests)
        if self.after:
            raise self.after.pop(0)
        return entries

    async def search(self, request: SearchRequest) -> ScopeResults:
        self._trip("search")
        return await self.inner.search(request)

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        self._trip("get")
        return await self.inner.get(request)

    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        self._trip("update")
        return await self.inner.update(request)

    async def delete(self, request: DeleteRequest) -> bool:
        self._trip("delete")
        return await self.inner.delete(request)

    async def list(self, request: ListRequest) -> Page:
        self._trip("list")
        return await self.inner.list(request)

    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        self._trip("history")
        return await self.inner.history(request)

    async def bulk_delete(self, requests: Sequence[DeleteRequest]) -> int:
        self._trip("bulk_delete")
        return await self.inner.bulk_delete(requests)


def flaky(app: App, clock: ManualClock, errors: Sequence[Exception] = (), **more: Sequence[Exception]) -> MemoryService:
    """The app's memory on a provider that fails first, behind the default policy."""
    provider = Flaky(app.parts.provider, errors, **more)
    return replace(
        app.memory,
        provider=RetryingProvider(provider, policy=RetryPolicy(), clock=clock, metrics=app.metrics),
    )


def jittered(*planned: float) -> Callable[[list[float]], bool]:
    def fits(slept: list[float]) -> bool:
        return len(slept) == len(planned) and all(
            0.85 * plan <= done <= 1.15 * plan for plan, done in zip(planned, slept, strict=True)
        )

    return fits


@pytest.mark.requirement("memory.errors.provider-retry")
async def test_a_transient_failure_is_tried_again_after_one_two_and_four_seconds(app: App, clock: ManualClock) -> None:
    memory = flaky(app, clock, [ProviderError("gone"), OperationTimeoutError("slow"), ProviderError("gone again")])
    added = await memory.add("stored in the end", user_id="u")
    assert jittered(1, 2, 4)(clock.slept)
    assert await app.memory.get(added.id, user_id="u") == added.memory
    page = render_prometheus(app.metrics)
    assert 'retry_attempts_total{code="PROVIDER_ERROR",operation="add"} 2.0' in page
    assert 'retry_attempts_total{code="TIMEOUT",operation="add"} 1.0' in page


@pytest.mark.requirement("memory.errors.provider-retry")
async def test_after_three_retries_the_error_is_the_callers(app: App, clock: ManualClock) -> None:
    memory = flaky(app, clock, [ProviderError(f"failure {number}") for number in range(9)])
    with pytest.raises(ProviderError) as caught:
        await memory.get("x", user_id="u")
    assert caught.value.to_dict() == {
        "code": "PROVIDER_ERROR",
        "message": "failure 3",
        "operation": "get",
        "retryable": True,
        "details": {"attempts": 4},
    }
    assert jittered(1, 2, 4)(clock.slept)


@pytest.mark.requirement("memory.errors.rate-limited")
async def test_a_rate_limit_waits_as_long_as_it_was_told(app: App, clock: ManualClock) -> None:
    memory = flaky(app, clock, [RateLimitedError(details={"retry_after": 12}), RateLimitedError()])
    await memory.list(user_id="u")
    assert clock.slept[0] == 12
    assert jittered(2)(clock.slept[1:])
    with pytest.raises(RateLimitedError) as caught:
        await flaky(app, clock, [RateLimitedError(details={"retry_after": 3600})]).list(user_id="u")
    assert (caught.value.code, caught.value.retryable, caught.value.operation) == ("RATE_LIMITED", True, "list")
    assert len(clock.slept) == 2


async def test_what_cannot_succeed_is_not_tried_again(app: App, clock: ManualClock) -> None:
    for error in (InvalidInputError("no"), ZeroDivisionError("a bug")):
        with pytest.raises(type(error)):
            await flaky(app, clock, [error]).get("x", user_id="u")
    assert clock.slept == []


async def test_every_verb_is_tried_again(app: App, clock: ManualClock) -> None:
    added = await app.memory.add("there", user_id="u")

    def failing() -> MemoryService:
        return flaky(app, clock, [ProviderError("once")])

    calls: list[Awaitable[object]] = [
        failing().add("x", user_id="u"),
        failing().bulk_add([NewMemory(content="y", identifiers=added.memory.identifiers)]),
        failing().search("x", user_id="u"),
        failing().get(added.id, user_id="u"),
        failing().update(added.id, tags=["t"], user_id="u"),
        failing().history(added.id, user_id="u"),
        failing().list(user_id="u"),
        failing().bulk_delete([added.id], user_id="u"),
        failing().delete(added.id, user_id="u"),
    ]
    for call in calls:
        await call
    assert len(clock.slept) == len(calls)


async def test_an_add_whose_answer_was_lost_is_stored_once(app: App, clock: ManualClock) -> None:
    added = await flaky(app, clock, after=[ProviderError("the answer was lost")]).add("once", user_id="u")
    many = [NewMemory(content=f"bulk {n}", identifiers=added.memory.identifiers) for n in range(3)]
    await flaky(app, clock, after=[ProviderError("the answer was lost")]).bulk_add(many)
    page = await app.memory.list(user_id="u")
    assert sorted(entry.content for entry in page.memories) == ["bulk 0", "bulk 1", "bulk 2", "once"]


async def test_a_failing_embedder_is_tried_again(app: App, clock: ManualClock, embedder: CountingEmbedder) -> None:
    embedder.failures = [EmbeddingFailedError("busy"), RateLimitedError(details={"retry_after": 3})]
    assert (await app.memory.add("embedded in the end", user_id="u")).embedding_generated
    assert jittered(1)(clock.slept[:1])
    assert clock.slept[1] == 3
    embedder.failures = [EmbeddingFailedError("down") for _ in range(4)]
    with pytest.raises(EmbeddingFailedError) as caught:
        await app.memory.add("never embedded", user_id="u")
    assert (caught.value.code, caught.value.retryable, caught.value.operation) == ("EMBEDDING_FAILED", True, "add")
    assert (await app.memory.list(user_id="u")).total_count == 1


async def test_a_closed_store_is_not_waited_for(app: App, clock: ManualClock) -> None:
    memory = app.memory
    await app.close()
    for call in (memory.add("x", user_id="u"), memory.get("x", user_id="u")):
        with pytest.raises(LaminaError, match="closed"):
            await call
    assert clock.slept == []
