"""Measures how well memory finds what was said, exactly as a user would meet it: default settings, no tuning.

Every turn of a conversation becomes a memory of one user; every question is searched once for each limit, because
the search for 20 results may hand over a hit that a duplicate among the first ten would have cost the search for 10.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from lamina.app import App
from lamina.evaluation.conversations import CATEGORIES, Conversation, Question
from lamina.kernel.clock import Clock, SystemClock
from lamina.memory.types import SearchResults

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps there are."""

LIMITS = (10, 5, 20)  # 10 first: it is the one that is timed, and must not find the question's vector remembered
_TIMED = 10
_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Share of the evidence found within k results, and the mean reciprocal rank of the first of it."""

    recall_at_5: float
    recall_at_10: float
    recall_at_20: float
    mrr: float
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoReport:
    """What an evaluation found."""

    quality: Quality
    by_category: dict[str, Quality]
    search_ms_p50: float
    search_ms_p95: float
    add_per_second: float
    off_topic_results_mean: float
    conversations: int
    memories: int
    embedder: str

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, the overall figures at the top."""
        rest = asdict(self)
        quality = rest.pop("quality")
        by_category = rest.pop("by_category")
        return {**quality, **rest, "by_category": by_category}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    category: int
    recall: dict[int, float]
    reciprocal_rank: float


def off_topic_questions() -> list[str]:
    """The shipped questions that have nothing to do with anybody's conversations."""
    text = files("lamina.evaluation").joinpath("data", "off_topic.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


async def evaluate(
    app: App,
    conversations: Sequence[Conversation],
    *,
    off_topic: Sequence[str] | None = None,
    clock: Clock | None = None,
    progress: Progress = lambda done, total: None,
) -> LocomoReport:
    """Add every turn, ask every question and those off topic, and report. The store should be empty."""
    run = _Run(app, clock or SystemClock(), progress)
    strange = off_topic_questions() if off_topic is None else off_topic
    run.total = sum(len(one.turns) + len(one.questions) + len(strange) for one in conversations)
    for one in conversations:
        await run.add(one)
    for one in conversations:
        for question in one.questions:
            await run.ask(one, question)
        for text in strange:
            await run.ask_off_topic(one, text)
    return run.report(len(conversations))


class _Run:
    """One evaluation under way."""

    def __init__(self, app: App, clock: Clock, progress: Progress) -> None:
        self.app = app
        self.clock = clock
        self.progress = progress
        self.total = 0
        self._done = 0
        self._memories = 0
        self._adding_s = 0.0
        self._search_ms: list[float] = []
        self._answers: list[_Answer] = []
        self._off_topic: list[int] = []

    async def add(self, conversation: Conversation) -> None:
        memories = [turn.to_memory(conversation.id) for turn in conversation.turns]
        for start in range(0, len(memories), _BATCH):
            batch = memories[start : start + _BATCH]
            started = self.clock.monotonic()
            await self.app.memory.bulk_add(batch)
            self._adding_s += self.clock.monotonic() - started
            self._memories += len(batch)
            self._advance(len(batch))

    async def ask(self, conversation: Conversation, question: Question) -> None:
        found: dict[int, list[str | None]] = {}
        for limit in LIMITS:
            started = self.clock.monotonic()
            results = await self.app.memory.search(question.text, limit=limit, user_id=conversation.id)
            if limit == _TIMED:
                self._search_ms.append((self.clock.monotonic() - started) * 1000)
            found[limit] = _references(results)
        recall = {limit: len(question.evidence & set(found[limit])) / len(question.evidence) for limit in LIMITS}
        ranks = (rank for rank, reference in enumerate(found[20], start=1) if reference in question.evidence)
        rank = next(ranks, None)
        self._answers.append(
            _Answer(category=question.category, recall=recall, reciprocal_rank=0.0 if rank is None else 1 / rank)
        )
        self._advance(1)

    async def ask_off_topic(self, conversation: Conversation, text: str) -> None:
        results = await self.app.memory.search(text, limit=10, user_id=conversation.id)
        self._off_topic.append(len(results))
        self._advance(1)

    def report(self, conversations: int) -> LocomoReport:
        asked = sorted({answer.category for answer in self._answers})
        return LocomoReport(
            quality=_quality(self._answers),
            by_category={
                CATEGORIES[category]: _quality(answer for answer in self._answers if answer.category == category)
                for category in asked
            },
            search_ms_p50=round(_percentile(self._search_ms, 50), 3),
            search_ms_p95=round(_percentile(self._search_ms, 95), 3),
            add_per_second=round(self._memories / self._adding_s, 1) if self._adding_s else 0.0,
            off_topic_results_mean=round(_mean(self._off_topic), 4),
            conversations=conversations,
            memories=self._memories,
            embedder=self.app.parts.embedder.name,
        )

    def _advance(self, steps: int) -> None:
        self._done += steps
        self.progress(self._done, self.total)


def _references(results: SearchResults) -> list[str | None]:
    return [None if hit.memory.source is None else hit.memory.source.reference for hit in results]


def _quality(answers: Iterable[_Answer]) -> Quality:
    chosen = list(answers)
    return Quality(
        recall_at_5=round(_mean(answer.recall[5] for answer in chosen), 4),
        recall_at_10=round(_mean(answer.recall[10] for answer in chosen), 4),
        recall_at_20=round(_mean(answer.recall[20] for answer in chosen), 4),
        mrr=round(_mean(answer.reciprocal_rank for answer in chosen), 4),
        questions=len(chosen),
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return statistics.fmean(numbers) if numbers else 0.0


def _percentile(values: Sequence[float], percent: int) -> float:
    if len(values) < 2:
        return _mean(values)
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
