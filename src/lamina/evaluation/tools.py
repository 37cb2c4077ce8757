"""Measures how well the tool layer finds the tool that serves a request, beside plain BM25 over the same texts."""

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamina.app import App
from lamina.context.tools import ToolDescriptor
from lamina.context.types import ContextLayer
from lamina.errors import InvalidInputError
from lamina.kernel.clock import Clock, SystemClock

Progress = Callable[[int, int], None]
_MOST = 5
_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A request and the names of the tools that serve it."""

    text: str
    tools: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """Tools, and requests labelled with the tools that serve them."""

    tools: tuple[ToolDescriptor, ...]
    queries: tuple[LabelledQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsReport:
    """The share of the right tools among the first one and the first five, ours and plain BM25's."""

    recall_at_1: float
    recall_at_5: float
    bm25_recall_at_1: float
    bm25_recall_at_5: float
    search_ms_p50: float
    tools: int
    queries: int
    embedder: str

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)


def read_tools(path: Path) -> ToolSet:
    """A file with `tools` (name, description) and `queries` (query, tools). Raises InvalidInputError otherwise."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        tools = tuple(
            ToolDescriptor(name=str(row["name"]), description=str(row["description"])) for row in content["tools"]
        )
        queries = tuple(
            LabelledQuery(text=str(row["query"]), tools=frozenset(map(str, row["tools"]))) for row in content["queries"]
        )
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{path} is not a set of tools: it needs `tools` with name and description, and `queries` with query and "
            f"tools ({type(error).__name__}: {error}).",
            details={"field": "file"},
        ) from None
    names = {tool.name for tool in tools}
    if not queries or any(not query.tools or not query.tools <= names for query in queries):
        raise InvalidInputError("Every query must name tools of the list, and there must be one.")
    return ToolSet(tools=tools, queries=queries)


async def evaluate_tools(
    app: App,
    given: ToolSet,
    *,
    clock: Clock | None = None,
    progress: Progress = lambda done, total: None,
) -> ToolsReport:
    """Ask the Tool Registry layer every query, everything at its default, and plain BM25 as well."""
    timer = clock or SystemClock()
    context = app.context.with_tools(given.tools)
    plain = PlainBm25([(tool.name, f"{tool.name} {tool.description}") for tool in given.tools])
    # The first question builds the index of the tools, which is not what is timed.
    await context.retrieve(given.queries[0].text, [ContextLayer.TOOL_REGISTRY])
    ours: list[Sequence[str]] = []
    theirs: list[Sequence[str]] = []
    times: list[float] = []
    for done, query in enumerate(given.queries, start=1):
        started = timer.monotonic()
        found = await context.retrieve(query.text, [ContextLayer.TOOL_REGISTRY], max_per_layer=_MOST)
        times.append((timer.monotonic() - started) * 1000)
        ours.append([item.key for item in found.items.get(ContextLayer.TOOL_REGISTRY, ())])
        theirs.append(plain.search(query.text, _MOST))
        progress(done, len(given.queries))
    return ToolsReport(
        recall_at_1=_recall(given.queries, ours, 1),
        recall_at_5=_recall(given.queries, ours, 5),
        bm25_recall_at_1=_recall(given.queries, theirs, 1),
        bm25_recall_at_5=_recall(given.queries, theirs, 5),
        search_ms_p50=round(statistics.median(times), 3),
        tools=len(given.tools),
        queries=len(given.queries),
        embedder=app.parts.embedder.name,
    )


def _recall(queries: Sequence[LabelledQuery], answers: Sequence[Sequence[str]], first: int) -> float:
    shares = (
        len(query.tools.intersection(answer[:first])) / len(query.tools)
        for query, answer in zip(queries, answers, strict=True)
    )
    return round(statistics.fmean(shares), 4)


class PlainBm25:
    """BM25 as the textbook has it: lower-case words, no stop words, no stems, k1 1.2, b 0.75."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        self._names = [name for name, _ in texts]
        self._counts = [Counter(_words(text)) for _, text in texts]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = statistics.fmean(self._lengths) if texts else 0.0
        self._with = Counter(word for counts in self._counts for word in counts)

    def search(self, query: str, limit: int) -> list[str]:
        """The names of the best texts, best first; texts without a word of the query are not found."""
        words = set(_words(query))
        scores = [self._score(number, words) for number in range(len(self._names))]
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [self._names[number] for number in order[:limit] if scores[number] > 0]

    def _score(self, number: int, words: set[str]) -> float:
        counts, total = self._counts[number], len(self._names)
        norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * self._lengths[number] / self._mean)
        return math.fsum(
            math.log(1 + (total - self._with[word] + 0.5) / (self._with[word] + 0.5))
            * counts[word]
            * (_SATURATION + 1)
            / (counts[word] + norm)
            for word in words
            if word in counts
        )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
