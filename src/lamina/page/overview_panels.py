"""What the panels of the overview draw. Each gets what it shows and asks nothing."""

from collections.abc import Mapping, Sequence

from lamina.database.upkeep import StoreStatus
from lamina.errors import LaminaError
from lamina.house.figures import Day
from lamina.kernel.crew import Queue
from lamina.memory.types import MemoryLayer
from lamina.observation.economics import MemoryStatus
from lamina.page.measured import Operation
from lamina.page.pieces import badge, bar, columns, figure, nothing, table, tag

_PAGES = {
    "memories": "/memories",
    "knowledge": "/knowledge",
    "references": "/knowledge",
    "learnings": "/learnings",
    "skills": "/skills",
    "sessions": "/sessions",
    "triples": "/graph",
}


def counts(found: Mapping[str, int]) -> None:
    """How many there are of everything, each a way to its page."""
    with tag("div", classes="figures dense"):
        for name, count in found.items():
            path = _PAGES.get(name)
            with tag("a", classes="figure-link", href=path) if path else tag("div"):
                figure(name.capitalize(), f"{count:,}")


def layers(found: Mapping[MemoryLayer, int]) -> None:
    """How many memories each layer has, the strongest first."""
    most = max(found.values(), default=0) or 1
    with tag("div", classes="bars"):
        for layer, count in found.items():
            tag("span", layer.value.capitalize())
            bar(count / most, label=f"{layer}: {count}")
            tag("span", f"{count:,}", classes="number")


def growth(days: Sequence[Day]) -> None:
    """What was added day by day."""
    for name, title in (("memories", "Memories"), ("messages", "Messages")):
        added = [(day.date.strftime("%-d %b"), day.added[name]) for day in days]
        with tag("div", classes="chart-head"):
            tag("span", title)
            tag("span", f"{sum(count for _, count in added):,} in {len(days)} days", classes="note")
        columns(added, label=f"{title} added on each day")


def tokens(status: MemoryStatus) -> None:
    """What notes on conversations save and cost."""
    if not status.raw_tokens:
        nothing("Nothing was said yet.", "Conversations appear here with the first message of a session.")
        return
    saved = max(0, status.observed_tokens - status.memory_tokens)
    with tag("div", classes="figures"):
        figure("Tokens saved", f"{saved:,}", note="that messages had, and their notes have not", tone="good")
        figure("Said", f"{status.raw_tokens:,}", note=f"tokens in {status.sessions:,} sessions")
        figure("Notes on it", f"{status.memory_tokens:,}", note=f"{status.observations + status.reflections:,} notes")
        ratio = "–" if status.compression is None else f"{status.compression:.1f} : 1"
        figure("Ratio", ratio, note="observed to noted")
        figure("Waiting", f"{status.pending_tokens:,}", note="tokens not observed yet")
        tone = "bad" if status.failing else ""
        figure("Failing", f"{status.failing:,}", note="sessions whose notes failed last", tone=tone)


def health(found: "tuple[StoreStatus | LaminaError, str, str]") -> None:
    """The store, its tables and the models."""
    store, embedder, model = found
    with tag("dl", classes="facts"):
        if isinstance(store, LaminaError):
            _fact("Store", store.message, ("not reached", "bad"))
        else:
            _fact("Store", f"{store.engine}, {store.size_bytes / 2**20:,.1f} MiB", ("reached", "good"))
            current = store.schema == store.newest
            _fact("Tables", f"version {store.schema}", ("current", "good") if current else ("not current", "bad"))
        _fact("Embedder", embedder, ("ready", "good"))
        _fact(
            "Chat model", model or "none: notes are taken without one", ("set", "good") if model else ("optional", "")
        )


def _fact(name: str, text: str, state: tuple[str, str]) -> None:
    tag("dt", name)
    with tag("dd"):
        tag("span", text)
        badge(state[0], tone=state[1])


def searches(rates: Sequence[int], found: Sequence[Operation], total: int, *, tick_s: float) -> None:
    """How many searches there are now, and how long they take."""
    slow = max((one.slow_ms for one in found), default=0.0)
    middle = sum(one.middle_ms * one.count for one in found) / (sum(one.count for one in found) or 1)
    with tag("div", classes="figures dense"):
        figure("Now", f"{rates[-1] / tick_s:,.1f}/s")
        figure("Median", _ms(middle))
        figure("95 % within", _ms(slow))
        figure("In all", f"{total:,}")
    columns([("", rate) for rate in rates], label="Searches in each two seconds")


def queues(found: Sequence[Queue], drops: Mapping[str, int]) -> None:
    """What waits, and what was refused."""
    rows = [(one.name.capitalize(), one.pending, one.dropped, one.failed) for one in found]
    named = {one.name for one in found}
    rows += [(name.capitalize(), 0, count, 0) for name, count in drops.items() if name not in named]
    table(("Worker", "Waiting", "Dropped", "Failed"), rows, empty="No worker was needed yet.", label="Background work")


def operations(found: Sequence[Operation]) -> None:
    """Every kind of operation with its latency."""
    rows = [(one.name, one.count, _ms(one.middle_ms), _ms(one.slow_ms), one.failed) for one in found]
    table(("Operation", "Count", "Median", "95 % within", "Failed"), rows, empty="Nothing was asked yet.")


def errors(found: Mapping[tuple[str, str], int]) -> None:
    """Failures by code."""
    if not found:
        nothing("No errors.", "A failure is counted here with its code, whoever caused it.")
        return
    rows = [(code, operation, count) for (operation, code), count in sorted(found.items(), key=lambda one: -one[1])]
    table(("Code", "Operation", "Count"), rows)


def _ms(value: float) -> str:
    return f"{value:,.1f} ms" if value < 100 else f"{value:,.0f} ms"
