"""What happened how often and how long it took, as OpenTelemetry instruments with the specification's names.

There is no global: an instance is passed to whoever measures. `Metrics()` records nothing and costs next to
nothing, `Metrics(provider)` records into the provider of the surrounding application, and
`Metrics.collecting()` owns a provider whose values `render_prometheus` shows.
"""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Self

from opentelemetry.metrics import CallbackOptions, MeterProvider, NoOpMeterProvider, Observation
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

from lamina.errors import LaminaError
from lamina.kernel.clock import Clock, SystemClock
from lamina.observability.tally import Tally, level, tally

Attributes = dict[str, str]

_LATENCY_MS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000)
_RESULTS = (0, 1, 2, 5, 10, 20, 50, 100)


class Metrics:
    """The instruments of the house; every method is cheap and safe from any thread."""

    def __init__(
        self,
        meter_provider: MeterProvider | None = None,
        *,
        clock: Clock | None = None,
        reader: InMemoryMetricReader | None = None,
    ) -> None:
        """Record into `meter_provider`; `reader` is what it feeds, if `render_prometheus` shall show it."""
        self.enabled = meter_provider is not None
        self.reader = reader
        self._own_provider: SdkMeterProvider | None = None
        self._clock: Clock = clock or SystemClock()
        self._known: dict[tuple[str, ...], Attributes] = {}
        self._provider = meter_provider or NoOpMeterProvider()
        self._meter = self._provider.get_meter("lamina")
        self._create_memory_instruments()
        self._create_ground_instruments()
        self._create_observation_instruments()

    @classmethod
    def collecting(cls, *, clock: Clock | None = None) -> Self:
        """Metrics with a provider of their own, read in memory; end it with `shutdown`."""
        reader = InMemoryMetricReader()
        # Resource and filter are explicit, because their defaults read the environment.
        provider = SdkMeterProvider(
            [reader],
            Resource({"service.name": "lamina"}),
            exemplar_filter=AlwaysOffExemplarFilter(),
            shutdown_on_exit=False,
        )
        metrics = cls(provider, clock=clock, reader=reader)
        metrics._own_provider = provider
        return metrics

    def _counter(self, name: str, unit: str, description: str) -> Tally:
        return tally(self._provider, name, unit, description)

    def _create_memory_instruments(self) -> None:
        meter = self._meter
        self._operations = self._counter(
            "memory.operations.total", "{operation}", "Operations by kind and outcome (ok, error, cancelled)"
        )
        self._latency = meter.create_histogram(
            "memory.operations.latency",
            "ms",
            "Duration of operations in milliseconds",
            explicit_bucket_boundaries_advisory=_LATENCY_MS,
        )
        self._errors = self._counter("memory.operations.errors", "{error}", "Failures by operation and error code")
        self._results = meter.create_histogram(
            "memory.search.results",
            "{result}",
            "Results of a search by layer",
            explicit_bucket_boundaries_advisory=_RESULTS,
        )

    def _create_ground_instruments(self) -> None:
        self._requests = self._counter("embedding.requests", "{request}", "Calls of the embedder")
        self._texts = self._counter("embedding.texts", "{text}", "Texts sent to the embedder")
        self._hits = self._counter("embedding.cache.hits", "{text}", "Texts whose vector was cached")
        self._misses = self._counter("embedding.cache.misses", "{text}", "Texts whose vector was not")
        self._retries = self._counter("retry.attempts", "{retry}", "Retries by operation and error code")
        self._dropped = self._counter("background.dropped", "{item}", "Items a full queue refused")
        self._cuts = self._counter("context.items.cut", "{item}", "Items found for a prompt and left out")
        self._loads = self._counter("index.loads", "{index}", "Scope indexes read from the store")
        self._evictions = self._counter("index.evictions", "{index}", "Scope indexes given up for room")
        self._bytes = level(self._provider, "index.bytes", "By", "Memory that the loaded scope indexes take")

    def _create_observation_instruments(self) -> None:
        self._observations = self._counter(
            "observation.observations", "{stretch}", "Stretches observed by outcome (recorded, nothing, rewritten)"
        )
        self._reflections = self._counter(
            "observation.reflections", "{reflection}", "Condensations by kind and outcome (stored, rejected)"
        )
        self._observation_failures = self._counter(
            "observation.failures", "{failure}", "Failures of background notes by step and error code"
        )
        self._spent = self._counter(
            "observation.tokens.spent", "{token}", "Tokens that observer and reflector read and wrote"
        )
        self._calls = self._counter("observation.calls", "{call}", "Calls of observer and reflector")
        self._memory_turns = self._counter(
            "context.memory.turns", "{turn}", "Prompts that carried notes of their conversation"
        )
        self._memory_sent = self._counter("context.memory.tokens", "{token}", "Tokens of notes in prompts")
        self._memory_unchanged = self._counter(
            "context.memory.unchanged", "{token}", "Those at the beginning that the turn before had as well"
        )
        self._waiting = level(
            self._provider, "observation.sessions.pending", "{session}", "Sessions that wait to be observed"
        )

    def measure(self, operation: str) -> "Measurement":
        """A context that counts and times one operation, and counts its failure by error code."""
        return Measurement(self, operation)

    def operation_finished(self, operation: str, status: str, latency_ms: float) -> None:
        """Count one operation and its duration; `measure` calls it."""
        self._operations.add(1, "operation", operation, "status", status)
        self._latency.record(latency_ms, self._attributes("operation", operation))

    def operation_failed(self, operation: str, code: str) -> None:
        """Count a failure, also one that did not fail the whole operation, such as one layer of a search."""
        self._errors.add(1, "operation", operation, "code", code)

    def search_results(self, layer: str, count: int) -> None:
        """Record how many results a search had in one layer."""
        self._results.record(count, self._attributes("layer", layer))

    def observe_storage(self, sizes: Callable[[], Mapping[str, int]]) -> None:
        """Show `memory.storage.size`: `sizes` gives the stored entries by layer whenever metrics are read.

        A callback that raises leaves the gauge out of that reading. Where several apps share one provider, the
        first one's sizes are shown; the counters of all add up.
        """

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(size, {"layer": layer}) for layer, size in sizes().items()]

        self._meter.create_observable_gauge("memory.storage.size", [observe], "{entry}", "Stored entries by layer")

    def embedded(self, texts: int) -> None:
        """Count one call of the embedder and the texts in it."""
        self._requests.add(1)
        self._texts.add(texts)

    def embedding_cache(self, *, hits: int, misses: int) -> None:
        """Count the texts of a lookup that were and were not cached."""
        if hits:
            self._hits.add(hits)
        if misses:
            self._misses.add(misses)

    def retried(self, operation: str, code: str) -> None:
        """Count one retry of an operation that failed with `code`."""
        self._retries.add(1, "operation", operation, "code", code)

    def background_dropped(self, worker: str, count: int = 1) -> None:
        """Count items that a background worker refused."""
        self._dropped.add(count, "worker", worker)

    def index_loaded(self) -> None:
        """Count one scope index read from the store."""
        self._loads.add(1)

    def index_evicted(self, count: int = 1) -> None:
        """Count scope indexes given up for room."""
        self._evictions.add(count)

    def index_bytes(self, size: int) -> None:
        """Show the bytes that all loaded scope indexes take now."""
        self._bytes.set(size)

    def context_cut(self, budget: str, count: int) -> None:
        """Count items that were found for a prompt and left out, by what left them out."""
        self._cuts.add(count, "budget", budget)

    def observed(self, outcome: str) -> None:
        """Count a stretch of a conversation that was observed."""
        self._observations.add(1, "outcome", outcome)

    def reflected(self, kind: str, outcome: str) -> None:
        """Count a condensation of observations or of reflections."""
        self._reflections.add(1, "kind", kind, "outcome", outcome)

    def observation_failed(self, step: str, code: str) -> None:
        """Count a failed step of observational memory."""
        self._observation_failures.add(1, "step", step, "code", code)

    def observation_spent(self, who: str, *, calls: int, input: int, output: int) -> None:
        """Count the calls and tokens of an observer or a reflector."""
        if calls:
            self._calls.add(calls, "by", who)
            self._spent.add(input, "by", who, "direction", "input")
            self._spent.add(output, "by", who, "direction", "output")

    def observation_pending(self, sessions: int) -> None:
        """Show how many sessions wait to be observed."""
        self._waiting.set(sessions)

    def memory_sent(self, tokens: int, unchanged: int) -> None:
        """Count a prompt's tokens of notes, and those of them that are unchanged since the turn before."""
        self._memory_turns.add(1)
        self._memory_sent.add(tokens)
        self._memory_unchanged.add(unchanged)

    def monotonic(self) -> float:
        """The clock that durations are taken from."""
        return self._clock.monotonic()

    def shutdown(self) -> None:
        """End the provider this instance owns; one that was given is left to its owner."""
        if self._own_provider is not None:
            self._own_provider.shutdown()
            self._own_provider = None

    def _attributes(self, *pairs: str) -> Attributes:
        """The same dictionary for the same pairs, so that the hot path builds none."""
        known = self._known.get(pairs)
        if known is None:
            known = self._known[pairs] = dict(zip(pairs[::2], pairs[1::2], strict=True))
        return known


class Measurement:
    """One operation being measured; leave the context to record it."""

    __slots__ = ("_metrics", "_operation", "_started")

    def __init__(self, metrics: Metrics, operation: str) -> None:
        self._metrics = metrics
        self._operation = operation
        self._started = 0.0

    def __enter__(self) -> Self:
        if self._metrics.enabled:
            self._started = self._metrics.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        metrics = self._metrics
        if not metrics.enabled:
            return
        status = "ok" if error is None else "error"
        if isinstance(error, Exception):
            code = error.code if isinstance(error, LaminaError) else LaminaError.code
            metrics.operation_failed(self._operation, code)
        elif error is not None:
            # Cancellation and the end of the process are nobody's failure.
            status = "cancelled"
        elapsed_ms = (metrics.monotonic() - self._started) * 1000
        metrics.operation_finished(self._operation, status, elapsed_ms)
