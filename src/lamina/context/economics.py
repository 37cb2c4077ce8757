"""Counts for each session what its notes cost a prompt: in the background, after the turn has its prompt."""

from collections.abc import Awaitable, Callable, Sequence

from lamina.context.receipt import Receipt
from lamina.kernel.background import BatchWorker
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics
from lamina.observation.sent import SentTurns

CountTurns = Callable[[Sequence[SentTurns]], Awaitable[object]]
"""Adds to what is stored about sessions."""


class TurnEconomics:
    """Hands on what was sent, turns of one session summed; a full queue drops turns and counts them."""

    def __init__(self, count: CountTurns, *, clock: Clock, metrics: Metrics, max_delay_s: float = 1.0) -> None:
        self._count = count
        self._metrics = metrics
        self.worker: BatchWorker[SentTurns] = BatchWorker(
            self._handle,
            name="turn economics",
            clock=clock,
            capacity=4096,
            batch_size=256,
            max_delay_s=max_delay_s,
            label=lambda turn: f"a turn of {turn.session_key}",
            on_drop=lambda: metrics.background_dropped("turn economics"),
        )

    def sent(self, tenant: str, receipt: Receipt) -> None:
        """Note what a prompt carries of its session; returns at once."""
        if receipt.session_key is None:
            return
        self._metrics.memory_sent(receipt.memory_tokens, receipt.unchanged_memory_tokens)
        self.worker.submit(
            SentTurns(
                tenant=tenant,
                session_key=receipt.session_key,
                turns=1,
                sent_tokens=receipt.memory_tokens,
                unchanged_tokens=receipt.unchanged_memory_tokens,
            )
        )

    async def _handle(self, turns: Sequence[SentTurns]) -> None:
        summed: dict[tuple[str, str], SentTurns] = {}
        for turn in turns:
            before = summed.get((turn.tenant, turn.session_key))
            summed[turn.tenant, turn.session_key] = turn if before is None else before + turn
        await self._count(list(summed.values()))
