"""A chat model that tries again what may succeed the next time."""

from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryAttempt, RetryPolicy, retry
from lamina.llm.types import ChatModel, ChatReply, ChatRequest
from lamina.observability.metrics import Metrics


class RetryingChatModel(ChatModel):
    """Wraps a chat model; a request is asked again as the policy says, and each retry is counted."""

    def __init__(self, inner: ChatModel, *, policy: RetryPolicy, clock: Clock, metrics: Metrics) -> None:
        self.inner = inner
        self._policy = policy
        self._clock = clock
        self._metrics = metrics

    def __repr__(self) -> str:
        return f"RetryingChatModel({self.inner!r})"

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        def count(attempt: RetryAttempt) -> None:
            self._metrics.retried("chat", attempt.error.code)

        return await retry(lambda: self.inner.complete(request), policy=self._policy, clock=self._clock, on_retry=count)

    async def aclose(self) -> None:
        await self.inner.aclose()
