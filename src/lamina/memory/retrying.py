"""A provider that tries again what may succeed the next time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from lamina.errors import LaminaError
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryAttempt, RetryPolicy, retry
from lamina.memory.provider import (
    AddRequest,
    Capabilities,
    DeleteRequest,
    Embedding,
    EmbedRequest,
    GetRequest,
    Health,
    ListRequest,
    MemoryProvider,
    ScopeResults,
    SearchRequest,
    UpdateRequest,
)
from lamina.memory.types import MemoryEntry, Page, Revision
from lamina.observability.metrics import Metrics

T = TypeVar("T")


class RetryingProvider(MemoryProvider):
    """Wraps a provider; every operation is tried again as the policy says, and each retry is counted.

    An add is repeated under the same id, so a first attempt that got through without answering is not stored twice.
    """

    def __init__(self, inner: MemoryProvider, *, policy: RetryPolicy, clock: Clock, metrics: Metrics) -> None:
        self.inner = inner
        self._policy = policy
        self._clock = clock
        self._metrics = metrics

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    async def initialize(self) -> None:
        await self.inner.initialize()

    async def shutdown(self) -> None:
        await self.inner.shutdown()

    async def health_check(self) -> Health:
        return await self.inner.health_check()

    async def generate_embedding(self, request: EmbedRequest) -> tuple[Embedding, ...]:
        return await self._again("generate_embedding", lambda: self.inner.generate_embedding(request))

    async def add(self, request: AddRequest) -> MemoryEntry:
        return await self._again("add", lambda: self.inner.add(request))

    async def search(self, request: SearchRequest) -> ScopeResults:
        return await self._again("search", lambda: self.inner.search(request))

    async def search_all(self, requests: Sequence[SearchRequest]) -> Sequence[ScopeResults | LaminaError]:
        answers = await self.inner.search_all(requests)
        asked = zip(requests, answers, strict=True)
        if not any(isinstance(answer, LaminaError) for answer in answers):
            return answers
        return await asyncio.gather(*(self._better(request, answer) for request, answer in asked))

    async def _better(self, request: SearchRequest, answer: ScopeResults | LaminaError) -> ScopeResults | LaminaError:
        """The answer, or, for a failure, what trying again gives."""
        if not isinstance(answer, LaminaError):
            return answer
        known = [answer]

        async def attempt() -> ScopeResults:
            if known:
                raise known.pop()
            return await self.inner.search(request)

        try:
            return await self._again("search", attempt)
        except LaminaError as error:
            return error

    async def get(self, request: GetRequest) -> MemoryEntry | None:
        return await self._again("get", lambda: self.inner.get(request))

    async def update(self, request: UpdateRequest) -> MemoryEntry | None:
        return await self._again("update", lambda: self.inner.update(request))

    async def delete(self, request: DeleteRequest) -> bool:
        return await self._again("delete", lambda: self.inner.delete(request))

    async def list(self, request: ListRequest) -> Page:
        return await self._again("list", lambda: self.inner.list(request))

    async def history(self, request: GetRequest) -> tuple[Revision, ...]:
        return await self._again("history", lambda: self.inner.history(request))

    async def bulk_add(self, requests: Sequence[AddRequest]) -> Sequence[MemoryEntry]:
        return await self._again("bulk_add", lambda: self.inner.bulk_add(requests))

    async def bulk_delete(self, requests: Sequence[DeleteRequest]) -> int:
        return await self._again("bulk_delete", lambda: self.inner.bulk_delete(requests))

    async def _again(self, operation: str, call: Callable[[], Awaitable[T]]) -> T:
        def count(attempt: RetryAttempt) -> None:
            self._metrics.retried(operation, attempt.error.code)

        return await retry(call, policy=self._policy, clock=self._clock, on_retry=count)
