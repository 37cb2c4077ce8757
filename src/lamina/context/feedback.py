"""Tells knowledge what was put before a model: counted in the background, after the turn has its prompt."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from lamina.context.types import ContextItem, ContextLayer
from lamina.kernel.background import BatchWorker
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics

CountUse = Callable[[str, Sequence[str]], Awaitable[object]]
"""Counts one use of each of a tenant's keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    tenant: str
    key: str


class UseFeedback:
    """Hands the keys of injected knowledge on, in batches; a full queue drops uses and counts them."""

    def __init__(self, count: CountUse, *, clock: Clock, metrics: Metrics, max_delay_s: float = 1.0) -> None:
        self._count = count
        self.worker: BatchWorker[_Use] = BatchWorker(
            self._handle,
            name="use feedback",
            clock=clock,
            capacity=4096,
            batch_size=256,
            max_delay_s=max_delay_s,
            label=lambda use: f"a use of {use.key}",
            on_drop=lambda: metrics.background_dropped("use feedback"),
        )

    def injected(self, tenant: str, items: Sequence[ContextItem]) -> None:
        """Note what a prompt carries; returns at once."""
        for item in items:
            if item.layer is ContextLayer.USER_KNOWLEDGE:
                self.worker.submit(_Use(tenant=tenant, key=item.key))

    async def _handle(self, uses: Sequence[_Use]) -> None:
        # A key that several prompts carried was used several times: each round counts every key once.
        left = Counter((use.tenant, use.key) for use in uses)
        while left:
            now = sorted(left)
            for tenant, group in groupby(now, itemgetter(0)):
                await self._count(tenant, [key for _, key in group])
            left -= Counter(now)
